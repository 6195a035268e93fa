"""What to do about an operation that a TensorFlow version does not have, or does not compute."""

from collections.abc import Collection
from fnmatch import fnmatchcase

from ..downgrade.operations import find, known_versions

__all__ = ["advise", "is_contrib", "needs_python"]

# Beginnings of the names of operations → whose they are, and what to do.
_LIBRARIES = (
    ("Addons>", "of TensorFlow Addons: import tensorflow_addons before the model is loaded"),
    ("SimpleML", "of TensorFlow Decision Forests: import tensorflow_decision_forests before the "
     "model is loaded"),
    ("Sentencepiece", "of TensorFlow Text: import tensorflow_text before the model is loaded"),
    ("Wordpiece", "of TensorFlow Text: import tensorflow_text before the model is loaded"),
    ("WhitespaceTokenize", "of TensorFlow Text: import tensorflow_text before the model is loaded"),
    ("UnicodeScriptTokenize", "of TensorFlow Text: import tensorflow_text before the model is "
     "loaded"),
    ("NormalizeUTF8", "of TensorFlow Text: import tensorflow_text before the model is loaded"),
    ("CaseFoldUTF8", "of TensorFlow Text: import tensorflow_text before the model is loaded"),
    ("IO>", "of TensorFlow I/O: import tensorflow_io before the model is loaded"),
    ("BoostedTrees", "trains boosted trees: export the model for serving, without what trains it"),
    ("TensorForest", "of the random forests of tf.estimator, which nothing replaces exactly: train "
     "them anew, for example with YDF"),
)  # fmt: skip
# The trees are read from the variables of a SavedModel as from a checkpoint.
_EXPORT = (
    "build the Estimator under `run --tf1` and export it anew, with "
    "checkpoint_path='MODEL/variables/variables'"
)
_FOREST = f"of the random forests of tf.contrib: {_EXPORT}"
_TREES = f"of the boosted trees of tf.contrib: {_EXPORT}"
_IO = "of tf.contrib, now in TensorFlow I/O: export the model anew with tensorflow_io"
_CODING = "of tf.contrib.coder, now in TensorFlow Compression: export the model anew with it"
_ADDONS = (
    "of tf.contrib, with no equal in today's TensorFlow: write it anew in Python; its last "
    "implementation is that of TensorFlow Addons"
)
# Operations of tf.contrib that nothing supplied by `run --tf1` replaces → what to do.
_CONTRIB = {
    _FOREST: (
        "CreateFertileStatsVariable CreateTreeVariable FertileStats* FeatureUsageCounts "
        "FinalizeTree GrowTreeV4 ProcessInputV4 TraverseTreeV4 TreeDeserialize "
        "TreeIsInitializedOp TreePredictionsV4 TreeSerialize TreeSize UpdateModelV4 "
        "DecisionTreeResourceHandleOp HardRoutingFunction KFeature* Routing* "
        "StochasticHardRouting* UnpackPath ReinterpretStringToFloat ScatterAddNdim"
    ),
    _TREES: (
        "GradientTrees* TreeEnsemble* DecisionTreeEnsembleResourceHandleOp CenterTreeEnsembleBias "
        "CreateTreeEnsembleVariable GrowTreeEnsemble Build*Splits Quantile* "
        "CreateQuantileAccumulator MakeQuantileSummaries StatsAccumulator* CreateStatsAccumulator*"
    ),
    _IO: "Bigtable* DatasetToBigtable DecodeLibsvm",
    _CODING: "RangeEncode RangeDecode PmfToQuantizedCdf",
    _ADDONS: (
        "Resampler ResamplerGrad AdjustHsvInYiq ImageConnectedComponents BipartiteMatch "
        "SkipGramGenerateCandidates PeriodicResample* SingleImageRandomDotStereograms "
        "HyperplaneLSHProbes ReduceSlice*"
    ),
}
_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")


def is_contrib(op: str) -> bool:
    """Returns whether an operation is one of tf.contrib.

    Args:
      op: the type of a node.
    """
    return any(find(version).has_contrib(op) for version in known_versions())


def needs_python(op: str) -> bool:
    """Returns whether an operation calls a Python function, which no model contains.

    Args:
      op: the type of a node.
    """
    return op in _PYTHON


def advise(op: str, repaired: Collection[str] = ()) -> str:
    """Returns what to do about an operation that is missing or has no kernel.

    Args:
      op: the type of a node.
      repaired: the operations that `repair` replaces.
    """
    if op in repaired:
        return "`repair` rewrites this"
    if needs_python(op):
        return "it calls a Python function of the program that wrote it: export without py_func"
    for beginning, text in _LIBRARIES:
        if op.startswith(beginning):
            return text
    for text, names in _CONTRIB.items():
        if any(fnmatchcase(op, name) for name in names.split()):
            return text
    if is_contrib(op):
        return "of tf.contrib: export the model anew from its checkpoint, under `run --tf1`"
    if any(find(version).definition(op) is not None for version in known_versions()):
        return "nothing replaces it exactly: export the model anew without it"
    return "of no TensorFlow: load the library that has it with tf.load_op_library"
