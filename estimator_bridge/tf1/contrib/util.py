"""`tf.contrib.util`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import meta_graph as _meta_graph
from estimator_bridge.private_tf import op_def_registry as _op_def_registry
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

constant_value = tf.get_static_value
make_ndarray = tf.make_ndarray
make_tensor_proto = tf.make_tensor_proto
load_op_library = tf.load_op_library
ops_used_by_graph_def = _meta_graph.ops_used_by_graph_def


def stripped_op_list_for_graph(graph_def):
    """Returns the definitions of the operations that a graph uses, an OpList without their texts.

    Args:
      graph_def: tf.GraphDef.

    Raises:
      ValueError: an operation is not registered.
    """
    for name in ops_used_by_graph_def(graph_def):
        if _op_def_registry.get(name) is None:
            raise ValueError(f"graph_def: the operation {name} is not registered")
    return _meta_graph.stripped_op_list_for_graph(graph_def)
