"""`tf.contrib.checkpoint`: objects whose state `tf.train.Checkpoint` saves."""

import io
import re

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import autotrackable as _autotrackable
from estimator_bridge.private_tf import checkpoint as _checkpoint
from estimator_bridge.private_tf import data_structures as _structures
from estimator_bridge.private_tf import python_state as _python_state
from estimator_bridge.private_tf import trackable_base as _base
from estimator_bridge.private_tf import trackable_object_graph_pb2 as _graph
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals(), default_advice="use tf.train.Checkpoint")

CheckpointManager = tf.train.CheckpointManager
Checkpointable = _autotrackable.AutoTrackable
CheckpointableBase = _base.Trackable
CheckpointableObjectGraph = _graph.TrackableObjectGraph
List = _structures.List
Mapping = _structures.Mapping
NoDependency = _structures.NoDependency
PythonStateWrapper = _python_state.PythonState
capture_dependencies = _checkpoint.capture_dependencies
list_objects = _checkpoint.list_objects
object_metadata = _checkpoint.object_metadata


class _Array(_python_state.PythonState):
    """An array of NumPy in a checkpoint."""

    def __init__(self, array):
        self.array = array

    def serialize(self):
        text = io.BytesIO()
        np.save(text, self.array, allow_pickle=False)
        return text.getvalue()

    def deserialize(self, string_value):
        self.array = np.load(io.BytesIO(string_value), allow_pickle=False)


class NumpyState(_base.Trackable):
    """An object whose attributes are arrays of NumPy, which are saved with it."""

    def _keep(self, name, array):
        kept = _Array(array)
        # While it is being tracked, it is looked up.
        self.__dict__["_self_new"] = name
        self._track_trackable(kept, name, overwrite=True)
        self.__dict__.update({"_self_new": None, name: kept})
        return kept

    def _lookup_dependency(self, name, *args, **kwargs):
        found = super()._lookup_dependency(name, *args, **kwargs)
        if found is None and self.__dict__.get("_self_new") != name:
            # An attribute that only the checkpoint has.
            found = self._keep(name, np.array([]))
        return found

    def __getattribute__(self, name):
        """Returns an array that was set, or another attribute."""
        value = object.__getattribute__(self, name)
        return value.array if isinstance(value, _Array) else value

    def __setattr__(self, name, value):
        """Sets an array; raises NotImplementedError for a value of another kind."""
        if name.startswith("_"):
            super().__setattr__(name, value)
        elif not isinstance(value, (np.ndarray, np.generic)):
            raise NotImplementedError(
                f"{name}: a NumpyState holds arrays and numbers of NumPy only, got {value!r}"
            )
        elif name in self.__dict__:
            self.__dict__[name].array = value
        else:
            self._keep(name, value)


class UniqueNameTracker(_structures.TrackableDataStructure):
    """Keeps objects under names that it makes unique."""

    def __init__(self):
        super().__init__()
        self._named = {}

    @property
    def _values(self):
        return list(self._named.values())

    def track(self, trackable, base_name):
        """Keeps an object; returns it.

        Args:
          trackable: object that a checkpoint can contain.
          base_name: its name; a number is added if it is taken.

        Raises:
          ValueError: a checkpoint cannot contain the object.
        """
        if not isinstance(trackable, _base.Trackable):
            raise ValueError(f"{base_name}: a checkpoint cannot contain {trackable!r}")
        name, number = base_name, 0
        while name in self._named:
            number += 1
            name = f"{base_name}_{number}"
        self._named[name] = trackable
        return self._track_value(trackable, name)


def dot_graph_from_checkpoint(save_path):
    """Returns the objects in a checkpoint as a graph in the language of Graphviz.

    Args:
      save_path: path of the checkpoint.
    """
    reader = tf.train.load_checkpoint(save_path)
    graph = object_metadata(save_path)
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    lines = ["digraph {"]
    for number, node in enumerate(graph.nodes):
        kept = [one for one in node.attributes if one.name == "VARIABLE_VALUE"]
        note = 'label="" width=.25'
        for one in kept:
            key = one.checkpoint_key
            text = f"Variable {one.full_name} shape={shapes[key]} {types[key].name}"
            note = f'label="" color=blue width=.25 tooltip="{text}"'
        lines.append(f"N_{number} [shape=point {note}]")
        lines += [
            f'N_{number} -> N_{child.node_id} [label="{re.escape(child.local_name)}"]'
            for child in node.children
        ]
    return "\n".join([*lines, "}", ""])
