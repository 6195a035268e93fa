"""Cases of tf.contrib.autograph: conditions, loops and lists of converted functions."""

import importlib
import inspect

import tensorflow as tf
import values

CASES = {}
# 1.15 imports the package by statement only.
autograph = importlib.import_module("tensorflow.contrib").autograph


@autograph.convert()
def folded(x):
    if tf.reduce_sum(x) > 0:  # noqa: SIM108
        y = x * x
    else:
        y = -x
    return y


@autograph.convert()
def summed(count):
    total = 0
    for i in tf.range(count):
        if i > 6:
            break
        if i % 2 == 0:
            continue
        total += i
    return total


@autograph.convert(optional_features=autograph.Feature.LISTS)
def squares(count):
    found = []
    autograph.set_element_type(found, tf.int32)
    for i in tf.range(count):
        found.append(i * i)
    return autograph.stack(found)


def tenfold_if_odd(n):
    if n % 2 == 0:
        return n
    return 10 * n


@autograph.do_not_convert
def kept(n):
    return n if isinstance(n, tf.Tensor) else 0


@autograph.do_not_convert()
def kept_too(n):
    return n + 1


@autograph.convert(recursive=True)
def calling(n):
    total = 0
    while n > 0:
        total += tenfold_if_odd(n) + kept(n) + kept_too(n)
        n -= 1
    return total


@autograph.convert()
def limited(n):
    total = 0
    while n > 0:
        autograph.set_loop_options(parallel_iterations=1, back_prop=False, maximum_iterations=2)
        total += n
        n -= 1
    return total


class Doubled(tf.keras.Model):
    @autograph.convert()
    def call(self, x):
        y = x
        while tf.reduce_max(y) < 100:
            y = 2 * y
        return y


def with_gradient(sign):
    x = tf.constant(values.nudged(sign * abs(values.array(3))))
    y = folded(x)
    return {"y": y, "gradient": tf.gradients(y, x)[0]}


def shown(name):
    """Returns the arguments of a function; identical objects without a value print alike."""
    text = str(inspect.signature(getattr(autograph, name)))
    return text.split("<object")[0] if "<object" in text else text


CASES["convert, condition"] = lambda: with_gradient(1)
CASES["convert, other branch"] = lambda: with_gradient(-1)
CASES["convert, loop"] = lambda: summed(tf.constant(10))
CASES["convert, lists"] = lambda: squares(tf.constant(5))
CASES["convert, recursive"] = lambda: calling(tf.constant(4))
CASES["convert, method"] = lambda: Doubled()(tf.constant([3.0, 5.0]))
CASES["set_loop_options"] = lambda: limited(tf.constant(4))
CASES["stack"] = lambda: autograph.stack([tf.constant(1), tf.constant(2)], strict=False)
CASES["to_graph"] = lambda: autograph.to_graph(tenfold_if_odd)(tf.constant(3))
CASES["to_code"] = lambda: {"converted": str("ag__" in autograph.to_code(tenfold_if_odd))}
CASES["arguments"] = lambda: {
    name: shown(name)
    for name in (
        *("convert", "converted_call", "do_not_convert", "set_element_type", "set_loop_options"),
        *("stack", "to_code", "to_graph"),
    )
}
CASES["features"] = lambda: {
    "features": str(
        [one for one in ("ALL", "ASSERT_STATEMENTS", "LISTS") if hasattr(autograph.Feature, one)]
    )
}
