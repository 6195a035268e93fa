"""`tf.contrib.tfprof`: profiles of the steps of a session."""

import contextlib
import os

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import session as _session
from estimator_bridge.private_tf import tfprof_logger as tfprof_logger
from estimator_bridge.tf1.contrib import tfprof_analyzer as model_analyzer

__all__ = ["ProfileContext", "model_analyzer", "tfprof_logger"]


class ProfileContext:
    """Records the time and memory of operations in the sessions of a block.

    The steps are the runs of sessions within the block, counted from 0.

    Args:
      profile_dir: folder for the files `profile_STEP`, which the tool tfprof reads.
      trace_steps: steps that are recorded; None for every tenth of the first hundred.
      dump_steps: steps after which a file is written; None for the hundredth.
      enabled: False does nothing.
      debug: whether to print what is done, and to write what each recorded step gave.
    """

    def __init__(self, profile_dir, trace_steps=None, dump_steps=None, enabled=True, debug=False):
        self._folder, self._enabled, self._debug = profile_dir, enabled, debug
        self._trace_steps = set(range(10, 101, 10) if trace_steps is None else trace_steps)
        self._dump_steps = set([100] if dump_steps is None else dump_steps)
        self._auto, self._found = [], {}
        self._step, self._profiler, self._profiled_graph = 0, None, None
        self._trace_next = self._dump_next = False

    @property
    def profiler(self):
        """The tf.profiler.Profiler of the graph that was traced last; None if not enabled."""
        if not self._enabled:
            return None
        if self._profiler is None:
            self._profiler = tf.profiler.Profiler(tf.get_default_graph())
        return self._profiler

    def add_auto_profiling(self, cmd, options, profile_steps):
        """Profiles after certain steps.

        Args:
          cmd: `scope`, `op`, `graph` or `code`.
          options: what tf.profiler.ProfileOptionBuilder builds.
          profile_steps: list of steps.
        """
        if self._enabled:
            self._auto.append((cmd, options, set(profile_steps)))

    def get_profiles(self, cmd):
        """Returns step -> result of automatic profiling.

        Args:
          cmd: `scope`, `op`, `graph` or `code`.

        Raises:
          ValueError: nothing was profiled so.
        """
        if cmd not in self._found:
            raise ValueError(f"get_profiles: there was no profiling of {cmd!r}")
        return self._found[cmd]

    def trace_next_step(self):
        """Records the next step."""
        self._trace_next = True

    def dump_next_step(self):
        """Records the next step, and writes a file after it."""
        self._trace_next = self._dump_next = True

    def __enter__(self):
        if not self._enabled:
            return self
        context, original = self, _session.BaseSession.run

        def run(session, fetches, feed_dict=None, options=None, run_metadata=None):
            with context._recording(session, options, run_metadata) as (options, run_metadata):
                return original(session, fetches, feed_dict, options, run_metadata)

        self._original = original
        _session.BaseSession.run = run
        return self

    def __exit__(self, kind, value, traceback):
        if self._enabled:
            _session.BaseSession.run = self._original

    @contextlib.contextmanager
    def _recording(self, session, options, metadata):
        """Yields the options and the metadata of a step; then profiles and writes."""
        step, self._step = self._step, self._step + 1
        is_traced = self._trace_next or step in self._trace_steps
        is_dumped = self._dump_next or step in self._dump_steps
        self._trace_next = self._dump_next = False
        if not is_traced:
            yield options, metadata
        else:
            if self._debug:
                print(f"debug: tracing step: {step}")
            options = tf.RunOptions.FromString(options.SerializeToString() if options else b"")
            options.trace_level = tf.RunOptions.FULL_TRACE
            metadata = tf.RunMetadata() if metadata is None else metadata
            yield options, metadata
            self._add(session.graph, step, metadata)
        for cmd, profile_options, steps in self._auto:
            if step in steps:
                self._found.setdefault(cmd, {})[step] = self._profile(cmd, profile_options)
        if is_dumped:
            self._write(f"profile_{step}", self.profiler.serialize_to_string())

    def _add(self, graph, step, metadata):
        if self._profiler is None or self._profiled_graph not in (None, graph):
            # A process has one profiler. The end of the old object would end the new one.
            self._profiler = None
            self._profiler = tf.profiler.Profiler(graph)
        self._profiled_graph = graph
        self._profiler.add_step(step, metadata)
        if self._debug:
            self._write(f"run_meta_{step}", metadata.SerializeToString())

    def _profile(self, cmd, options):
        profilers = {
            "scope": "profile_name_scope",
            "op": "profile_operations",
            "graph": "profile_graph",
            "code": "profile_python",
        }
        if cmd not in profilers:
            raise ValueError(f"cmd: {cmd!r} is unknown; use {', '.join(profilers)}")
        return getattr(self.profiler, profilers[cmd])(options)

    def _write(self, name, content):
        if self._debug:
            print(f"debug: writing {name}")
        tf.gfile.MakeDirs(self._folder)
        with tf.gfile.Open(os.path.join(self._folder, name), "wb") as file:
            file.write(content)
