"""Reuses the graph of a run's exports: it is built once, and later exports write only variables."""

import contextlib
import errno
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

from google.protobuf import message_factory

from estimator_bridge import estimator, tf
from estimator_bridge.model_files import durable
from trainer.export.fingerprint import EXTRA
from trainer.storage import GRAPH

ASSETS = "assets"


class ExportGraphCache:
    """Caches the graphs of the exports of one Estimator in this process.

    The Estimator makes the first export for a serving_input_receiver_fn. Later exports for the same
    function reuse its graph, signatures and assets. Their variables are restored from their own
    checkpoint and saved by the restore and save operations of that graph.

    Args:
        built: an Estimator.
    """

    def __init__(self, built: Any) -> None:
        self._built = built
        # Keys are id(receiver_fn), because a receiver_fn may be unhashable or define ==.
        self._graphs: dict[int, tuple[Callable[[], Any], _CachedGraph]] = {}
        self._caching = _CachingEstimator(built, self)

    def for_exporter(self, exporter: Any) -> Any:
        """Returns the Estimator to pass to an exporter.

        TensorFlow's exporters and ours call only its export_saved_model. For them, the result uses
        the cache. A user's exporter may call any method, so it gets the Estimator itself.

        Args:
            exporter: an estimator.Exporter.
        """
        only_exports = isinstance(
            exporter, (estimator.LatestExporter, estimator.FinalExporter, estimator.BestExporter)
        ) or type(exporter).__module__.startswith("trainer.")
        return self._caching if only_exports else self._built

    def export(
        self,
        base: str,
        receiver_fn: Callable[[], Any],
        assets_extra: Any,
        as_text: bool,
        checkpoint: Any,
    ) -> bytes:
        """Exports a checkpoint into a new folder.

        Args:
            base: folder of the exporter.
            receiver_fn: the serving_input_receiver_fn.
            assets_extra: name in assets.extra → file that is copied there; or None.
            as_text: whether the graph is written as text.
            checkpoint: prefix of the checkpoint's files; None for the newest one.

        Returns:
            The path of the export.
        """
        base = os.fsdecode(base)
        checkpoint = checkpoint or self._built.latest_checkpoint()
        keeps = not as_text and "://" not in base
        _, cached = self._graphs.get(id(receiver_fn), (None, None))
        if keeps and cached is not None and cached.is_intact():
            # If the cached graph does not fit the checkpoint, the Estimator makes the export below,
            # or raises its own error.
            with contextlib.suppress(tf.errors.OpError, ValueError):
                return os.fsencode(cached.export(base, assets_extra, checkpoint))
        options = {
            "assets_extra": assets_extra,
            "as_text": as_text,
            "checkpoint_path": checkpoint,
        }
        if not keeps:
            exported: bytes = self._built.export_saved_model(base, receiver_fn, **options)
            return exported
        with _new_folder(base) as folder:
            exported = self._built.export_saved_model(str(folder), receiver_fn, **options)
            path = _publish(Path(os.fsdecode(exported)), base)
        config = getattr(self._built, "_session_config", None)
        self._graphs[id(receiver_fn)] = receiver_fn, _CachedGraph(path, config)
        return os.fsencode(path)


class _CachingEstimator:
    """An Estimator whose export_saved_model uses the cache."""

    def __init__(self, built: Any, exports: ExportGraphCache) -> None:
        self._built = built
        self._exports = exports

    def __getattr__(self, name: str) -> Any:
        return getattr(self._built, name)

    def export_saved_model(
        self,
        export_dir_base: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: Any = None,
        **more: Any,
    ) -> Any:
        """Exports a checkpoint, as Estimator.export_saved_model does.

        Args:
            export_dir_base: folder of the exporter.
            serving_input_receiver_fn: returns a ServingInputReceiver.
            assets_extra: name in assets.extra → file that is copied there; or None.
            as_text: whether the graph is written as text.
            checkpoint_path: prefix of the checkpoint's files; None for the newest one.
            **more: other options of the Estimator; if there are any, the cache is not used.

        Returns:
            The path of the export, as bytes.
        """
        if more:
            return self._built.export_saved_model(
                export_dir_base,
                serving_input_receiver_fn,
                assets_extra,
                as_text,
                checkpoint_path,
                **more,
            )
        return self._exports.export(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path
        )


class _Saver(NamedTuple):
    """A Saver and its graph."""

    graph: Any
    saver: Any


class _CachedGraph:
    """The common part of all exports of one graph; it is read from the first export.

    Args:
        path: a SavedModel that has just been written.
        session_config: a ConfigProto for the sessions that copy variables; or None.
    """

    def __init__(self, path: str, session_config: Any) -> None:
        self._session_config = tf.compat.v1.ConfigProto()
        if session_config is not None:
            self._session_config.CopyFrom(session_config)
        # Variables are only copied from file to file. GPUs and graph optimisation have no benefit.
        self._session_config.device_count["GPU"] = 0
        self._session_config.graph_options.rewrite_options.disable_meta_optimizer = True
        self._graph_file = (Path(path) / GRAPH).read_bytes()
        # Assets may be large. They are copied from an earlier export instead of being kept in
        # memory.
        self._paths = [path]
        self._assets = _list_sizes(Path(path) / ASSETS)
        self._saver: Optional[_Saver] = None

    def is_intact(self) -> bool:
        """Whether an earlier export with all assets still exists."""
        if not self._assets:
            return True
        self._paths = [
            path for path in self._paths if _list_sizes(Path(path) / ASSETS) == self._assets
        ]
        return bool(self._paths)

    def export(self, base: str, assets_extra: Any, checkpoint: str) -> str:
        """Writes an export of a checkpoint; returns its path.

        Args:
            base: folder of the exporter.
            assets_extra: name in assets.extra → file that is copied there; or None.
            checkpoint: prefix of the checkpoint's files.

        Raises:
            tf.errors.OpError: the checkpoint does not fit the graph.
            ValueError: the graph has no saver.
        """
        if self._saver is None:
            self._saver = _read_saver(self._graph_file)
        with _new_folder(base) as folder:
            (folder / GRAPH).write_bytes(self._graph_file)
            if self._assets:
                shutil.copytree(Path(self._paths[-1]) / ASSETS, folder / ASSETS)
            (folder / "variables").mkdir()
            graph, saver = self._saver
            # The session contains a second copy of the variables, so it is open only for the copy.
            with tf.compat.v1.Session(graph=graph, config=self._session_config) as session:
                saver.restore(session, checkpoint)
                saver.save(
                    session,
                    str(folder / "variables" / "variables"),
                    write_meta_graph=False,
                    write_state=False,
                )
            for name, source in (assets_extra or {}).items():
                target = folder / EXTRA / os.fsdecode(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                tf.io.gfile.copy(source, str(target))
            path = _publish(folder, base)
        if self._assets:
            self._paths.append(path)
        return path


def _list_sizes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _read_saver(graph_file: bytes) -> _Saver:
    """Returns the restore and save operations of a serialized SavedModel, in their own graph.

    Raises:
        ValueError: it is not a SavedModel of one graph with a saver.
    """
    pool = tf.compat.v1.MetaGraphDef.DESCRIPTOR.file.pool
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.SavedModel"))
    saved = kind.FromString(graph_file)
    if len(saved.meta_graphs) != 1 or not saved.meta_graphs[0].HasField("saver_def"):
        raise ValueError("not one graph with a saver")
    meta = saved.meta_graphs[0]
    saver_def = meta.saver_def
    nodes = {node.name: node for node in meta.graph_def.node}
    pending = [
        saver_def.restore_op_name,
        saver_def.save_tensor_name,
        saver_def.filename_tensor_name,
    ]
    needed = set()
    while pending:
        name = pending.pop().lstrip("^").partition(":")[0]
        if name not in needed:
            needed.add(name)
            pending += nodes[name].input
    wanted = tf.compat.v1.GraphDef(versions=meta.graph_def.versions)
    for node in meta.graph_def.node:
        if node.name in needed:
            copied = wanted.node.add()
            copied.CopyFrom(node)
            # The attribute "_class" refers to nodes that are not in this graph.
            copied.attr.pop("_class", None)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(wanted, name="")
        saver = tf.compat.v1.train.Saver(saver_def=saver_def)
    graph.finalize()
    return _Saver(graph, saver)


@contextlib.contextmanager
def _new_folder(base: str) -> Iterator[Path]:
    """Creates a temporary folder beside the exports; deletes it afterwards."""
    # The name must not be a number, because every folder named by a number is an export.
    folder = Path(base) / f"temp-{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _publish(folder: Path, base: str) -> str:
    """Moves a finished export into the folder of its exporter; returns its path.

    It is on the disk before it has its name, which is the current time, or a time after all other
    exports: several exports within one second get names of future seconds.
    """
    durable.sync_folder(str(folder))
    others = [path for path in Path(base).iterdir() if path.name.isdigit()]
    stamp = max([int(time.time()), *(int(path.name) + 1 for path in others)])
    while True:
        target = Path(base, str(stamp))
        try:
            # This fails if another process has just created the target.
            folder.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            stamp += 1
            continue
        durable.sync_files([base])
        return str(target)
