"""Loads an export with the TensorFlow of the Python that runs this, and answers requests.

    python answers.py KIND PATH REQUESTS.json ANSWERS.json

It is a program of its own, for Python 3.5 and later and TensorFlow 1.13 and later, and imports
nothing of this package. KIND is saved_model, meta or graph. REQUESTS.json is a list of objects with
`tags`, `signature` and `inputs`; ANSWERS.json gets, for each, `outputs` or `error`. Meta graphs
without requests are imported only. Without arguments it prints the version of TensorFlow.
"""

import base64
import importlib
import json
import os
import sys

# The folder of this file: its modules are no concern of TensorFlow.
sys.path.pop(0)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Until these are imported, the operations of tf.contrib in a model are not registered.
_CONTRIB = ("layers", "seq2seq", "boosted_trees.python.ops.quantile_ops")


def _decode(value):
    """Returns the NumPy array of an object with dtype, shape and values."""
    import numpy as np

    values = value["values"]
    if value["dtype"] == "bytes":
        array = np.empty(len(values), dtype=object)
        array[:] = [base64.b64decode(each) for each in values]
    else:
        array = np.array(values, dtype=value["dtype"])
    return array.reshape(value["shape"])


def _encode(array):
    """Returns the object of a NumPy array; numbers with a type of their own become float64."""
    import numpy as np

    array = np.asarray(array)
    shape = list(array.shape)
    if array.dtype.kind in "OSU":
        flat = [value if isinstance(value, bytes) else value.encode() for value in array.ravel()]
        values = [base64.b64encode(each).decode() for each in flat]
        return {"dtype": "bytes", "shape": shape, "values": values}
    name = array.dtype.name
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
        shape = list(array.shape)
    if array.dtype.kind not in "biu":
        array = array.astype(np.float64)
    return {"dtype": name, "shape": shape, "values": array.ravel().tolist()}


def _message_of(error):
    """Returns an error in one line."""
    return "{}: {}".format(type(error).__name__, " ".join(str(error).split())[:400])


def _load(tf, kind, path):
    """Loads a .meta file or a graph."""
    if kind == "meta":
        tf.train.import_meta_graph(path, clear_devices=True)
        return
    graph = tf.GraphDef()
    if path.endswith(".pbtxt"):
        from google.protobuf import text_format

        with open(path) as stream:
            text_format.Parse(stream.read(), graph)
    else:
        with open(path, "rb") as stream:
            graph.ParseFromString(stream.read())
    tf.import_graph_def(graph, name="")


def _answer_all(tf, path, requests):
    """Yields the answer to each request; a meta graph is loaded once."""
    by_tags = {}
    for number, request in enumerate(requests):
        by_tags.setdefault(tuple(request["tags"]), []).append(number)
    for tags, numbers in sorted(by_tags.items()):
        with tf.Session(graph=tf.Graph()) as session:
            loaded = tf.saved_model.loader.load(session, list(tags), path)
            for number in numbers:
                try:
                    yield number, {"outputs": _answer(session, loaded, requests[number])}
                except Exception as error:
                    yield number, {"error": _message_of(error)}


def _import_others(tf, path, requests):
    """Imports the meta graphs that no request names: they need another device."""
    from google.protobuf import text_format
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    file = os.path.join(path, "saved_model.pb")
    if os.path.exists(file):
        with open(file, "rb") as stream:
            saved_model.ParseFromString(stream.read())
    else:
        with open(file + "txt") as stream:
            text_format.Parse(stream.read(), saved_model)
    asked = {tuple(request["tags"]) for request in requests}
    for meta_graph in saved_model.meta_graphs:
        if tuple(meta_graph.meta_info_def.tags) not in asked:
            with tf.Graph().as_default():
                tf.train.import_meta_graph(meta_graph)


def _answer(session, loaded, request):
    """Returns the outputs of one request."""
    signature = loaded.signature_def[request["signature"]]
    feed = {}
    for key, value in request["inputs"].items():
        feed[signature.inputs[key].name] = _decode(value)
    names = {}
    for key, info in signature.outputs.items():
        if info.WhichOneof("encoding") == "coo_sparse":
            for part in ("indices", "values", "dense_shape"):
                names[key + "/" + part] = getattr(info.coo_sparse, part + "_tensor_name")
        else:
            names[key] = info.name
    values = session.run(names, feed)
    return {key: _encode(value) for key, value in values.items()}


def main(argv):
    """Answers the requests.

    Args:
      argv: the words of the command line.

    Returns:
      The exit status: 3 if the export does not load.
    """
    import tensorflow

    version = tensorflow.__version__
    if len(argv) == 1:
        print(version)
        return 0
    kind, path, requests_file, answers_file = argv[1:]
    tf = tensorflow.compat.v1
    tf.disable_eager_execution()
    if version.startswith("1."):
        for name in _CONTRIB:
            importlib.import_module("tensorflow.contrib." + name)
    with open(requests_file) as stream:
        requests = json.load(stream)
    try:
        if kind == "saved_model":
            answers = dict(_answer_all(tf, path, requests))
            _import_others(tf, path, requests)
        else:
            _load(tf, kind, path)
            answers = {}
    except Exception as error:
        print(_message_of(error))
        return 3
    with open(answers_file, "w") as stream:
        json.dump([answers[number] for number in range(len(answers))], stream)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
