"""Resumed programs: damaged checkpoints, and state files that name checkpoints elsewhere."""

import logging
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from estimator_bridge import BridgeError, tf
from estimator_bridge.model_files import checkpoints, durable

PROGRAM = """
    import sys
    import tensorflow as tf

    def model_fn(features, labels, mode):
        weight = tf.compat.v1.get_variable("weight", initializer=[1.0, float("nan")])
        step = tf.compat.v1.train.get_or_create_global_step()
        return tf.estimator.EstimatorSpec(
            mode, loss=weight[0], train_op=tf.compat.v1.assign_add(step, 1)
        )

    def input_fn():
        return tf.data.Dataset.from_tensors([1.0]).repeat()

    config = tf.estimator.RunConfig(save_checkpoints_steps=2, keep_checkpoint_max=2)
    model = tf.estimator.Estimator(model_fn, sys.argv[1], config)
    model.train(input_fn, max_steps=int(sys.argv[2]))
"""


def train(folder, steps, **options):
    """Trains a model of one step counter to a step; saves at each step."""
    with tf.Graph().as_default():
        step = tf.compat.v1.train.get_or_create_global_step()
        after = tf.compat.v1.assign_add(step, 1)
        saver = tf.compat.v1.train.Saver(max_to_keep=2)
        scaffold = tf.compat.v1.train.Scaffold(saver=saver)
        with tf.compat.v1.train.MonitoredTrainingSession(
            checkpoint_dir=str(folder), scaffold=scaffold, save_checkpoint_steps=1, **options
        ) as session:
            while session.run(step) < steps:
                session.run(after)


def list_steps(folder):
    return sorted(int(path.stem.rpartition("-")[2]) for path in folder.glob("model.ckpt-*.index"))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.glob("model.ckpt-*")}


@pytest.mark.parametrize("is_sharded", [False, True])
@pytest.mark.parametrize("num_replaced", [0, 1, 2, 3])
def test_a_checkpoint_that_is_saved_again_is_never_torn(
    tmp_path, monkeypatch, is_sharded, num_replaced
):
    replace, prefix = os.replace, str(tmp_path / "model.ckpt-0")
    replaced = []

    def replace_some(source, target):
        if len(replaced) == num_replaced:
            raise OSError("killed")
        assert checkpoints.find_corruption(prefix) is None
        replace(source, target)
        replaced.append(target)

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        weight = tf.compat.v1.get_variable("weight", initializer=[1.0, 2.0])
        session.run(weight.initializer)
        saver = tf.compat.v1.train.Saver(sharded=is_sharded)
        assert saver.save(session, prefix) == prefix
        before = os.stat(f"{prefix}.index").st_ino
        monkeypatch.setattr(os, "replace", replace_some)
        if num_replaced < 3:
            with pytest.raises(OSError, match="killed"):
                saver.save(session, prefix)
        else:
            assert saver.save(session, prefix) == prefix
            assert os.stat(f"{prefix}.index").st_ino != before
    names = ("model.ckpt-0.data-00000-of-00001", "model.ckpt-0.index", "checkpoint")
    assert replaced == [str(tmp_path / name) for name in names[:num_replaced]]
    assert checkpoints.find_corruption(prefix) is None
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("counts", [(1, 2), (2, 1)])
def test_a_checkpoint_that_is_saved_again_in_another_number_of_files(tmp_path, counts):
    # model_to_estimator saves by objects, in two files; a Saver goes on in one.
    prefix = str(tmp_path / "model.ckpt-0")
    weight, other = tf.constant([1.0, 2.0]), tf.constant([3.0])
    for count in counts:
        shard = str(tmp_path / "shard")
        parts = [(f"{shard}-{number}", value) for number, value in enumerate((weight, other))]
        if count == 1:
            tf.raw_ops.SaveV2(
                prefix=prefix, tensor_names=["a", "b"], shape_and_slices=["", ""],
                tensors=[weight, other],
            )  # fmt: skip
            continue
        for path, value in parts:
            tf.raw_ops.SaveV2(
                prefix=path, tensor_names=[path[-1]], shape_and_slices=[""], tensors=[value]
            )
        tf.raw_ops.MergeV2Checkpoints(
            checkpoint_prefixes=[path for path, _ in parts], destination_prefix=prefix
        )
    assert len(list(tmp_path.glob("model.ckpt-0.data-*"))) == 3
    assert len(checkpoints.list_data_files(Path(prefix))) == counts[-1]
    assert checkpoints.find_corruption(prefix) is None
    checkpoints.list_data_files(Path(prefix))[-1].unlink()
    assert checkpoints.find_corruption(prefix) == "files are missing"


def test_a_model_without_variables_is_exported(tmp_path):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None])
        v1.saved_model.simple_save(session, str(tmp_path / "export"), {"x": x}, {"y": x + 1.0})
    served = tf.saved_model.load(str(tmp_path / "export")).signatures["serving_default"]
    assert served(tf.constant([1.0]))["y"].numpy() == [2.0]


def test_a_checkpoint_is_on_the_disk_before_the_state_file_names_it(tmp_path, monkeypatch):
    synced, fsync = {}, os.fsync

    def note(descriptor):
        fsync(descriptor)
        status = os.fstat(descriptor)
        state = checkpoints.read_state(str(tmp_path))
        named = list(state.all_model_checkpoint_paths) if state else []
        synced[status.st_ino] = (status.st_size, status.st_mtime_ns, [Path(p).name for p in named])

    monkeypatch.setattr("estimator_bridge.model_files.durable.os.fsync", note)
    train(tmp_path, 3)
    assert list_steps(tmp_path) == [2, 3]
    for step in (2, 3):
        for ending in ("index", "data-00000-of-00001"):
            status = (tmp_path / f"model.ckpt-{step}.{ending}").stat()
            size, changed, named = synced[status.st_ino]
            assert (size, changed) == (status.st_size, status.st_mtime_ns)
            assert f"model.ckpt-{step}" not in named
            # Before an older one is deleted, too.
            assert f"model.ckpt-{step - 1}" in named


def test_a_guard_is_asked_when_the_state_file_is_written_and_not_yet_named(tmp_path):
    """A process that is suspended before that, and has been replaced, must not name anything."""
    train(tmp_path, 3)
    state = (tmp_path / "checkpoint").read_bytes()

    def check():
        if any("4" in path.read_text() for path in tmp_path.glob("checkpoint.tmp*")):
            raise BridgeError("replaced")

    with durable.guarded(str(tmp_path), check), pytest.raises(BridgeError, match="replaced"):
        train(tmp_path, 4)
    assert (tmp_path / "checkpoint").read_bytes() == state
    assert not list(tmp_path.glob("checkpoint.tmp*"))


@pytest.fixture
def warnings(caplog):
    logger = logging.getLogger("tensorflow")
    # Other tests of the same process may have silenced it.
    caplog.set_level(logging.WARNING, logger="tensorflow")
    logger.addHandler(caplog.handler)
    yield lambda: [record.getMessage() for record in caplog.records if record.levelno >= 30]
    logger.removeHandler(caplog.handler)


@pytest.fixture
def job(tmp_path):
    """A folder with the checkpoints of steps 2 and 3, which no code here has resumed."""
    train(tmp_path / "written", 3)
    shutil.copytree(tmp_path / "written", tmp_path / "job")
    return tmp_path / "job"


@pytest.mark.parametrize(
    "path", ["{other}/model.ckpt-{step}", "../other/model.ckpt-{step}", "../oth*/model.ckpt-{step}"]
)
def test_checkpoints_of_another_folder_are_not_deleted(job, tmp_path, warnings, path):
    other = tmp_path / "other"
    shutil.copytree(job, other)
    names = [path.format(other=other, step=step) for step in (2, 3)]
    latest = "model.ckpt-3" if "*" in path else names[1]
    state = [f'model_checkpoint_path: "{latest}"']
    state += [f'all_model_checkpoint_paths: "{name}"' for name in names]
    (job / "checkpoint").write_text("\n".join(state))
    before = contents(other)
    train(job, 6)
    assert contents(other) == before
    assert list_steps(job)[-1] == 6
    assert any("they are left alone" in line for line in warnings())
    assert checkpoints.latest_checkpoint(str(job)) == str(job / "model.ckpt-6")


def test_a_pattern_deletes_no_checkpoints(job):
    (job / "checkpoint").write_text(
        'model_checkpoint_path: "model.ckpt-3"\n'
        'all_model_checkpoint_paths: "model.ckpt-*"\n'
        'all_model_checkpoint_paths: "model.ckpt-3"\n'
    )
    train(job, 4)
    assert list_steps(job) == [2, 3, 4]


@pytest.mark.parametrize("damage", ["data", "index", "state"])
def test_a_program_resumes_from_the_newest_intact_checkpoint(job, warnings, damage):
    if damage == "data":
        path = job / "model.ckpt-3.data-00000-of-00001"
        path.write_bytes(path.read_bytes()[:-1])
    elif damage == "index":
        (job / "model.ckpt-3.index").write_bytes(b"")
    else:
        (job / "checkpoint").write_text("model_check")
    unfinished = job / ".saving-0.tmp.index"
    unfinished.write_bytes(b"cut")
    train(job, 4)
    assert not unfinished.exists()
    assert list_steps(job)[-1] == 4
    expected = "resuming from model.ckpt-3" if damage == "state" else "resuming from model.ckpt-2"
    assert [line for line in warnings() if expected in line]
    assert bool(list(job.glob("torn-model.ckpt-3.*"))) == (damage != "state")


def test_a_linear_model_of_several_parts_resumes(tmp_path):
    """Each part of a slot is stored under its own name, with the shape of the whole variable."""
    v1, column = tf.compat.v1, tf.feature_column.categorical_column_with_identity("id", 30)
    model = v1.estimator.LinearClassifier(
        [column], model_dir=str(tmp_path), partitioner=v1.fixed_size_partitioner(3)
    )

    def input_fn():
        return tf.data.Dataset.from_tensors(({"id": [[1], [20]]}, [[0], [1]])).repeat()

    model.train(input_fn, steps=1)
    prefix = checkpoints.latest_checkpoint(str(tmp_path))
    reader = tf.train.load_checkpoint(prefix)
    assert reader.has_tensor("linear/linear_model/id/weights/part_2/Ftrl")
    assert checkpoints.find_corruption(prefix) is None
    model.train(input_fn, steps=1)
    assert model.get_variable_value("global_step") == 2
    (shard,) = tmp_path.glob("model.ckpt-2.data-*")
    shard.write_bytes(shard.read_bytes()[:-1])
    fault = checkpoints.find_corruption(checkpoints.latest_checkpoint(str(tmp_path)))
    assert fault is not None and "bytes instead of at least" in fault


def test_a_program_without_an_intact_checkpoint_ends_with_one_line(job):
    for path in job.glob("model.ckpt-*.index"):
        path.write_bytes(b"")
    before = contents(job)
    with pytest.raises(BridgeError, match=r"none of its 2 checkpoint.s. can be read") as error:
        train(job, 4)
    assert "\n" not in str(error.value) and contents(job) == before


def test_a_folder_is_checked_once_in_a_process(job, monkeypatch):
    train(job, 4)
    monkeypatch.setattr(checkpoints, "put_corrupt_aside", None)
    train(job, 5)
    assert list_steps(job)[-1] == 5


def test_an_unchanged_program(tmp_path):
    """Also: a NaN that the program itself has saved is no damage."""
    program, job = tmp_path / "program.py", tmp_path / "job"
    program.write_text(textwrap.dedent(PROGRAM))

    def run(steps):
        command = [sys.executable, "-m", "estimator_bridge", "run", program, job, str(steps)]
        return subprocess.run(command, capture_output=True, text=True, cwd=Path.cwd())

    assert run(4).returncode == 0
    path = job / "model.ckpt-4.data-00000-of-00001"
    path.write_bytes(path.read_bytes()[:-1])
    resumed = run(6)
    assert resumed.returncode == 0, resumed.stderr
    assert "checkpoint model.ckpt-4 is corrupt" in resumed.stderr
    assert "resuming from model.ckpt-2" in resumed.stderr
    assert list_steps(job)[-1] == 6
