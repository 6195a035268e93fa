"""`run --profile`: the time of a session run goes to what it waited for."""

import threading
import time

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import estimator_bridge
from estimator_bridge.private_tf import config_pb2, saver, session
from estimator_bridge.profiling import recording, report, traces

estimator_bridge.install()


@pytest.fixture
def recorder(monkeypatch):
    # Both are put back at the end.
    monkeypatch.setattr(session.BaseSession, "run", session.BaseSession.run)
    monkeypatch.setattr(saver.Saver, "save", saver.Saver.save)
    monkeypatch.setattr(recording, "_TRACE_EVERY_SECS", 0.02)
    monkeypatch.setattr(recording, "_TRACE_EVERY_COST", 1)
    recorder = recording.Recorder()
    recorder.attach()
    with tf.Graph().as_default():
        yield recorder


def read_shares(lines):
    """Returns the percentages of the parts of a run, by the first word of each."""
    rows = [line.split() for line in lines if " ms" in line and "each" not in line]
    return {row[4]: int(row[2]) for row in rows}


def test_a_slow_input_is_what_a_run_waits_for(recorder):
    def make_rows():
        while True:
            time.sleep(0.005)
            yield np.ones([4, 8], np.float32)

    dataset = tf.data.Dataset.from_generator(make_rows, tf.float32, [4, 8])
    rows = tf.data.make_one_shot_iterator(dataset).get_next()
    weights = tf.get_variable("weights", [8, 2])
    train = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.matmul(rows, weights) ** 2))
    with tf.Session() as opened:
        opened.run(tf.global_variables_initializer())
        for _ in range(50):
            opened.run(train)
    lines = report.format_report(recorder)
    assert "training: 51 session runs" in "\n".join(lines)
    assert read_shares(lines)["waiting"] > 60
    assert any("waiting for input (IteratorGetNext)" in line for line in lines)
    assert lines[-1].startswith("  To try: num_parallel_calls")


def test_operations_are_listed_by_type(recorder):
    one = tf.random.uniform([600, 600])
    product = tf.reduce_sum(one @ one @ one)
    with tf.Session() as opened:
        for _ in range(30):
            opened.run(product)
    lines = report.format_report(recorder)
    assert "evaluation or prediction: 30 session runs" in "\n".join(lines)
    assert read_shares(lines)["operations"] > 60
    listed = lines[next(n for n, line in enumerate(lines) if line.endswith("operations")) + 1]
    assert {"MatMul", "RandomUniform"} & set(listed.split()[:2])


def test_python_between_runs_and_checkpoints_are_apart(recorder, tmp_path):
    rows = tf.placeholder(tf.float32, [4])
    total = tf.get_variable("total", [4], initializer=tf.zeros_initializer())
    add = total.assign_add(rows)
    keeper = tf.train.Saver()
    with tf.Session() as opened:
        opened.run(tf.global_variables_initializer())
        for step in range(40):
            time.sleep(0.005)
            opened.run(add, {rows: np.ones(4)})
            if step % 20 == 0:
                keeper.save(opened, str(tmp_path / "model"), step)
    assert recorder.saved == 2 and recorder.runs[0].count == 41
    lines = report.format_report(recorder)
    assert any(line.endswith("checkpoints saved: 2") for line in lines)
    assert read_shares(lines)["Python"] > 60
    assert lines[-1].endswith("or a thread that makes the next feeds.")


def test_a_small_run_beside_each_step_is_told_apart(recorder):
    one = tf.random.uniform([400, 400])
    product, number = tf.reduce_sum(one @ one), tf.constant(3)
    with tf.Session() as opened:
        for _ in range(40):
            opened.run([product])
            opened.run(number)
    lines = report.format_report(recorder)
    # Ten runs are the warm-up, and traced runs are not counted.
    (counted,) = (line for line in lines if "equal runs" in line)
    assert 10 <= int(counted.split("of each of ")[1].split()[0]) <= 35
    assert read_shares(lines)["operations"] > 60


def test_runs_of_other_threads_are_counted_beside(recorder):
    value = tf.constant(1.0) + 1.0
    with tf.Session() as opened:
        opened.run(value)
        thread = threading.Thread(target=lambda: [opened.run(value) for _ in range(3)])
        thread.start()
        thread.join()
        for _ in range(20):
            opened.run(value)
            time.sleep(0.001)
    lines = report.format_report(recorder)
    assert any("in other threads: 3 session runs" in line for line in lines)
    assert any("21 session runs" in line for line in lines)


def test_a_trace_that_the_program_asks_for_is_the_programs(recorder):
    value = tf.constant(1.0) + tf.random.uniform([])
    with tf.train.MonitoredSession() as opened:
        for _ in range(20):
            opened.run(value)
            time.sleep(0.002)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        opened.run(value, options=options, run_metadata=metadata)
    assert metadata.step_stats.dev_stats
    assert sum(runs.division.runs for runs in recorder.runs[0].fetches.values()) >= 1


def test_an_eager_program_is_told_of_the_other_profiler(recorder):
    assert "TensorFlow Profiler" in "\n".join(report.format_report(recorder))


def test_a_moment_belongs_to_what_computes_then():
    stats = config_pb2.RunMetadata().step_stats
    device = stats.dev_stats.add(device="/job:localhost/device:CPU:0")
    # Names, types, and the milliseconds of their starts and ends.
    for name, kind, start, end in (
        ("next", "IteratorGetNext", 0, 50),
        ("read", "ReadVariableOp", 10, 20),
        ("product", "_MklMatMul", 50, 70),
        ("sum", "Sum", 60, 80),
        ("call", "PartitionedCall", 0, 100),
        ("received", "_Recv", 75, 95),
    ):
        device.node_stats.add(
            node_name=name,
            timeline_label=f"{name} = {kind}(x)",
            all_start_nanos=10**15 + start * 10**6,
            op_end_rel_nanos=(end - start) * 10**6,
        )
    found = traces.divide(stats)
    found.add(traces.divide(stats))
    assert found.runs == 2
    assert found.input_secs == pytest.approx(2 * 0.040)
    assert found.operation_secs == pytest.approx(2 * 0.040)
    assert found.waiting_secs == pytest.approx(2 * 0.015)
    assert found.by_type == pytest.approx({"ReadVariableOp": 0.02, "MatMul": 0.04, "Sum": 0.04})
