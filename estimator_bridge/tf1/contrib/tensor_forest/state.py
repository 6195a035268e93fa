"""Where a graph keeps a random forest: growing, or as arrays for prediction and exports."""

import contextlib
import itertools
import threading

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.boosted_trees.state import ForestSaver, variable
from estimator_bridge.private_tf import resources, saver
from estimator_bridge.tf1.contrib.tensor_forest.forest import Flat, Forest
from estimator_bridge.tf1.contrib.tensor_forest.growing import Grower

__all__ = ["FrozenForest", "GrowingForest", "frozen", "is_frozen", "make_saver"]

_local = threading.local()


def _keys(kind, trees):
    """Returns the keys of the trees in a checkpoint, with the present name scope."""
    scope = tf.get_default_graph().get_name_scope()
    start = f"{scope}/" if scope else ""
    return [f"{start}{kind}-{tree}:0" for tree in range(trees)]


@contextlib.contextmanager
def frozen():
    """Within it, the forest of a graph is arrays of standard operations."""
    _local.frozen = True
    try:
        yield
    finally:
        _local.frozen = False


def is_frozen():
    """Returns whether a forest is to be made as arrays."""
    return getattr(_local, "frozen", False)


class GrowingForest:
    """A forest that grows. Python functions of the graph know it by a number in a variable.

    Each session has a forest of its own. A checkpoint has a text for each tree and its candidates.

    Args:
      shape: Shape.
      rules: Rules.
    """

    def __init__(self, shape, rules):
        self.shape, self.rules = shape, rules
        self._growers, self._numbers = {}, itertools.count()
        # Operations of a step run at once.
        self._lock = threading.Lock()
        make = tf.numpy_function(self._make, [], tf.int64)
        make.set_shape([])
        self._number = variable(make, "forest", collections=[])
        resources.register_resource(
            self._number.handle,
            self._number.initializer,
            self._number.is_initialized(),
        )
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, _Saveable(self))

    @property
    def handle(self):
        """The resource of the variable."""
        return self._number.handle

    def _make(self):
        grower = Grower(Forest(self.shape), self.rules)
        number = next(self._numbers)
        self._growers[number] = grower
        return np.int64(number)

    def grow(self, data, labels, weights, trees):
        """Returns the operation that lets trees see a batch.

        Args:
          data: float32 tensor [batch, columns].
          labels: float32 tensor [batch] or [batch, outputs].
          weights: float32 tensor [batch].
          trees: list of ints.
        """
        places = np.asarray(trees)

        def run(grower, *batch):
            grower.grow(*batch, places)
            return np.int32(0)

        return self._call(run, [data, labels, weights], tf.int32, []).op

    def _call(self, function, tensors, dtype, shape):
        """Returns a tensor that a function of the Grower and of arrays computes."""

        def run(number, *arrays):
            with self._lock:
                return function(self._growers[int(number)], *arrays)

        found = tf.numpy_function(run, [self._number.read_value(), *tensors], dtype)
        found.set_shape(shape)
        return found

    def predict(self, data):
        """Returns what each tree predicts, float32 tensor [trees, batch, outputs].

        Args:
          data: float32 tensor [batch, columns].
        """

        return self._call(
            lambda grower, rows: grower.forest.predict(rows),
            [data],
            tf.float32,
            [self.shape.trees, None, self.shape.outputs],
        )

    def sizes(self):
        """Returns the numbers of nodes, int32 tensor [trees]."""
        return self._call(lambda grower: grower.forest.sizes(), [], tf.int32, [self.shape.trees])

    def usage(self):
        """Returns how many nodes split by each column, int32 tensor [trees, columns]."""
        return self._call(
            lambda grower: grower.forest.usage(), [], tf.int32, [self.shape.trees, None]
        )

    def serialized(self):
        """Returns the texts of a checkpoint: those of the trees, then those of the candidates."""

        def run(grower):
            trees = range(self.shape.trees)
            texts = [grower.forest.serialize(tree) for tree in trees]
            return np.array(texts + [grower.serialize(tree) for tree in trees], object)

        return tf.unstack(self._call(run, [], tf.string, [2 * self.shape.trees]))

    def restore(self, texts):
        """Returns the operation that takes the forest of a checkpoint.

        Args:
          texts: string tensor [2 * trees], as from `serialized`.
        """

        def run(found):
            trees = self.shape.trees
            forest = Forest(self.shape)
            for tree in range(trees):
                forest.parse(tree, found[tree])
            grower = Grower(forest, self.rules)
            for tree in range(trees):
                grower.parse(tree, found[trees + tree])
            number = next(self._numbers)
            self._growers[number] = grower
            return np.int64(number)

        number = tf.numpy_function(run, [texts], tf.int64)
        number.set_shape([])
        return self._number.assign(number, read_value=False)


class _Saveable(saver.BaseSaverBuilder.SaveableObject):
    """Saves a growing forest under the keys of 1.x."""

    def __init__(self, forest):
        self._forest = forest
        keys = [*_keys("tree", forest.shape.trees), *_keys("stats", forest.shape.trees)]
        with tf.colocate_with(forest.handle):
            specs = [
                saver.BaseSaverBuilder.SaveSpec(text, "", key)
                for text, key in zip(forest.serialized(), keys)
            ]
        super().__init__(forest.handle, specs, keys[0])

    def restore(self, restored_tensors, restored_shapes):
        del restored_shapes
        return self._forest.restore(tf.stack(restored_tensors))


class FrozenForest:
    """The trees as variables of standard operations, for evaluation, prediction and exports.

    Args:
      shape: Shape.
    """

    def __init__(self, shape):
        self.shape = shape
        self._keys = _keys("tree", shape.trees)
        self.key = self._keys[0]
        with tf.name_scope("forest"):
            flat = Forest(shape).flatten()
            self.variables = [self._add(one, name) for name, one in flat._asdict().items()]

    @staticmethod
    def _add(array, name):
        shape = [None, *array.shape[1:]] if array.ndim else []
        # A checkpoint's value is fed for the initial one: no operation is added for it.
        initial = tf.placeholder_with_default(array, shape)
        return variable(initial, name, shape=tf.TensorShape(shape))

    def _flat(self):
        return Flat(*(one.read_value() for one in self.variables))

    def load(self, session, reader):
        """Sets the variables from a checkpoint of training.

        Args:
          session: the session.
          reader: the checkpoint's reader.
        """
        forest = Forest(self.shape)
        for tree, key in enumerate(self._keys):
            forest.parse(tree, reader.get_tensor(key))
        for one, value in zip(self.variables, forest.flatten()):
            session.run(one.initializer, {one.initializer.inputs[1]: value})

    def predict(self, data):
        """Returns what each tree predicts, float32 tensor [trees, batch, outputs].

        Args:
          data: float32 tensor [batch, columns].
        """
        flat = self._flat()
        start = tf.tile(flat.roots[:, None], [1, tf.shape(data)[0]])
        start.set_shape([self.shape.trees, None])
        columns = tf.transpose(data)

        def step(level, nodes):
            rows = tf.tile(tf.range(tf.shape(nodes)[1])[None], [self.shape.trees, 1])
            numbers = tf.gather_nd(columns, tf.stack([tf.gather(flat.feature, nodes), rows], 2))
            limits = tf.gather(flat.threshold, nodes)
            goes_left = numbers < limits if self.shape.strict else numbers <= limits
            below = tf.where(goes_left, tf.gather(flat.left, nodes), tf.gather(flat.right, nodes))
            return level + 1, below

        _, leaves = tf.while_loop(
            lambda level, _: level < flat.depth,
            step,
            [tf.constant(0), start],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([self.shape.trees, None])],
        )
        found = tf.gather(flat.value, leaves)
        found.set_shape([self.shape.trees, None, self.shape.outputs])
        return found

    def sizes(self):
        """Returns the numbers of nodes, int32 tensor [trees]."""
        return self._flat().sizes

    @property
    def handle(self):
        """The resource of the roots."""
        return self.variables[Flat._fields.index("roots")].handle


class _Several:
    """Forests that a Saver reads together.

    Args:
      forests: list of FrozenForest.
    """

    def __init__(self, forests):
        self._forests = forests
        self.variables = [one for forest in forests for one in forest.variables]
        self.key = forests[0].key

    def load(self, session, reader):
        for forest in self._forests:
            forest.load(session, reader)


def make_saver(forests):
    """Returns the Saver that reads a checkpoint of training.

    Args:
      forests: list of FrozenForest.
    """
    return ForestSaver(_Several(forests))
