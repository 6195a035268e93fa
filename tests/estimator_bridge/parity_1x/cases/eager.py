"""Cases of tf.contrib.eager, in eager execution and in graphs."""

import functools
import os
import tempfile

import tensorflow as tf
import values
from tensorflow.python.eager import context

CASES = {}
tfe = tf.contrib.eager


def case(name, *arguments, **options):
    """Adds a function to the cases; it runs eagerly unless `eager=False` is given."""
    eager = options.pop("eager", True)

    def adder(function):
        CASES[name] = functools.partial(run, function, eager, arguments, options)
        return function

    return adder


def run(function, eager, arguments, options):
    if not eager:
        return function(*arguments, **options)
    with context.eager_mode():
        return numbers(function(*arguments, **options))


def eagerly(function):
    """Returns a function that runs another one in eager execution."""
    return functools.partial(run, function, True, (), {})


def numbers(found):
    """Returns a structure with arrays for eager tensors and variables."""
    if isinstance(found, dict):
        return {name: numbers(part) for name, part in found.items()}
    if isinstance(found, (list, tuple)):
        return [numbers(part) for part in found]
    return found.numpy() if hasattr(found, "numpy") else found


def array(*shape, **options):
    return tf.constant(values.nudged(values.array(*shape, **options)))


# Gradients.
def cubed(x, y):
    return x * x * x + y


for _name in ("gradients_function", "value_and_gradients_function"):
    for _text, _params in {"": None, ", by name": ["y"], ", by place": [0]}.items():
        CASES[_name + _text] = functools.partial(
            run,
            lambda name, params: getattr(tfe, name)(cubed, params)(array(3), array(3, seed=2)),
            *(True, (_name, _params), {}),
        )
    CASES[_name + ", wrong name"] = functools.partial(
        run, lambda name: getattr(tfe, name)(cubed, ["q"])(array(3), array(3)), True, (_name,), {}
    )
    CASES[_name + ", given"] = functools.partial(
        run,
        lambda name: getattr(tfe, name)(cubed)(array(3), array(3, seed=2), dy=array(3, seed=3)),
        *(True, (_name,), {}),
    )
CASES["gradients_function, twice"] = functools.partial(
    run,
    lambda: tfe.gradients_function(
        lambda x: tfe.gradients_function(lambda z: z * z * z)(x)[0],
    )(array(3)),
    *(True, (), {}),
)


@case("implicit_gradients", "implicit_gradients")
@case("implicit_value_and_gradients", "implicit_value_and_gradients")
def implicit(name):
    weight, bias = tfe.Variable(values.array(3), name="w"), tfe.Variable(2.0, name="b")
    found = getattr(tfe, name)(lambda x: tf.reduce_sum(x * weight) + bias * bias)(array(3, seed=2))
    if name.endswith("value_and_gradients"):
        value, found = found
        return {"value": value, "gradients": [[one, of.name] for one, of in found]}
    return {"gradients": [[one, of.name] for one, of in found]}


@case("implicit_gradients, no variable")
def implicit_without_variables():
    return tfe.implicit_gradients(lambda x: x * x)(array(3))


@case("GradientTape")
@case("GradientTape, persistent", persistent=True)
def taped(**options):
    x = array(3)
    with tfe.GradientTape(**options) as tape:
        tape.watch(x)
        y = x * x
        z = tf.reduce_sum(y * y)
    found = [tape.gradient(z, x)]
    if options:
        found.append(tape.gradient(y, x))
    return found


@case("GradientTape, twice")
def taped_twice():
    x = array(3)
    with tfe.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return [tape.gradient(y, x), tape.gradient(y, x)]


@case("custom_gradient")
@case("custom_gradient, graph", eager=False)
def with_own_gradient():
    @tfe.custom_gradient
    def doubled(x):
        return 2.0 * x, lambda dy: dy * 10.0

    if tf.executing_eagerly():
        return tfe.value_and_gradients_function(doubled)(array(3))
    return doubled(values.real(3))


# Functions.
@case("defun", "defun")
@case("function", "function")
@case("defun, graph", "defun", eager=False)
def traced(name):
    traces = []

    @getattr(tfe, name)
    def squared(x):
        traces.append(1)
        return x * x if x.shape.ndims else x + 1.0

    found = [squared(tf.constant([1.0, 2.0])), squared(tf.constant([3.0, 4.0]))]
    return {"found": found + [squared(tf.constant(5.0))], "traces": len(traces)}


@case("defun, signature")
def with_signature():
    @tfe.defun(input_signature=[tfe.TensorSpec([None], tf.float32)])
    def squared(x):
        return x * x

    return {"found": [squared(array(2)), squared(array(3))]}


@case("defun, another signature")
def with_another_signature():
    return tfe.defun(lambda x: x, input_signature=[tfe.TensorSpec([2], tf.float32)])(array(3))


@case("py_func")
@case("py_func, graph", eager=False)
def in_python():
    x = array(3) if tf.executing_eagerly() else values.real(3)
    return tfe.py_func(lambda one: one * one + 1.0, [x], tf.float32)


CASES["TensorSpec"] = lambda: {
    "found": [
        str(tfe.TensorSpec([2, None], tf.int32, "x")),
        tfe.TensorSpec([], tf.int32).dtype.name,
    ]
}


# Variables, checkpoints, optimizers.
@case("Variable")
def variables():
    one = tfe.Variable(values.array(3), name="mine", trainable=False)
    one.assign_add([1.0, 1.0, 1.0])
    return {"value": one, "name": one.name, "trainable": one.trainable}


@case("Variable, graph", eager=False)
def variables_of_a_graph():
    return {"value": tfe.Variable(values.array(3), name="mine")}


@case("Checkpoint")
def checkpointed():
    prefix = os.path.join(tempfile.mkdtemp(), "model")
    one = tfe.Variable([1.0, 2.0])
    path = tfe.Checkpoint(x=one).save(prefix)
    one.assign([0.0, 0.0])
    tfe.Checkpoint(x=one).restore(path).assert_consumed()
    names = sorted(name for name, _ in tf.train.list_variables(path))
    return {"value": one, "names": str(names), "file": os.path.basename(path)}


@case("Saver")
@case("Saver, dict", as_dict=True)
def saved(as_dict=False):
    prefix = os.path.join(tempfile.mkdtemp(), "model")
    one, other = tfe.Variable([1.0, 2.0], name="a"), tfe.Variable(3, name="b")
    saver = tfe.Saver({"x": one, "y": other} if as_dict else [one, other])
    path = saver.save(prefix, global_step=5)
    one.assign([0.0, 0.0])
    saver.restore(path)
    names = sorted(name for name, _ in tf.train.list_variables(path))
    return {"value": one, "names": str(names), "file": os.path.basename(path)}


@case("restore_variables_on_create")
@case("restore_variables_on_create, mapped", map_func=lambda name: "a")
@case("restore_variables_on_create, no path", path=None)
def restored_on_create(path="given", **options):
    if path:
        saver = tfe.Saver([tfe.Variable([1.0, 2.0], name="a")])
        path = saver.save(os.path.join(tempfile.mkdtemp(), "model"))
    with tfe.restore_variables_on_create(path, **options):
        return {"value": tfe.Variable([5.0, 6.0], name="b" if options else "a")}


@case("get_optimizer_variables", tf.train.MomentumOptimizer)
@case("get_optimizer_variables, Adam", tf.train.AdamOptimizer)
def of_optimizer(kind):
    one = tfe.Variable([1.0, 2.0], name="a")
    optimizer = kind(0.1, 0.9)
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), one)])
    found = tfe.get_optimizer_variables(optimizer)
    return {"names": str(sorted(one.name for one in found)), "value": one}


@case("Iterator")
def iterated():
    iterator = tfe.Iterator(tf.data.Dataset.range(3))
    found = [iterator.next(), iterator.get_next(), next(iterator)]
    return {"found": found, "types": str(iterator.output_types), "more": len(list(iterator))}


@case("Iterator, end")
def iterated_to_the_end():
    iterator = tfe.Iterator(tf.data.Dataset.range(1))
    return [iterator.get_next(), iterator.get_next()]


CASES["Iterator, graph"] = lambda: tfe.Iterator(tf.data.Dataset.range(3)).get_next()
for _eager in (True, False):
    CASES["modes, eager" if _eager else "modes, graph"] = functools.partial(
        run,
        lambda: {"found": [bool(tfe.executing_eagerly()), bool(tfe.in_eager_mode())]},
        *(_eager, (), {}),
    )
CASES["num_gpus"] = lambda: {"number": tfe.num_gpus()}
CASES["list_devices"] = functools.partial(
    run,
    lambda: {"found": [one for one in tfe.list_devices() if "XLA" not in one]},
    *(True, (), {}),
)


def tested(decorator, **options):
    """Returns the modes in which a decorated test runs."""
    modes = []

    class Test(tf.test.TestCase):
        def test_it(self):
            modes.append("eager" if tf.executing_eagerly() else "graph")

        def runTest(self):
            pass

    if decorator == "run_all_tests_in_graph_and_eager_modes":
        Test = getattr(tfe, decorator)(Test)
    else:
        Test.test_it = getattr(tfe, decorator)(**options)(Test.test_it)
    test = Test("test_it")
    test.setUp()
    test.test_it()
    return {"modes": modes}


CASES["run_test_in_graph_and_eager_modes"] = lambda: tested("run_test_in_graph_and_eager_modes")
CASES["run_all_tests_in_graph_and_eager_modes"] = lambda: tested(
    "run_all_tests_in_graph_and_eager_modes"
)
