"""Exit statuses of commands that cannot reach a bucket: 75, so that they are started again."""

import pytest

from trainer import task
from trainer.config.commands import run
from trainer.prediction import command as predict
from trainer.schema import __main__ as schema_command

pytestmark = pytest.mark.newest
PATIENCE = "--storage.patience_secs=0.1"


def _check_ending(status, errors):
    """A bucket without answers ends a command with 75 and one line, and a missing one with 2."""
    *_, line = errors.splitlines()
    assert line.startswith("error: ") and "Traceback" not in errors
    expected = 75 if "no answer from Cloud Storage" in line else 2
    assert status == expected and (expected == 75 or "there is no bucket" in line), errors
    return status


@pytest.mark.parametrize("is_away", [True, False])
def test_a_job_ends_with_a_temporary_status_if_the_bucket_is_away(cloud, make, capsys, is_away):
    if is_away:
        cloud.fail("status", times=10000)
    bucket = "a-bucket" if is_away else "no-such-bucket"
    status = task.main([f"--job_dir=gs://{bucket}/jobs/x", "--hparams=census", PATIENCE])
    assert _check_ending(status, capsys.readouterr().err) == (75 if is_away else 2)


@pytest.mark.parametrize("is_away", [True, False])
def test_commands_end_with_a_temporary_status_if_the_bucket_is_away(
    cloud, make, tmp_path, capsys, is_away
):
    make.yaml(tmp_path / "schema.yaml", make.schema_values())
    schema = f"--schema={tmp_path}/schema.yaml"
    if is_away:
        cloud.fail("status", times=10000)
    place = "gs://a-bucket/x" if is_away else "gs://no-such-bucket/x"
    commands = [
        (schema_command.main, ["check", schema, f"--data={place}/a.csv"]),
        (schema_command.main, ["infer", f"--data={place}/a.csv", "--label=y", "--output=x.yaml"]),
        (predict.main, [f"--job_dir={place}", f"--data={tmp_path}/x.csv", "--output=y"]),
    ]
    for main, arguments in commands:
        status = run(main, [*arguments, PATIENCE])
        assert _check_ending(status, capsys.readouterr().err) == (75 if is_away else 2)


def test_data_that_cannot_be_fetched_are_not_called_damaged(cloud, make, tmp_path, capsys):
    make.yaml(tmp_path / "schema.yaml", make.schema_values())
    path = make.csv(tmp_path / "a.csv", make.rows(20))
    with open(path, "rb") as stream:
        cloud.write("data/a.csv", stream.read())
    cloud.fail("status", path="alt=media", times=10000, skip=1)
    arguments = [f"--schema={tmp_path}/schema.yaml", "--data=gs://a-bucket/data/a.csv", PATIENCE]
    status = run(schema_command.main, ["check", *arguments])
    assert _check_ending(status, capsys.readouterr().err) == 75
