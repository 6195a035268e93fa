"""Exports of pruned models without their masks."""

import tensorflow.compat.v1 as tf

__all__ = ["graph_def_from_checkpoint", "strip_pruning_vars_fn"]


def strip_pruning_vars_fn(input_graph_def, output_node_names):
    """Replaces weights and masks of a frozen graph by constants with their product.

    Args:
      input_graph_def: GraphDef whose variables are constants.
      output_node_names: list of names of the nodes that are kept, with all that they need.

    Returns:
      GraphDef.

    Raises:
      AssertionError: an output is not in the graph.
    """
    masked = [node.name for node in input_graph_def.node if node.name.endswith("masked_weight")]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(input_graph_def, name="")
        with tf.Session(graph=graph) as session:
            products = session.run({name: f"{name}:0" for name in masked}) if masked else {}
    stripped = tf.GraphDef()
    for node in input_graph_def.node:
        kept = stripped.node.add()
        if node.name not in products:
            kept.CopyFrom(node)
            continue
        value = products[node.name]
        kept.op, kept.name = "Const", node.name
        kept.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
        kept.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    return tf.graph_util.extract_sub_graph(stripped, output_node_names)


def graph_def_from_checkpoint(checkpoint_dir, output_node_names):
    """Returns the graph of the newest checkpoint, with constants for its variables.

    Args:
      checkpoint_dir: str, directory of the checkpoints.
      output_node_names: list of names of the nodes that are kept, with all that they need.

    Returns:
      GraphDef.

    Raises:
      ValueError: there is no checkpoint.
      AssertionError: an output is not in the graph.
    """
    path = tf.train.latest_checkpoint(checkpoint_dir)
    if path is None:
        raise ValueError(f"{checkpoint_dir}: there is no checkpoint")
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        saver = tf.train.import_meta_graph(path + ".meta", clear_devices=True)
        saver.restore(session, path)
        return tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), output_node_names
        )
