"""SavedModels of a run: the graph is built and written once, later exports write only variables."""

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

GRAPH, ASSETS, EXTRA = "saved_model.pb", "assets", "assets.extra"


class ExportGraphCache:
    """The exports of one Estimator in this process.

    The first export for a serving_input_receiver_fn is made by the Estimator. Later ones for the
    same function take its graph, its signatures and its assets, and get their variables from their
    own checkpoint by the very restore and save operations that the graph brings.

    Args:
        built: an Estimator.
    """

    def __init__(self, built: Any):
        self._built = built
        # By identity: a receiver_fn need not be hashable, and its own == says nothing.
        self._parts: dict[int, tuple[Callable, _Part]] = {}
        self._facade = _Facade(built, self)

    def for_exporter(self, exporter: Any) -> Any:
        """What to hand to an exporter as its Estimator.

        TensorFlow's exporters, and ours, ask it only for exports; one of the user's own may do
        anything with it, and gets the Estimator itself.
        """
        asks_only_for_exports = isinstance(
            exporter, (estimator.LatestExporter, estimator.FinalExporter, estimator.BestExporter)
        ) or type(exporter).__module__.startswith("trainer.")
        return self._facade if asks_only_for_exports else self._built

    def export(
        self, base: str, receiver_fn: Callable, assets_extra: Any, as_text: bool, checkpoint: Any
    ) -> bytes:
        """Exports a checkpoint into a new folder under `base`; returns its path."""
        base = os.fsdecode(base)
        checkpoint = checkpoint or self._built.latest_checkpoint()
        keeps = not as_text and "://" not in base
        _, part = self._parts.get(id(receiver_fn), (None, None))
        if keeps and part is not None and part.is_intact():
            # Whatever does not fit, the Estimator's own way will fit, or say in its own words.
            with contextlib.suppress(tf.errors.OpError, ValueError):
                exported = part.export(base, assets_extra, checkpoint)
                return os.fsencode(exported)
        exported = self._built.export_saved_model(
            base,
            receiver_fn,
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint,
        )
        if not keeps:
            return exported
        # Several exports in one second are named ahead of the clock, which the Estimator goes by.
        path = _publish(Path(os.fsdecode(exported)))
        config = getattr(self._built, "_session_config", None)
        self._parts[id(receiver_fn)] = receiver_fn, _Part(path, config)
        return os.fsencode(path)


class _Facade:
    """An Estimator whose export_saved_model keeps graphs."""

    def __init__(self, built: Any, exports: ExportGraphCache):
        self._built = built
        self._exports = exports

    def __getattr__(self, name: str) -> Any:
        return getattr(self._built, name)

    def export_saved_model(
        self,
        export_dir_base,
        serving_input_receiver_fn,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        **more,
    ):
        """As that of an Estimator."""
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
    graph: Any
    saver: Any


class _Part:
    """What exports of one graph have in common, read from the first of them.

    Args:
        path: a SavedModel that has just been written.
        session_config: of the sessions that copy variables.
    """

    def __init__(self, path: str, session_config: Any):
        self._session_config = tf.compat.v1.ConfigProto()
        if session_config is not None:
            self._session_config.CopyFrom(session_config)
        # Variables only go from file to file: nothing is worth a device, or optimising.
        self._session_config.device_count["GPU"] = 0
        self._session_config.graph_options.rewrite_options.disable_meta_optimizer = True
        self._graph_file = (Path(path) / GRAPH).read_bytes()
        # Assets may be large: they are copied from whichever export is still there.
        self._paths = [path]
        self._assets = _list_sizes(Path(path) / ASSETS)
        self._saver: Optional[_Saver] = None

    def is_intact(self) -> bool:
        """Whether the assets can still be had; forgets exports that are gone."""
        if not self._assets:
            return True
        self._paths = [
            path for path in self._paths if _list_sizes(Path(path) / ASSETS) == self._assets
        ]
        return bool(self._paths)

    def export(self, base: str, assets_extra: Any, checkpoint: str) -> str:
        """Writes an export of a checkpoint.

        Raises:
            tf.errors.OpError, ValueError: the checkpoint, or the graph, does not allow it.
        """
        if self._saver is None:
            self._saver = _read_saver(self._graph_file)
        with _new_folder(base) as folder:
            (folder / GRAPH).write_bytes(self._graph_file)
            if self._assets:
                shutil.copytree(Path(self._paths[-1]) / ASSETS, folder / ASSETS)
            (folder / "variables").mkdir()
            graph, saver = self._saver
            # Open only while it copies, as it holds a second set of the variables.
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
            path = _publish(folder)
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
    """The restore and save operations of a serialized SavedModel, in a graph of their own.

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
            # It names nodes that are not here.
            copied.attr.pop("_class", None)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(wanted, name="")
        saver = tf.compat.v1.train.Saver(saver_def=saver_def)
    graph.finalize()
    return _Saver(graph, saver)


@contextlib.contextmanager
def _new_folder(base: str) -> Iterator[Path]:
    """A temporary folder beside the exports, of this process alone; gone afterwards."""
    # The name is not a number, so that nobody takes it for an export.
    folder = Path(base) / f"temp-{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _publish(folder: Path) -> str:
    """Gives a finished export the time as its name, or a later one if there are exports of that."""
    others = [path for path in folder.parent.iterdir() if path.name.isdigit() and path != folder]
    stamp = max([int(time.time()), *(int(path.name) + 1 for path in others)])
    if folder.name.isdigit() and int(folder.name) >= stamp:
        return str(folder)
    while True:
        target = folder.with_name(str(stamp))
        try:
            # Fails if another process was faster, as that folder is not empty.
            folder.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            stamp += 1
            continue
        return str(target)
