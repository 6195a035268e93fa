"""Rewrites what a program writes for an older TensorFlow: `run --exports_for=1.15`.

SavedModels are rewritten before they are written, and refused if the older version cannot express
them. The `.meta` file of a checkpoint and graph.pbtxt are rewritten if that is possible; otherwise
they are written as they are, because a checkpoint must not fail and Estimators do not read them.
"""

import functools
import importlib
import logging
import os
from collections.abc import Callable
from typing import Any, Optional

from ..errors import BridgeError
from ..process.importing import call_when_imported
from ..versions import installed_tensorflow, parse
from .operations import Operations, find, minor
from .rewrite import CannotDowngrade, rewrite_graph, rewrite_meta_graph

__all__ = ["install"]

_logger = logging.getLogger("estimator_bridge")


def install(version: str) -> None:
    """Makes this process write for an older TensorFlow.

    Args:
      version: the older TensorFlow, "1.15".

    Raises:
      BridgeError: the version is not known, or not older than the installed TensorFlow.
    """
    target = find(version)
    installed = installed_tensorflow() or ""
    if parse(installed)[:2] <= parse(target.version)[:2]:
        raise BridgeError(
            f"--exports_for={version}: not older than the installed TensorFlow {installed}"
        )
    call_when_imported("tensorflow", _Writer(target).attach)


class _Writer:
    """Takes the places of TensorFlow's functions that write graphs.

    Args:
      target: the operations of the older version.
    """

    def __init__(self, target: Operations):
        self._target = target
        # Whether a graph that is no export could not be rewritten: the next one is neither.
        self._gave_up = False

    def attach(self) -> None:
        """Replaces the functions of the imported TensorFlow."""
        from ..private_tf import graph_io, saved_model_builder, saved_model_save, training_util

        tensorflow = importlib.import_module("tensorflow")
        builder = saved_model_builder._SavedModelBuilder
        builder.save = self._wrap_builder(builder.save)
        saved_model_save._build_meta_graph = self._wrap_build(saved_model_save._build_meta_graph)
        write_graph = self._wrap_write_graph(graph_io.write_graph)
        v1 = tensorflow.compat.v1
        for module in (graph_io, training_util, tensorflow.io, v1.io, v1.train):
            module.write_graph = write_graph

    def _rewrite_export(self, meta_graph: Any, where: str) -> None:
        try:
            rewrite_meta_graph(meta_graph, self._target)
        except CannotDowngrade as error:
            version = minor(self._target.version)
            raise BridgeError(f"--exports_for={version}: {where}: {error}") from error

    def _wrap_builder(self, save: Callable[..., Any]) -> Callable[..., Any]:
        """Returns SavedModelBuilder.save."""

        @functools.wraps(save)
        def rewritten(builder: Any, *args: Any, **kwargs: Any) -> Any:
            kept, builder._saved_model = builder._saved_model, _copy(builder._saved_model)
            try:
                for meta_graph in builder._saved_model.meta_graphs:
                    self._rewrite_export(meta_graph, os.fsdecode(builder._export_dir))
                return save(builder, *args, **kwargs)
            except BridgeError:
                # The variables have been written; without a graph they are no export.
                from tensorflow import io

                io.gfile.rmtree(builder._export_dir)
                raise
            finally:
                builder._saved_model = kept

        return rewritten

    def _wrap_build(self, build: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function that builds the graph of tf.saved_model.save."""

        @functools.wraps(build)
        def rewritten(*args: Any, **kwargs: Any) -> Any:
            built = build(*args, **kwargs)
            self._rewrite_export(built[0], "the model")
            return built

        return rewritten

    def _wrap_write_graph(self, write: Callable[..., Any]) -> Callable[..., Any]:
        """Returns tf.io.write_graph."""

        @functools.wraps(write)
        def rewritten(
            graph_or_graph_def: Any, logdir: Any, name: Any, *args: Any, **kwargs: Any
        ) -> Any:
            message = self._rewrite_file(graph_or_graph_def, os.fsdecode(name))
            return write(message or graph_or_graph_def, logdir, name, *args, **kwargs)

        return rewritten

    def _rewrite_file(self, graph: Any, name: str) -> Optional[Any]:
        """Returns the rewritten graph, or None if that is not possible."""
        if self._gave_up:
            return None
        message = graph.as_graph_def() if hasattr(graph, "as_graph_def") else _copy(graph)
        try:
            if hasattr(message, "graph_def"):
                rewrite_meta_graph(message, self._target)
            else:
                rewrite_graph(message, self._target)
        except CannotDowngrade as error:
            self._gave_up = True
            _logger.warning(
                "%s and the graphs after it are written for this TensorFlow: %s", name, error
            )
            return None
        return message


def _copy(message: Any) -> Any:
    copied = type(message)()
    copied.CopyFrom(message)
    return copied
