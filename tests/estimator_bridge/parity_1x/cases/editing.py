"""Cases of tf.contrib.graph_editor."""

import functools

import tensorflow as tf
import values
from tensorflow.contrib import graph_editor as ge

CASES = {}


def build():
    """Returns the tensors of a small graph by name."""
    a = tf.identity(values.real(2), name="a")
    b = tf.identity(values.real(2, seed=2), name="b")
    with tf.name_scope("s"):
        c = tf.add(a, b, name="c")
        with tf.control_dependencies([tf.no_op("ctl")]):
            d = tf.multiply(c, b, name="d")
        e = tf.nn.relu(d, name="e")
    f = tf.add(e, c, name="f")
    g = tf.reduce_sum(f, name="g")
    return dict(zip("abcdefg", (a, b, c, d, e, f, g)))


def names(items):
    """Returns the names of operations and tensors as text."""
    if isinstance(items, tuple):
        return str([names(one) for one in items])
    return str([item.name for item in items])


def shown(make):
    """Returns what a function returns as text, or the type of its error."""
    try:
        found = make()
    except Exception as error:
        return type(error).__name__
    several = hasattr(found, "__iter__") and not isinstance(found, (str, tf.Tensor))
    return names(found) if several else str(getattr(found, "name", found))


def wired(*ops):
    """Returns operation -> what it reads and waits for."""
    graph = tf.get_default_graph()
    found = {}
    for name in ops:
        op = graph.get_operation_by_name(name)
        found[name] = names(list(op.inputs)) + names(list(op.control_inputs))
    return found


def listed(function):
    """Adds a case: a function from tensors to {name: function without arguments}."""

    def case():
        made = function(**build())
        return {name: shown(make) for name, make in made.items()}

    CASES[function.__name__] = case
    return function


def in_order(make):
    """Returns a function that sorts what another one returns; 1.15 has no order there."""
    return lambda: sorted(make(), key=lambda one: one.name)


@listed
def walks(a, b, c, d, e, f, g):
    graph = a.graph
    outputs = ge.ControlOutputs(graph)
    back, forth = ge.get_backward_walk_ops, ge.get_forward_walk_ops
    return {
        **{
            f"back {place}": in_order(functools.partial(back, [f], **options))
            for place, options in enumerate(
                [
                    *({}, {"control_inputs": True}, {"inclusive": False}, {"stop_at_ts": [c]}),
                    *({"within_ops": [f.op, e.op, d.op]}, {"within_ops_fn": lambda o: o != d.op}),
                ]
            )
        },
        **{
            f"forth {place}": in_order(functools.partial(forth, [a], **options))
            for place, options in enumerate(
                [
                    *({}, {"inclusive": False}, {"stop_at_ts": [d]}),
                    *({"control_outputs": outputs}, {"within_ops": [c.op, d.op]}),
                ]
            )
        },
        "back from operation": in_order(lambda: back(f.op, inclusive=False)),
        "forth from operation": in_order(lambda: forth(a.op, inclusive=False)),
        "forth by control": in_order(
            lambda: forth(graph.get_operation_by_name("s/ctl"), control_outputs=outputs)
        ),
        "back from text": lambda: back("x"),
        "back from nothing": lambda: back([]),
        "intersection": in_order(lambda: ge.get_walks_intersection_ops([c], [e])),
        "intersection without": in_order(
            lambda: ge.get_walks_intersection_ops(
                [a], [f], forward_inclusive=False, backward_inclusive=False
            )
        ),
        "union": in_order(lambda: ge.get_walks_union_ops([d], [d], control_ios=outputs)),
        "boundary": in_order(lambda: ge.get_within_boundary_ops(graph, [d.op], [c.op, f.op])),
        "boundary without": in_order(
            lambda: ge.get_within_boundary_ops(graph, [d.op], [c.op, f.op], inclusive=False)
        ),
        "boundary at seeds": lambda: ge.get_within_boundary_ops(graph, [d.op], [d.op]),
        "both": lambda: ge.check_cios(control_outputs=outputs, control_ios=outputs),
        "wrong": lambda: ge.check_cios(control_outputs=3),
    }


@listed
def lists(a, b, c, d, e, f, g):
    graph = a.graph
    outputs = ge.ControlOutputs(graph)
    wait = graph.get_operation_by_name("s/ctl")
    return {
        "neighbours": in_order(lambda: ge.get_ops_ios([d.op])),
        "neighbours by control": in_order(lambda: ge.get_ops_ios([d.op], control_inputs=True)),
        "neighbours of control": in_order(lambda: ge.get_ops_ios(wait, control_outputs=outputs)),
        "consumers": lambda: ge.get_consuming_ops([c, e]),
        "consumer": lambda: ge.get_consuming_ops(b),
        "generators": lambda: ge.get_generating_ops([c, e]),
        "tensors": lambda: ge.get_tensors(graph),
        "no graph": lambda: ge.get_tensors(3),
        "operations of graph": lambda: ge.make_list_of_op(graph),
        "tensors of graph": lambda: ge.make_list_of_t(graph),
        "tensor as operation": lambda: ge.make_list_of_op(c),
        "operation as tensor": lambda: ge.make_list_of_t(c.op),
        "without tensors": lambda: ge.make_list_of_op([c, c.op], ignore_ts=True),
        "without operations": lambda: ge.make_list_of_t([c, c.op], ignore_ops=True),
        "twice": lambda: ge.make_list_of_op([c.op, c.op]),
        "nested": lambda: ge.make_list_of_op([[c.op]]),
        "forbidden": lambda: ge.make_list_of_op(graph, allow_graph=False),
        "boundary": lambda: ge.compute_boundary_ts([c.op, d.op]),
        "boundary of more": lambda: ge.compute_boundary_ts([c.op, d.op, e.op, f.op, g.op]),
        "waiting": lambda: outputs.get(wait),
        "not waiting": lambda: outputs.get(a.op),
        "all waiting": lambda: list(outputs.get_all()),
    }


@listed
def selections(a, b, c, d, e, f, g):
    graph = a.graph
    return {
        "filter_ts": lambda: ge.filter_ts(graph, lambda one: one.dtype == tf.float32),
        "filter_ts, all": lambda: ge.filter_ts(d.op, True),
        "filter_ts_from_regex": lambda: ge.filter_ts_from_regex(graph, "^s/"),
        "filter_ops_from_regex": lambda: ge.filter_ops_from_regex(graph, "^s/"),
        "filter_ops": lambda: ge.filter_ops(graph, lambda one: one.type == "Mul"),
        **{
            f"scope {scope}": lambda scope=scope: ge.get_name_scope_ops(graph, scope)
            for scope in ("s", "s/", "", "a")
        },
        "ops": lambda: ge.select_ops("^s/", graph=graph),
        "ops, tensors": lambda: ge.select_ops(c, d.op),
        "ops, no graph": lambda: ge.select_ops("^s/"),
        "ops, filter": lambda: ge.select_ops([c.op], d.op, positive_filter=lambda o: o == d.op),
        "ops, number": lambda: ge.select_ops(3),
        "ops, unknown": lambda: ge.select_ops(c.op, foo=1),
        "ops, restricted": lambda: ge.select_ops("^s/", graph=graph, restrict_ops_regex=True),
        "ts": lambda: ge.select_ts("^s/", graph=graph),
        "ts, restricted": lambda: ge.select_ts("(?#ts)^s/", graph=graph, restrict_ts_regex=True),
        "both": lambda: ge.select_ops_and_ts("^s/", "(?#ts)^f", graph=graph),
        "regex": lambda: [ge.can_be_regex("a"), ge.can_be_regex(3)].count(True),
        "no regex": lambda: ge.make_regex(3),
    }


@listed
def views(a, b, c, d, e, f, g):
    graph = a.graph
    found = {}
    for place, (arguments, options) in enumerate(
        [
            *(([c.op, d.op], {}), (["^s/"], {"graph": graph}), ([c], {}), ([c.op, c], {})),
            *(([d.op, e.op, f.op], {}), ([[c.op], a], {}), ([d.op, a], {}), ([], {})),
        ]
    ):
        view = ge.sgv(*arguments, **options)
        for part in (
            *("inputs", "outputs", "ops", "passthroughs", "connected_inputs", "connected_outputs"),
        ):
            found[f"{place} {part}"] = lambda view=view, part=part: list(getattr(view, part))
        found[f"{place} graph"] = lambda view=view: view.graph is graph
        found[f"{place} bool"] = lambda view=view: bool(view)
    view = ge.sgv(c.op, d.op)
    scope = ge.sgv_scope("s", graph)
    return {
        **found,
        "scope": lambda: list(scope.ops),
        "scope, inputs": lambda: list(scope.inputs),
        "scope, outputs": lambda: list(scope.outputs),
        "consumers": in_order(lambda: view.consumers()),
        "input_index": lambda: view.input_index(b),
        "output_index": lambda: view.output_index(d),
        "op": lambda: view.op(0),
        "find": lambda: view.find_op_by_name("s/d"),
        "find nothing": lambda: view.find_op_by_name("d"),
        "text": lambda: str(view).split("\n", 1)[1],
        "remap_inputs": lambda: list(view.remap_inputs([1]).inputs),
        "remap_outputs": lambda: list(view.remap_outputs([0]).outputs),
        "remap_outputs by tensor": lambda: list(view.remap_outputs([d]).outputs),
        "remap": lambda: list(view.remap([1, 0], [1]).inputs),
        "unchanged": lambda: list(view.inputs) + list(view.outputs),
        "consumed": lambda: list(view.remap_outputs_to_consumers().outputs),
        "unique": lambda: list(view.remap_outputs([0, 0]).remap_outputs_make_unique().outputs),
        "default": lambda: list(view.remap([1], [0]).remap_default().outputs),
        "default inputs": lambda: list(view.remap([1], [0]).remap_default(True, False).inputs),
        "used": lambda: list(view.remap_outputs([0]).remove_unused_ops().ops),
        "used of none": lambda: list(ge.sgv(d.op, a.op).remap([], [1]).remove_unused_ops().ops),
        "used, inputs": lambda: list(view.remap_outputs([0]).remove_unused_ops().inputs),
        "copy": lambda: list(ge.make_view(view).ops),
        "whole": lambda: list(ge.sgv(graph).ops),
    }


# Copies.
def replaced(targets, others, before=0, **options):
    made = build()
    other = tf.identity(values.real(2, seed=3), name="z")
    wanted = {made[name]: other for name in others}
    ts = made[targets] if len(targets) == 1 else [made[name] for name in targets]
    for _ in range(before):
        ge.graph_replace(ts, wanted, **options)
    found = ge.graph_replace(ts, wanted, **options)
    ops = tf.get_default_graph().get_operations()
    return {"found": found, "text": shown(lambda: ops) + shown(lambda: found)}


for _name, (_targets, _others, _options) in {
    "": ("g", "a", {}),
    ", two targets": ("ge", "c", {}),
    ", two tensors": ("g", "ab", {}),
    ", one behind the other": ("g", "ac", {}),
    ", a target before": ("gc", "d", {}),
    ", scope": ("g", "c", {"dst_scope": "mine"}),
    ", scope twice": ("g", "c", {"dst_scope": "mine", "before": 1}),
    ", scope again": ("g", "c", {"dst_scope": "mine", "before": 1, "reuse_dst_scope": True}),
    ", source scope": ("e", "c", {"dst_scope": "mine", "src_scope": "s"}),
    ", not connected": ("a", "c", {}),
    ", nothing": ("g", "", {}),
}.items():
    CASES["graph_replace" + _name] = functools.partial(replaced, _targets, _others, **_options)


def described(view, info, tensor):
    graph = view.graph
    return {
        "inputs": names(list(view.inputs)),
        "outputs": names(list(view.outputs)),
        "ops": names(list(view.ops)),
        "wired": str(
            {op.name: names(list(op.inputs)) + names(list(op.control_inputs)) for op in view.ops}
        ),
        "transformed": shown(lambda: info.transformed(tensor)),
        "operation": shown(lambda: info.transformed(tensor.op)),
        "original": shown(lambda: info.original(info.transformed(tensor))),
        "missing": str(info.transformed(tf.constant(1.0))),
        "copied": str(sorted(op.name for op in info._transformed_ops.values())),
        "graph": names(graph.get_operations()),
    }


def copied(kind, parts, **options):
    made = build()
    tf.add_to_collection("mine", made["d"])
    tf.add_to_collection(tf.GraphKeys.LOSSES, made["e"])
    arguments = [ge.sgv(*[made[name].op for name in parts])]
    if kind != "copy":
        arguments.append({made[name]: made["b"] for name in options.pop("replaced", "")})
    if options.pop("elsewhere", False):
        options["dst_graph"] = tf.Graph()
    view, info = getattr(ge, kind)(*arguments, **options)
    return described(view, info, made[parts[0]])


for _name, (_kind, _parts, _options) in {
    "copy": ("copy", "cde", {}),
    "copy, scope": ("copy", "cd", {"dst_scope": "mine"}),
    "copy, scopes": ("copy", "cd", {"dst_scope": "mine", "src_scope": "s"}),
    "copy, elsewhere": ("copy", "cd", {"elsewhere": True}),
    "copy_with_input_replacements": ("copy_with_input_replacements", "cd", {"replaced": "a"}),
    "copy_with_input_replacements, none": ("copy_with_input_replacements", "dc", {}),
    "copy_with_input_replacements, scope": (
        *("copy_with_input_replacements", "de"),
        {"replaced": "c", "dst_scope": "x", "src_scope": "s"},
    ),
    "copy_with_input_replacements, elsewhere": (
        *("copy_with_input_replacements", "de"),
        {"elsewhere": True},
    ),
}.items():
    CASES[_name] = functools.partial(copied, _kind, _parts, **_options)


# Other connections.
def rerouted(kind, firsts, seconds, **options):
    made = build()
    options = {key: [made[name].op for name in value] for key, value in options.items()}
    firsts, seconds = ([made[name] for name in one] for one in (firsts, seconds))
    number = getattr(ge, kind)(firsts, seconds, **options)
    return {"g": made["g"], "number": number, "wired": wired("s/c", "s/d", "s/e", "f")}


for _name, (_firsts, _seconds, _options) in {
    "": ("a", "c", {}),
    ", can": ("a", "c", {"can_modify": "f"}),
    ", cannot": ("a", "c", {"cannot_modify": "f"}),
    ", two": ("ab", "cd", {}),
    ", the same": ("a", "a", {}),
    ", sizes": ("a", "bc", {}),
    ", types": ("a", "g", {}),
}.items():
    for _kind in ("reroute_ts", "swap_ts"):
        if _kind == "swap_ts" and _name in ("", ", two"):
            _firsts, _seconds = "d"[: len(_firsts)], "b"[: len(_seconds)]
        CASES[_kind + _name] = functools.partial(rerouted, _kind, _firsts, _seconds, **_options)


def controlled():
    made = build()
    op, other = made["g"].op, made["a"].op
    found = {}
    ge.add_control_inputs(op, [other])
    found["added"] = wired("g")
    found["again"] = shown(lambda: ge.add_control_inputs(op, other))
    ge.remove_control_inputs(op, other)
    found["removed"] = wired("g")
    found["not there"] = shown(lambda: ge.remove_control_inputs(op, other))
    found["a tensor"] = shown(lambda: ge.add_control_inputs(made["g"], other))
    return found


CASES["control_inputs"] = controlled


@listed
def placeholders(a, b, c, d, e, f, g):
    return {
        "plain": lambda: ge.ph(tf.float32),
        "scope": lambda: ge.ph(tf.float32, [2], scope="x"),
        "name": lambda: ge.placeholder_name(),
        "name, scope": lambda: ge.placeholder_name(prefix="q", scope="in"),
        "name, tensor": lambda: ge.placeholder_name(c),
        "name, tensor, scope": lambda: ge.placeholder_name(c, "in"),
        "name, text": lambda: ge.placeholder_name("x"),
        "tensor": lambda: ge.make_placeholder_from_tensor(c),
        "tensor, root": lambda: ge.make_placeholder_from_tensor(c, scope=""),
        "tensor, scope": lambda: ge.make_placeholder_from_tensor(c, scope="z"),
        "type": lambda: ge.make_placeholder_from_dtype_and_shape(tf.int32, [1]),
    }
