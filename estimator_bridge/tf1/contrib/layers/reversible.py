"""Blocks whose activations are computed again for the gradients: `recompute_grad`, `rev_block`."""

import functools

import tensorflow.compat.v1 as tf

__all__ = ["RevBlock", "recompute_grad", "rev_block"]


def recompute_grad(fn, use_data_dep=True, tupleize_grads=False):
    """Returns a function whose activations are computed again for the gradients.

    Args:
      fn: function of tensors.
      use_data_dep: ignored; it only orders operations.
      tupleize_grads: ignored; it only orders operations.

    Returns:
      Function with the arguments of `fn`.
    """
    del use_data_dep, tupleize_grads

    @functools.wraps(fn)
    def call(*arguments):
        scope, again = tf.get_variable_scope(), False

        def in_scope(*given):
            nonlocal again
            # Computed for the gradients, the function takes the variables that it has made.
            with tf.variable_scope(
                scope, reuse=True if again else None, auxiliary_name_scope=False
            ):
                again = True
                return fn(*given)

        return tf.recompute_grad(in_scope)(*arguments)

    return call


def rev_block(
    x1,
    x2,
    f,
    g,
    num_layers=1,
    f_side_input=None,
    g_side_input=None,
    is_training=True,
):
    """Computes reversible residual layers: y1 = x1 + f(x2), y2 = x2 + g(y1).

    Args:
      x1: floating tensor.
      x2: floating tensor of the same shape.
      f: function of a tensor, or one for each layer. Its variables are in `revlayer_0/f` and so on.
      g: like f.
      num_layers: number of layers.
      f_side_input: list of tensors, the second argument of f; None without.
      g_side_input: list of tensors, the second argument of g; None without.
      is_training: whether the inputs are computed again from the outputs for the gradients, so that
        no activations are kept.

    Returns:
      Pair of tensors (y1, y2).
    """
    return RevBlock(f, g, num_layers, f_side_input, g_side_input, is_training).forward(x1, x2)


class RevBlock(tf.layers.Layer):
    """Reversible residual layers; see `rev_block`.

    Args:
      f: function of a tensor, or one for each layer.
      g: like f.
      num_layers: number of layers.
      f_side_input: list of tensors, the second argument of f; None without.
      g_side_input: list of tensors, the second argument of g; None without.
      use_efficient_backprop: whether no activations are kept for the gradients.
      name: name of the variable scope.
      **kwargs: further arguments of tf.layers.Layer.

    Raises:
      AssertionError: a list of functions does not have one for each layer.
    """

    def __init__(
        self,
        f,
        g,
        num_layers=1,
        f_side_input=None,
        g_side_input=None,
        use_efficient_backprop=True,
        name="revblock",
        **kwargs,
    ):
        super().__init__(name=name, **kwargs)
        self._functions = [
            list(one) if isinstance(one, (list, tuple)) else [one] * num_layers for one in (f, g)
        ]
        if any(len(one) != num_layers for one in self._functions):
            raise AssertionError(f"f and g must be functions, or lists of {num_layers} functions")
        self._sides = [f_side_input, g_side_input]
        self._num_layers = num_layers
        self._efficient = use_efficient_backprop
        self._block_name, self._block_scope = name, None
        self.built = True

    def _apply(self, layer, which, inputs, sides):
        """Returns f (which = 0) or g (1) of a layer."""
        with tf.variable_scope(f"revlayer_{layer}/{'fg'[which]}", use_resource=True):
            function = self._functions[which][layer]
            return function(inputs) if sides[which] is None else function(inputs, sides[which])

    def _enter(self):
        """Returns the scope of the variables, which a second use shares."""
        if self._block_scope is None:
            return tf.variable_scope(None, self._block_name, use_resource=True)
        return tf.variable_scope(self._block_scope, reuse=True)

    def _forward(self, x1, x2, sides):
        with self._enter() as self._block_scope:
            for layer in range(self._num_layers):
                x1 = x1 + self._apply(layer, 0, x2, sides)
                x2 = x2 + self._apply(layer, 1, x1, sides)
        return x1, x2

    def build(self, _):
        """Does nothing: the functions create the variables when they are called.

        Args:
          _: ignored.
        """

    def __call__(self, inputs, forward=True):
        # The variables are in the scope of the block, not in one of this call.
        return self.call(inputs, forward=forward)

    def call(self, inputs, forward=True):
        """Returns the outputs of given inputs, or the inputs of given outputs.

        Args:
          inputs: pair of floating tensors of the same shape.
          forward: whether the inputs are those of the block; else its outputs.
        """
        return self.forward(*inputs) if forward else self.backward(*inputs)

    def _variables_of(self, collection):
        if self._block_scope is None:
            return []
        return tf.get_collection(collection, f"{self._block_scope.name}/")

    @property
    def trainable_weights(self):
        """The trainable variables, a list."""
        return self._variables_of(tf.GraphKeys.TRAINABLE_VARIABLES) if self.trainable else []

    @property
    def non_trainable_weights(self):
        """The other variables, a list."""
        trained = {one.name for one in self.trainable_weights}
        every = self._variables_of(tf.GraphKeys.GLOBAL_VARIABLES)
        return [one for one in every if one.name not in trained]

    def forward(self, x1, x2):
        """Returns the outputs (y1, y2).

        Args:
          x1: floating tensor.
          x2: floating tensor of the same shape.
        """
        if not self._efficient:
            return self._forward(x1, x2, self._sides)
        counts = [len(one or ()) for one in self._sides]

        @tf.custom_gradient
        def block(x1, x2, *given):
            given = [list(given[: counts[0]]), list(given[counts[0] :])]
            sides = [None if one is None else new for one, new in zip(self._sides, given)]
            outputs = self._forward(x1, x2, sides)
            tensors = [tensor for one in given for tensor in one]

            def gradients(*above, variables=()):
                ends, found = self._gradients(outputs, above, sides, [*tensors, *variables])
                return [*ends, *found[: len(tensors)]], found[len(tensors) :]

            return outputs, gradients

        return tuple(block(x1, x2, *[one for side in self._sides for one in side or ()]))

    def _gradients(self, outputs, above, sides, sources):
        """Returns the gradients of the two inputs, and of other sources.

        Args:
          outputs: (y1, y2).
          above: the gradients of y1 and y2.
          sides: the side inputs.
          sources: tensors and variables.
        """
        d1, d2 = above
        # Computed again only when the gradients above are there, so that the memory is free before.
        with tf.control_dependencies([d1, d2]):
            y1, y2 = (tf.stop_gradient(one) for one in outputs)
        total = [None] * len(sources)
        with self._enter():
            for layer in reversed(range(self._num_layers)):
                g = self._apply(layer, 1, y1, sides)
                d1, total = _add(g, y1, sources, d2, d1, total)
                y2 = tf.stop_gradient(y2 - g)
                f = self._apply(layer, 0, y2, sides)
                d2, total = _add(f, y2, sources, d1, d2, total)
                y1 = tf.stop_gradient(y1 - f)
        return (d1, d2), total

    def backward(self, y1, y2):
        """Returns the inputs (x1, x2) that have given outputs.

        Args:
          y1: floating tensor.
          y2: floating tensor of the same shape.
        """
        with self._enter() as self._block_scope:
            for layer in reversed(range(self._num_layers)):
                y2 = y2 - self._apply(layer, 1, y1, self._sides)
                y1 = y1 - self._apply(layer, 0, y2, self._sides)
        return y1, y2


def _add(output, inputs, sources, above, through, total):
    """Adds the gradients of one function; returns those of its input, and of the sources.

    Args:
      output: what the function returned.
      inputs: its input.
      sources: tensors and variables.
      above: gradient of the output.
      through: gradient of the input by another way.
      total: gradients of the sources so far; None for no gradient yet.
    """
    first, *others = tf.gradients(output, [inputs, *sources], above)
    return through if first is None else through + first, [
        one if new is None else new if one is None else one + new for one, new in zip(total, others)
    ]
