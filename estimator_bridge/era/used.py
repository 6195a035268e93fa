"""Finds the TensorFlow that a program was written for, from the names that its source uses."""

import ast
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from ..user_files import notebook_cells
from . import TF1, declared

__all__ = ["Names", "find"]

# Names that only TensorFlow 1.x has, by their first parts below `tensorflow`.
_ONLY_1X = """
    app contrib flags gfile layers logging placeholder placeholder_with_default
    sparse_placeholder Session InteractiveSession ConfigProto GPUOptions get_variable
    variable_scope global_variables global_variables_initializer local_variables_initializer
    tables_initializer trainable_variables get_collection add_to_collection
    get_default_graph reset_default_graph set_random_seed random_normal random_uniform
    truncated_normal_initializer to_float to_int32 to_int64 assign assign_add log
    parse_example parse_single_example FixedLenFeature VarLenFeature decode_csv read_file
    string_split string_to_hash_bucket_fast sparse_to_dense train.AdamOptimizer
    train.AdagradOptimizer train.FtrlOptimizer train.RMSPropOptimizer
    train.GradientDescentOptimizer train.MomentumOptimizer train.Saver train.Scaffold
    train.get_global_step train.get_or_create_global_step train.MonitoredTrainingSession
    train.exponential_decay summary.FileWriter summary.merge_all
    losses.softmax_cross_entropy losses.sparse_softmax_cross_entropy
    losses.sigmoid_cross_entropy metrics.accuracy metrics.auc metrics.mean estimator.inputs
    FIFOQueue FixedLenSequenceFeature GraphDef GraphKeys Print RandomShuffleQueue TFRecordReader
    TextLineReader WholeFileReader all_variables assign_sub confusion_matrix count_nonzero
    decode_raw div enable_eager_execution feature_column.input_layer feature_column.linear_model
    get_variable_scope glorot_uniform_initializer graph_util.convert_variables_to_constants
    image.resize_bilinear image.resize_images initialize_all_variables keras.backend.get_session
    keras.backend.set_session keras.layers.CuDNNGRU keras.layers.CuDNNLSTM local_variables
    log1p losses.absolute_difference losses.add_loss
    losses.get_regularization_loss losses.get_total_loss losses.huber_loss losses.log_loss
    metrics.precision metrics.recall metrics.root_mean_squared_error multinomial
    nn.bidirectional_dynamic_rnn nn.dynamic_rnn nn.rnn_cell
    nn.softmax_cross_entropy_with_logits_v2 nn.static_rnn nn.xw_plus_b py_func python_io
    random_crop random_shuffle regex_replace saved_model.builder saved_model.loader
    saved_model.signature_constants saved_model.signature_def_utils saved_model.simple_save
    saved_model.tag_constants saved_model.utils sparse_tensor_to_dense string_join
    string_to_number substr summary.FileWriterCache summary.merge train.AdadeltaOptimizer
    train.CheckpointSaverHook train.LoggingTensorHook train.NewCheckpointReader
    train.ProximalAdagradOptimizer train.QueueRunner train.Server train.SessionRunHook
    train.StopAtStepHook train.Supervisor train.SyncReplicasOptimizer train.batch
    train.cosine_decay train.create_global_step train.export_meta_graph train.global_step
    train.import_meta_graph train.init_from_checkpoint train.inverse_time_decay
    train.natural_exp_decay train.piecewise_constant train.polynomial_decay
    train.replica_device_setter train.shuffle_batch train.start_queue_runners
    train.string_input_producer train.summary_iterator train.write_graph truncated_normal
    variance_scaling_initializer
"""
_NAMES_OF_1X = frozenset(_ONLY_1X.split())
# Names of TensorFlow 2 that later versions do not have, by the last version that has them.
_LAST_NAMES = {
    (2, 0): """
        config.experimental_list_devices keras.experimental.export_saved_model
        keras.experimental.load_from_saved_model
    """,
    (2, 3): """
        keras.experimental.terminate_keras_multiprocessing_pools keras.utils.HDF5Matrix
        keras.utils.convert_all_kernels_in_model keras.utils.multi_gpu_model
    """,
    (2, 4): """
        keras.experimental.LinearCosineDecay keras.experimental.NoisyLinearCosineDecay
    """,
    (2, 5): """
        data.experimental.MapVectorizationOptions data.experimental.StatsAggregator
        data.experimental.StatsOptions data.experimental.bytes_produced_stats
        data.experimental.latency_stats lookup.experimental.DatasetInitializer
        train.experimental.disable_mixed_precision_graph_rewrite
        train.experimental.enable_mixed_precision_graph_rewrite
    """,
    (2, 7): """
        keras.layers.experimental.preprocessing.CategoryCrossing
    """,
    (2, 8): """
        keras.experimental.PeepholeLSTMCell keras.mixed_precision.experimental
        mixed_precision.experimental train.experimental.DynamicLossScale
        train.experimental.FixedLossScale train.experimental.LossScale
    """,
    (2, 9): """
        keras.backend.binary_weighted_focal_crossentropy
    """,
}
_LAST_WITH = {name: version for version, names in _LAST_NAMES.items() for name in names.split()}
# Methods whose name no other library has.
_LAST_WITH_METHOD = {"predict_classes": (2, 5), "get_updates": (2, 10)}
# The optimizers, and the arguments that their classes took until 2.10.
_OPTIMIZERS = frozenset(
    f"{package}.{name}"
    for package in ("keras.optimizers", "optimizers")
    for name in ("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSprop", "SGD")
)
_OLD_ARGUMENTS = frozenset(("decay", "lr"))
_LAST_WITH_OLD_ARGUMENTS = (2, 10)
# Programs that name these run on several versions; so do those that use TensorFlow's version, other
# than to print it.
_SEVERAL_VERSIONS = ("hasattr(tf", "optimizers.legacy", "optimizers.experimental")
_VERSION = frozenset(("__version__", "VERSION", "version.VERSION", "keras.__version__"))
_PRINTING = frozenset(("display", "print", "debug", "info", "warning", "write"))
# Large trees are not searched: the program starts meanwhile.
_MAX_FILES = 100
_MAX_BYTES = 1 << 20


class Names(NamedTuple):
    """What the names of a program tell.

    Attributes:
      version: the last (major, minor) that has all of them; (1, 15) for names of 1.x; None if every
        TensorFlow 2 has them, or if the program tests the version itself.
      where: file, line and name, for a message; "" without a version.
      chooses_optimizer: whether the program names a class of `tf.keras.optimizers`, and leaves to
        TensorFlow whether it is the old or the new one.
    """

    version: Optional[tuple[int, int]]
    where: str
    chooses_optimizer: bool


def find(program: str, cells: Optional[Sequence[notebook_cells.Cell]] = None) -> Names:
    """Returns what the names in a program, and in the files that it imports, tell.

    Args:
      program: path of a Python file or a notebook.
      cells: those of code of the notebook; None for a Python file.
    """
    start = Path(os.path.realpath(program))
    found: list[tuple[tuple[int, int], str]] = []
    chooses_optimizer = asks_for_2 = False
    pending, seen = [start], {start}
    while pending:
        path = pending.pop(0)
        parts = _read(path) if cells is None or path != start else _list_parts(path.name, cells)
        reader = _Reader()
        for part in parts:
            reader.read(part)
            asks_for_2 = asks_for_2 or declared.asks_for(part.text, 2)
        if reader.tests_version or any(
            word in part.text for part in parts for word in _SEVERAL_VERSIONS
        ):
            return Names(None, "", False)
        found += reader.found
        chooses_optimizer = chooses_optimizer or reader.chooses_optimizer
        for imported in _local_files(reader.imports, path, start.parent):
            if imported not in seen and len(seen) < _MAX_FILES:
                seen.add(imported)
                pending.append(imported)
    if asks_for_2:
        found = [one for one in found if one[0] != TF1]
    version, where = min(found, key=lambda one: one[0]) if found else (None, "")
    return Names(version, where, chooses_optimizer)


class _Part(NamedTuple):
    """A file, or a cell of a notebook.

    Attributes:
      place: its name, for a message.
      text: its content.
      tree: its Python; None if it cannot be parsed. Running the program tells what is wrong.
    """

    place: str
    text: str
    tree: Optional[ast.Module]


def _read(path: Path) -> list[_Part]:
    """Returns a Python file as one part; none if it cannot be read."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return []
        text = path.read_text(encoding="utf-8", errors="replace")
        return [_Part(path.name, text, _parse(text))]
    except (OSError, ValueError):
        return []


def _list_parts(name: str, cells: Sequence[notebook_cells.Cell]) -> list[_Part]:
    """Returns the cells of a notebook as parts."""
    return [_Part(f"{name}, cell {cell.number}", cell.text, _parse(cell.source)) for cell in cells]


def _parse(text: str) -> Optional[ast.Module]:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _local_files(imports: list[str], importer: Path, start: Path) -> Iterator[Path]:
    """Yields the files below the program's folder that import statements execute."""
    for name in imports:
        level = len(name) - len(name.lstrip("."))
        folder = importer.parents[level - 1] if 0 < level <= len(importer.parents) else start
        parts = [part for part in name[level:].split(".") if part]
        for count in range(1, len(parts) + 1):
            base = folder.joinpath(*parts[:count])
            for path in (base.with_suffix(".py"), base / "__init__.py"):
                if path.is_file():
                    yield path


class _Reader(ast.NodeVisitor):
    """Collects the names of one file, which may have several parts.

    Attributes:
      found: (version, where) of the names that tell a version.
      chooses_optimizer: whether a class of `tf.keras.optimizers` is named.
      imports: dotted names in import statements, relative ones with leading dots.
      tests_version: whether TensorFlow's version is used, other than to print it.
    """

    def __init__(self) -> None:
        self.found: list[tuple[tuple[int, int], str]] = []
        self.chooses_optimizer = False
        self.imports: list[str] = []
        self.tests_version = False
        self._place = ""
        # Local name -> path below `tensorflow`, "" for the package itself.
        self._known: dict[str, str] = {}

    def read(self, part: _Part) -> None:
        """Collects the names of a part."""
        self._place = part.place
        if part.tree is not None:
            self.visit(part.tree)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imports.append(alias.name)
            path = _below_tensorflow(alias.name)
            if path is not None:
                self._check(path, node.lineno)
                self._known[alias.asname or "tensorflow"] = path if alias.asname else ""
            elif alias.asname:
                # `import tensorflow.compat.v1 as tf` after `import tensorflow as tf`.
                self._known.pop(alias.asname, None)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            full = f"{base}{'' if base.endswith('.') else '.'}{alias.name}"
            self.imports.append(full)
            path = _below_tensorflow(full)
            if path:
                self._check(path, node.lineno)
                self._known[alias.asname or alias.name] = path

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            # `tf = tf.compat.v1`
            if isinstance(target, ast.Name):
                self._known.pop(target.id, None)

    def visit_Expr(self, node: ast.Expr) -> None:
        before = self.tests_version
        self.generic_visit(node)
        called = node.value.func if isinstance(node.value, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", ""))
        if called is None or name in _PRINTING:
            self.tests_version = before

    def visit_Try(self, node: ast.Try) -> None:
        # What may fail says nothing; imports in it are followed still.
        before = len(self.found)
        self.generic_visit(node)
        del self.found[before:]

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._resolve(node)
        if path is None:
            self.generic_visit(node)
        else:
            self._check(path, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _LAST_WITH_METHOD:
            version = _LAST_WITH_METHOD[node.func.attr]
            self._add(version, f".{node.func.attr}()", node.lineno)
        path = self._resolve(node.func)
        if path in _OPTIMIZERS:
            for keyword in node.keywords:
                if keyword.arg in _OLD_ARGUMENTS:
                    text = f"tf.{path}({keyword.arg}=...)"
                    self._add(_LAST_WITH_OLD_ARGUMENTS, text, node.lineno)
        self.generic_visit(node)

    def _resolve(self, node: ast.AST) -> Optional[str]:
        """Returns the path below `tensorflow` that an expression names, or None."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._known:
            return None
        return ".".join(filter(None, [self._known[node.id], *reversed(parts)]))

    def _check(self, path: str, line: int) -> None:
        self.tests_version = self.tests_version or path in _VERSION
        parts = path.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            self.chooses_optimizer = self.chooses_optimizer or name in _OPTIMIZERS
            version = TF1 if name in _NAMES_OF_1X else _LAST_WITH.get(name)
            if version is not None:
                self._add(version, f"tf.{name}", line)
                return

    def _add(self, version: tuple[int, int], name: str, line: int) -> None:
        self.found.append((version, f"{self._place}, line {line}, uses {name}"))


def _below_tensorflow(name: str) -> Optional[str]:
    """Returns 'keras.layers' for 'tensorflow.keras.layers', None outside TensorFlow."""
    first, _, rest = name.partition(".")
    if first != "tensorflow":
        return None
    # compat.v1 has the names of 1.x on every version.
    return None if rest.startswith("compat.v1") else rest.removeprefix("compat.v2").lstrip(".")
