"""What killed runs leave in a job_dir is removed; what is kept by choice stays."""

import os
import time

import pytest

from trainer.config import load_config
from trainer.job_dir.leftovers import remove_leftovers

pytestmark = [pytest.mark.newest, pytest.mark.quick]


@pytest.fixture
def job(tmp_path):
    """job(names, state steps, stored run options) → removes leftovers; returns what is left."""

    def clean(names, steps, stored="{}", is_shared=False, **run):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        if steps is not None:
            lines = [f'model_checkpoint_path: "model.ckpt-{step}"' for step in steps[-1:]]
            lines += [f'all_model_checkpoint_paths: "model.ckpt-{step}"' for step in steps]
            (tmp_path / "checkpoint").write_text("\n".join(lines))
        if stored is not None:
            (tmp_path / "config.yaml").write_text(f"run: {stored}\n")
        config = load_config(None, {f"run.{name}": value for name, value in run.items()})
        said = []
        config = config.model_copy(update={"job_dir": str(tmp_path)})
        count = remove_leftovers(config, is_shared, said.append)
        assert len(said) == bool(count)
        left = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
        return left - {"checkpoint", "config.yaml"}, said

    return clean


def _checkpoints(*steps):
    return [
        f"model.ckpt-{step}.{end}"
        for step in steps
        for end in ("index", "meta", "data-00000-of-00001")
    ]


def test_incomplete_exports_are_removed(job, tmp_path):
    whole = {
        "export/best/1700000001/saved_model.pb",
        "export/best/1700000001/variables/variables.index",
        "export/best/1700000002/saved_model.pbtxt",
        "export/best/best.json",
        # An exporter of the user's own writes another format.
        "export/lite/1700000003/model.tflite",
        "export/lite/notes/readme.txt",
    }
    (tmp_path / "export/final/1700000009").mkdir(parents=True)
    left, (said,) = job(
        [
            *whole,
            "export/best/1700000004/variables/variables.index",
            "export/best/1700000004/assets.extra/config.yaml",
            "export/best/temp-1700000005/saved_model.pb",
        ],
        [],
    )
    assert left == whole
    assert sorted(path.name for path in (tmp_path / "export/best").iterdir()) == [
        "1700000001", "1700000002", "best.json",
    ]  # fmt: skip
    assert not (tmp_path / "export/final/1700000009").exists()
    assert said.startswith("removed what an earlier run left incomplete: export/best/1700000004, ")


def test_an_export_that_another_process_writes_now_stays(job, tmp_path):
    new = "export/best/1700000004/variables/variables.index"
    old = "export/best/temp-1700000005/saved_model.pb"
    for name in (new, old):
        (tmp_path / name).parent.mkdir(parents=True)
    left, _ = job([new, old], [], is_shared=True)
    assert left == {new, old}
    day = time.time() - 90_000
    for path in [*(tmp_path / old).parents][:1] + [tmp_path / old]:
        os.utime(path, (day, day))
    left, _ = job([new], [], is_shared=True)
    assert left == {new}


def test_unused_checkpoints_are_removed(job):
    kept = {*_checkpoints(20, 30), "torn-model.ckpt-25.index", "cluster/held/model.ckpt-5.index"}
    left, _ = job(
        [
            *kept,
            *_checkpoints(10),  # named before the last save, and not yet deleted
            *_checkpoints(40),  # saved, but never named
            "model.ckpt-50.data-00000-of-00001",
            "model.ckpt-60_temp/part-00000-of-00001.index",
            "model.ckpt-60.data-00000-of-00001.tempstate123",
            "checkpoint.tmp12ab",
        ],
        [20, 30],
    )
    assert left == kept


@pytest.mark.parametrize(
    "stored, run",
    [
        ("{}", {"keep_checkpoint_max": 0}),
        ("{keep_checkpoint_max: 0}", {}),
        ("{keep_checkpoint_every_n_hours: 1.0}", {}),
        ("{}", {"keep_checkpoint_every_n_hours": 1.0}),
        # More than a kill leaves, or a job of another program.
        ("{}", {"keep_checkpoint_max": 1}),
        (None, {}),
    ],
)
def test_checkpoints_kept_by_choice_stay(job, stored, run):
    kept = {*_checkpoints(10, 15, 30)}
    incomplete = ["model.ckpt-20.data-00000-of-00001", *_checkpoints(40)]
    left, _ = job([*kept, *incomplete], [30], stored, **run)
    assert left == kept


@pytest.mark.parametrize("steps", [None, [], [50]])
def test_no_checkpoint_is_removed_if_none_is_named(job, steps):
    """Without a state file, with an empty one, and if the named checkpoint is missing."""
    everything = {*_checkpoints(10, 20), "model.ckpt-30.data-00000-of-00001"}
    assert job(everything, steps)[0] == everything
