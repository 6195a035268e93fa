"""trainer.training.profiling: the requested steps are in TensorBoard's folder."""

import io

import pytest

from trainer.config import load_config
from trainer.console import Console
from trainer.errors import UserError


def _config(make, shop, folder, steps, **run):
    return make.config(
        folder,
        shop / "train.csv",
        shop / "eval.csv",
        model={"type": "linear"},
        train={"max_steps": 8, "batch_size": 20},
        run={"profile_steps": steps, "save_checkpoints_steps": 100, **run},
        export={"exporters": []},
    )


def test_a_profile_of_some_steps(make, shop, tmp_path):
    stream = io.StringIO()
    make.run(_config(make, shop, tmp_path, "4:6"), make.schema(), Console(stream))
    (profile,) = (tmp_path / "plugins" / "profile").rglob("*.xplane.pb")
    content = profile.read_bytes()
    # What the steps did, by name.
    assert any(name in content for name in (b"SessionRun", b"Session::Run"))
    assert f"profile: steps 4 to 6 are in {tmp_path}/plugins/profile" in stream.getvalue()


@pytest.mark.parametrize("text", ["6:4", "0:3", "5", "a:b", "1:2:3", "-1:2", ":"])
def test_an_invalid_range_is_refused(text):
    with pytest.raises(UserError, match=r"run.profile_steps.*write FIRST:LAST"):
        load_config(None, {"run.profile_steps": text})


def test_yaml_reads_a_range_as_a_time_of_day(make, tmp_path):
    path = tmp_path / "options.yaml"
    path.write_text("run:\n  profile_steps: 10:20\n")
    with pytest.raises(UserError, match="10:20 is the number 620 in YAML; put text in quotes"):
        load_config(str(path), {})
    path.write_text("run:\n  profile_steps: 620\n")
    with pytest.raises(UserError, match="write FIRST:LAST, in quotes in YAML"):
        load_config(str(path), {})
    path.write_text("run:\n  profile_steps: '10:20'\n")
    assert load_config(str(path), {}).run.profile_steps == "10:20"
    assert load_config(str(path), {"run.profile_steps": "none"}).run.profile_steps is None


def test_steps_after_the_end_of_the_job_are_refused(make, shop, tmp_path):
    with pytest.raises(UserError, match="'5:9': the job ends at step 8; name steps before that"):
        make.run(_config(make, shop, tmp_path, "5:9"), make.schema())


def test_steps_that_have_been_trained_are_not_profiled(make, shop, tmp_path):
    make.run(_config(make, shop, tmp_path, None), make.schema())
    config = _config(make, shop, tmp_path, "3:8")
    config = config.model_copy(update={"train": config.train.model_copy(update={"max_steps": 10})})
    stream = io.StringIO()
    make.run(config, make.schema(), Console(stream))
    assert "profile: step 8 has been trained already" in stream.getvalue()
    assert not (tmp_path / "plugins").exists()
