"""python -m trainer.runs reads jobs in a bucket."""

import json

import pytest
import yaml

from trainer.config.commands import run
from trainer.history.command import main

pytestmark = pytest.mark.quick


def test_jobs_in_a_bucket_are_listed_and_explained(cloud, capsys):
    for name, rate in (("a", 0.1), ("b", 0.5)):
        record = {"started": "2026-01-01", "ended": "2026-01-01", "secs": 3.0}
        lines = {"kind": "eval", "step": 20, "auc": rate}
        files = {
            "config.yaml": yaml.safe_dump({"train": {"learning_rate": rate}}),
            "inputs.json": json.dumps({"runs": [record]}),
            "metrics.jsonl": json.dumps(lines) + "\n",
            "model.ckpt-20.data-00000-of-00001": "must not be fetched",
        }
        for file, text in files.items():
            cloud.write(f"jobs/{name}/{file}", text.encode())
    place = "gs://a-bucket/jobs"
    assert run(main, ["list", f"--folder={place}", "--metric=auc", "--sort=auc"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in out] == ["job", "b", "a"]
    assert run(main, ["why", f"{place}/a", f"{place}/b"]) == 0
    assert "train.learning_rate: 0.1 -> 0.5" in capsys.readouterr().out
    # The index of a bucket is not stored in it.
    assert not [name for name in cloud.names("jobs/") if "sqlite" in name]
