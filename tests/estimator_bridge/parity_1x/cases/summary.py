"""Cases of tf.contrib.summary, in eager execution and in graphs."""

import functools
import glob
import os
import tempfile

import tensorflow as tf

from cases import eager

CASES = {}
summary = tf.contrib.summary
run = eager.run


def tags(folder):
    """Returns "step tag plugin values" of everything that event files say."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*tfevents*"))):
        for event in tf.train.summary_iterator(path):
            for one in event.summary.value:
                kind = one.WhichOneof("value")
                text = f"{one.simple_value:.4f}" if kind == "simple_value" else kind
                found.append(f"{event.step} {one.tag} {text}")
            if event.WhichOneof("what") == "graph_def":
                found.append(f"{event.step} graph")
    return found


KINDS = {
    "scalar": lambda **options: summary.scalar("mine", tf.constant(2.5), **options),
    "scalar, family": lambda **options: summary.scalar("mine", 2.5, family="kin", **options),
    "histogram": lambda **options: summary.histogram("mine", tf.constant([1.0, 2.0]), **options),
    "image": lambda **options: summary.image("mine", tf.zeros([2, 3, 3, 1]), **options),
    "audio": lambda **options: summary.audio("mine", tf.zeros([2, 20]), 10, 1, **options),
    "generic": lambda **options: summary.generic("mine", tf.constant([1, 2]), **options),
    "generic, metadata": lambda **options: summary.generic(
        *("mine", tf.constant([1, 2]), tf.SummaryMetadata(summary_description="why")), **options
    ),
}


def summarized(make, step=7, eager=True, recording=summary.always_record_summaries):
    folder = tempfile.mkdtemp()
    if eager:
        tf.train.get_or_create_global_step()
        with summary.create_file_writer(folder, flush_millis=1).as_default(), recording():
            make(step=step)
            summary.flush()
        return {"tags": tags(folder)}
    step = tf.train.create_global_step()
    writer = summary.create_file_writer(folder)
    with writer.as_default(), recording():
        make()
        operations = summary.all_summary_ops()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(summary.summary_writer_initializer_op())
        for _ in range(3):
            session.run(operations)
            session.run(tf.assign_add(step, 1))
        session.run(writer.flush())
    return {"tags": tags(folder), "operations": len(operations)}


def every_second():
    return summary.record_summaries_every_n_global_steps(2)


for _name, _make in KINDS.items():
    CASES[f"summary.{_name}"] = functools.partial(run, summarized, True, (_make,), {})
    CASES[f"summary.{_name}, graph"] = functools.partial(summarized, _make, eager=False)
for _name, _recording in {
    "never": summary.never_record_summaries,
    "every second": every_second,
}.items():
    CASES[f"summary, {_name}"] = functools.partial(
        run, summarized, True, (KINDS["scalar"],), {"recording": _recording}
    )
    CASES[f"summary, {_name}, graph"] = functools.partial(
        summarized, KINDS["scalar"], eager=False, recording=_recording
    )
CASES["summary, no writer"] = functools.partial(
    run, lambda: {"found": str(summary.scalar("mine", 2.5, step=1))}, True, (), {}
)
CASES["summary.all_summary_ops, eager"] = functools.partial(
    run, lambda: {"found": str(summary.all_summary_ops())}, True, (), {}
)
CASES["summary.should_record_summaries"] = lambda: {"found": recorded()}


def recorded():
    found = [summary.should_record_summaries()]
    with summary.always_record_summaries():
        found.append(summary.should_record_summaries())
    with summary.never_record_summaries():
        found.append(summary.should_record_summaries())
    return found


@functools.partial(CASES.__setitem__, "summary.graph")
def graph_written():
    folder = tempfile.mkdtemp()
    tf.train.create_global_step()
    writer = summary.create_file_writer(folder)
    with writer.as_default(), summary.always_record_summaries():
        content = tf.get_default_graph().as_graph_def().SerializeToString()
        operation = summary.graph(tf.constant(content), step=3)
        flushed = summary.flush()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(summary.summary_writer_initializer_op())
        session.run(operation)
        session.run(flushed)
    return {"tags": tags(folder)}


@functools.partial(CASES.__setitem__, "summary.import_event")
@eager.eagerly
def imported():
    event = tf.Event(step=9)
    event.summary.value.add(tag="given", simple_value=1.5)
    folder = tempfile.mkdtemp()
    tf.train.get_or_create_global_step()
    with summary.create_file_writer(folder).as_default(), summary.always_record_summaries():
        summary.import_event(event.SerializeToString())
        summary.flush()
    return {"tags": tags(folder)}


@functools.partial(CASES.__setitem__, "summary.initialize")
def initialized():
    folder = tempfile.mkdtemp()
    tf.train.create_global_step()
    with summary.create_file_writer(folder).as_default(), summary.always_record_summaries():
        summary.scalar("mine", 2.5)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            summary.initialize(graph=tf.get_default_graph(), session=session)
            session.run(summary.all_summary_ops())
            session.run(summary.flush())
    return {"tags": sorted(tags(folder))}


CASES["summary.eval_dir"] = lambda: {
    "found": [summary.eval_dir("/job"), summary.eval_dir("/job", "mine")]
}
CASES["summary.create_summary_file_writer"] = lambda: {
    "type": isinstance(
        summary.create_summary_file_writer(tempfile.mkdtemp()), summary.SummaryWriter
    ),
}
CASES["summary.create_file_writer, no folder"] = functools.partial(
    run,
    lambda: {"found": str(summary.create_file_writer(None).set_as_default())},
    *(True, (), {}),
)
