"""Cases of tf.contrib.framework."""

import functools
import os
import tempfile

import tensorflow as tf
import values

CASES = {}
framework = tf.contrib.framework
np = values.np


def names(variables):
    return [one.name for one in variables]


def scoped():
    """Creates variables of all kinds in two scopes."""
    with tf.variable_scope("one"):
        framework.model_variable("w", [2, 3], initializer=tf.ones_initializer())
        framework.variable("v", [2], initializer=tf.zeros_initializer(), trainable=False)
        framework.local_variable([1.0, 2.0], name="l")
    with tf.variable_scope("two"):
        tf.get_variable("w", [3], initializer=tf.zeros_initializer())
        framework.get_or_create_global_step()


GETTERS = {
    "get_variables": lambda: framework.get_variables(),
    "get_variables, scope": lambda: framework.get_variables("one"),
    "get_variables, suffix": lambda: framework.get_variables("two", "w"),
    "get_variables, collection": lambda: framework.get_variables(collection="local_variables"),
    "get_model_variables": lambda: framework.get_model_variables(),
    "get_model_variables, scope": lambda: framework.get_model_variables("two"),
    "get_local_variables": lambda: framework.get_local_variables(),
    "get_trainable_variables": lambda: framework.get_trainable_variables(suffix="w"),
    "get_variables_by_name": lambda: framework.get_variables_by_name("w"),
    "get_variables_by_name, scope": lambda: framework.get_variables_by_name("w", "one"),
    "get_variables_by_suffix": lambda: framework.get_variables_by_suffix("w"),
    "get_unique_variable": lambda: [framework.get_unique_variable("one/w")],
    "get_unique_variable, several": lambda: [framework.get_unique_variable("w")],
    "get_variables_to_restore": lambda: framework.get_variables_to_restore(),
    "get_variables_to_restore, include": lambda: framework.get_variables_to_restore(["one"]),
    "get_variables_to_restore, exclude": lambda: framework.get_variables_to_restore(
        exclude=["one/w", "global_step"]
    ),
    "filter_variables": lambda: framework.filter_variables(tf.global_variables(), ["one"]),
    "filter_variables, exclude": lambda: framework.filter_variables(
        tf.global_variables(), exclude_patterns=["w:0"]
    ),
    "filter_variables, match": lambda: framework.filter_variables(
        tf.global_variables(), ["w"], reg_search=False
    ),
    "get_global_step": lambda: [framework.get_global_step()],
    "get_variable_full_name": lambda: [tf.global_variables()[0]],
}


def gotten(getter):
    scoped()
    return {"names": names(GETTERS[getter]())}


for _name in sorted(GETTERS):
    CASES[_name] = functools.partial(gotten, _name)


def variable(name, **options):
    function = getattr(framework, name)
    return function("v", [2, 3], initializer=tf.ones_initializer(), **options)


for _function in ("variable", "model_variable"):
    for _name, _options in {
        "": {},
        ", regularized": {"regularizer": tf.contrib.layers.l2_regularizer(0.1)},
        ", not trained": {"trainable": False},
        ", collections": {"collections": ["mine"]},
        ", resource": {"use_resource": True},
        ", double": {"dtype": tf.float64},
        ", device": {"device": "/cpu:0"},
    }.items():
        CASES[_function + _name] = functools.partial(variable, _function, **_options)
CASES["local_variable"] = lambda: framework.local_variable([1.0, 2.0], name="mine")
CASES["global_variable"] = lambda: framework.global_variable([1.0, 2.0], name="mine")
CASES["local_variable, resource"] = lambda: framework.local_variable(3, True, "x", True)
CASES["create_global_step"] = lambda: framework.create_global_step()
CASES["create_global_step, twice"] = lambda: [framework.create_global_step() for _ in range(2)]
CASES["get_or_create_global_step"] = lambda: [framework.get_or_create_global_step()] * 2
CASES["assert_global_step"] = lambda: framework.assert_global_step(tf.Variable(1, trainable=False))
CASES["assert_global_step, float"] = lambda: framework.assert_global_step(tf.Variable(1.0))
CASES["assert_or_get_global_step"] = lambda: framework.assert_or_get_global_step(tf.Variable(1))
CASES["assert_or_get_global_step, another"] = lambda: [
    framework.create_global_step(),
    framework.assert_or_get_global_step(tf.Variable(1)),
]


def restored(function, pairs, **options):
    """Returns variables after they have been assigned from a checkpoint."""
    folder = tempfile.mkdtemp()
    prefix = os.path.join(folder, "model.ckpt")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("a", initializer=values.array(2, 3))
        tf.get_variable("b", initializer=np.float32([7, 8]))
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, prefix)
    made = {
        name: tf.get_variable(
            "mine_" + name, shape, trainable=False, initializer=tf.zeros_initializer()
        )
        for name, shape in pairs.items()
    }
    if function == "assign_from_checkpoint":
        operation, feeds = framework.assign_from_checkpoint(prefix, made, **options)
        call = functools.partial(tf.Session.run, fetches=operation, feed_dict=feeds)
    else:
        call = framework.assign_from_checkpoint_fn(prefix, made, **options)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        call(session)
        return session.run(made)


for _function in ("assign_from_checkpoint", "assign_from_checkpoint_fn"):
    for _name, _pairs, _options in [
        ("", {"a": [2, 3], "b": [2]}, {}),
        (", missing", {"a": [2, 3], "c": [2]}, {"ignore_missing_vars": True}),
        (", missing and wanted", {"a": [2, 3], "c": [2]}, {}),
        (", other shape", {"a": [3, 2]}, {}),
    ]:
        CASES[_function + _name] = functools.partial(restored, _function, _pairs, **_options)
CASES["assign_from_checkpoint_fn, reshaped"] = functools.partial(
    restored, "assign_from_checkpoint_fn", {"a": [3, 2]}, reshape_variables=True
)


def assigned(names_to_values, with_function):
    scoped()
    if with_function:
        call = framework.assign_from_values_fn(names_to_values)
    else:
        operation, feeds = framework.assign_from_values(names_to_values)
        call = functools.partial(tf.Session.run, fetches=operation, feed_dict=feeds)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        call(session)
        return session.run({one.name: one for one in tf.global_variables()})


for _with in (False, True):
    _name = "assign_from_values_fn" if _with else "assign_from_values"
    CASES[_name] = functools.partial(assigned, {"one/w": values.array(2, 3)}, _with)
    CASES[_name + ", other shape"] = functools.partial(assigned, {"one/w": [1.0, 2.0]}, _with)
    CASES[_name + ", no variable"] = functools.partial(assigned, {"three/w": [1.0, 2.0]}, _with)


@framework.add_arg_scope
def scaled(x, scale=1.0, shift=0.0):
    return x * scale + shift


def in_scopes():
    x = values.real(3)
    with framework.arg_scope([scaled], scale=2.0) as outer:
        first = scaled(x)
        with framework.arg_scope([scaled], shift=1.0):
            second, third = scaled(x), scaled(x, scale=5.0)
    with framework.arg_scope(outer):
        fourth = scaled(x, shift=3.0)
    return {
        "values": [first, second, third, fourth, scaled(x)],
        "has": [framework.has_arg_scope(scaled), framework.has_arg_scope(values.real)],
        "arguments": sorted(framework.arg_scoped_arguments(scaled)),
    }


CASES["arg_scope"] = in_scopes
CASES["arg_scope, function without"] = lambda: framework.arg_scope([values.real], a=1).__enter__()
CASES["arg_scope, no list"] = lambda: framework.arg_scope(scaled, scale=1).__enter__()


def squeezed(first, second):
    return framework.remove_squeezable_dimensions(values.real(*first), values.real(*second, seed=2))


for _shapes in [((3,), (3, 1)), ((3, 1), (3,)), ((3, 2), (3, 2)), ((3,), (3, 2))]:
    CASES[f"remove_squeezable_dimensions, {_shapes}"] = functools.partial(squeezed, *_shapes)
CASES["argsort"] = lambda: framework.argsort(values.real(3, 4))
CASES["argsort, descending"] = lambda: framework.argsort(values.real(3, 4), 0, "DESCENDING")
CASES["sort"] = lambda: framework.sort(values.real(3, 4))
CASES["sort, descending"] = lambda: framework.sort(values.real(3, 4), 0, "DESCENDING")
CASES["sort, wrong"] = lambda: framework.sort(values.real(3, 4), 0, "UP")
CASES["reduce_sum_n"] = lambda: framework.reduce_sum_n([values.real(3, 2), values.real(4)])
CASES["reduce_sum_n, one"] = lambda: framework.reduce_sum_n([values.real(3, 2)], name="total")
CASES["reduce_sum_n, none"] = lambda: framework.reduce_sum_n([])
CASES["smart_cond"] = lambda: [
    framework.smart_cond(one, lambda: values.real(2), lambda: values.real(2, seed=2))
    for one in (True, False, tf.constant(True), tf.reduce_any(values.whole(3) > 0))
]
CASES["smart_cond, number"] = lambda: framework.smart_cond(3, lambda: 1, lambda: 2)
CASES["smart_constant_value"] = lambda: {
    "found": [framework.smart_constant_value(one) for one in (True, 0, tf.constant(False))]
}
CASES["with_shape"] = lambda: framework.with_shape([3, 2], values.real(3, 2))
CASES["with_shape, wrong"] = lambda: framework.with_shape([2, 3], values.real(3, 2))
CASES["with_shape, tensor"] = lambda: framework.with_shape(tf.constant([3, 2]), values.real(3, 2))
CASES["with_same_shape"] = lambda: framework.with_same_shape(values.real(2), values.real(2))
CASES["with_same_shape, wrong"] = lambda: framework.with_same_shape(values.real(3), values.real(2))
CASES["assert_scalar"] = lambda: framework.assert_scalar(tf.constant(1.0))
CASES["assert_scalar, wrong"] = lambda: framework.assert_scalar(values.real(2))
CASES["assert_same_float_dtype"] = lambda: {
    "type": framework.assert_same_float_dtype([values.real(2)]).name
}
CASES["assert_same_float_dtype, none"] = lambda: {"type": framework.assert_same_float_dtype().name}
CASES["assert_same_float_dtype, wrong"] = lambda: framework.assert_same_float_dtype(
    [values.real(2), tf.constant(1.0, tf.float64)]
)
CASES["assert_same_float_dtype, integers"] = lambda: framework.assert_same_float_dtype(
    [values.whole(2)]
)
CASES["is_tensor"] = lambda: {
    "found": [framework.is_tensor(one) for one in (values.real(2), 1, [1], np.ones(2))]
}
CASES["get_name_scope"] = lambda: {"name": scope_name()}
CASES["get_graph_from_inputs"] = lambda: {
    "same": framework.get_graph_from_inputs([values.real(2)]) is tf.get_default_graph()
}


def scope_name():
    with tf.name_scope("a"), tf.name_scope("b"):
        return framework.get_name_scope()


def case_of(name, *arguments):
    def adder(function):
        CASES[name] = functools.partial(function, *arguments)
        return function

    return adder


def listed(function):
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("a", initializer=values.array(2, 3))
        tf.get_variable("b/c", initializer=np.int32([7, 8]))
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, os.path.join(folder, "model.ckpt"))
    return function(folder)


CASES["list_variables"] = lambda: {"found": str(listed(framework.list_variables))}
CASES["list_variables, no checkpoint"] = lambda: framework.list_variables(tempfile.mkdtemp())
CASES["load_variable"] = lambda: listed(lambda folder: framework.load_variable(folder, "b/c"))
CASES["load_variable, no variable"] = lambda: listed(
    lambda folder: framework.load_variable(folder, "d")
)
CASES["load_checkpoint"] = lambda: {
    "shapes": str(sorted(listed(framework.load_checkpoint).get_variable_to_shape_map().items()))
}


@case_of("init_from_checkpoint", {"a": "mine/a"})
@case_of("init_from_checkpoint, scope", {"/": "mine/"})
@case_of("init_from_checkpoint, missing", {"d": "mine/a"})
def initialized(pairs):
    with tf.variable_scope("mine"):
        made = tf.get_variable("a", [2, 3], initializer=tf.zeros_initializer())
    listed(lambda folder: framework.init_from_checkpoint(folder, pairs))
    return made


@framework.deprecated("2020-01-01", "Use another.")
def old(x):
    """Adds one."""
    return x + 1


@framework.deprecated_args("2020-01-01", "Use y.", "x", ("z", None))
def with_old_arguments(x=None, y=None, z=None):
    return [x, y, z]


@framework.deprecated_arg_values("2020-01-01", "Not False.", flag=False)
def with_old_values(flag=True):
    return flag


CASES["deprecated"] = lambda: {"value": old(1), "name": old.__name__, "text": old.__doc__}
CASES["deprecated, no date"] = lambda: framework.deprecated("1.1.2020", "Use another.")(old)
CASES["deprecated, no instructions"] = lambda: framework.deprecated("2020-01-01", "")(old)
CASES["deprecated_args"] = lambda: {
    "values": str([with_old_arguments(1, 2, 3), with_old_arguments(y=1)]),
    "text": with_old_arguments.__doc__,
}
CASES["deprecated_args, unknown"] = lambda: framework.deprecated_args("2020-01-01", "No.", "q")(old)
CASES["deprecated_args, none"] = lambda: framework.deprecated_args("2020-01-01", "No.")(old)
CASES["deprecated_arg_values"] = lambda: {
    "values": str([with_old_values(False), with_old_values()]),
    "text": with_old_values.__doc__,
}
CASES["deprecated_arg_values, none"] = lambda: framework.deprecated_arg_values("2020-01-01", "No.")(
    old
)
