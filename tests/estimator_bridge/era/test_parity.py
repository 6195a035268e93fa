"""Programs that TensorFlow 2.4.4 and 2.12.1 trained, resumed from their checkpoints."""

import gzip
import json
import shutil
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STORED = HERE / "stored" / "parity"
sys.path.insert(0, str(HERE.parents[2] / "tools"))
import parity_2x  # noqa: E402


@pytest.mark.newest
@pytest.mark.parametrize("version", ["2.4.4", "2.12.1"])
def test_programs_go_on_from_native_checkpoints(tmp_path, version):
    records = json.loads(gzip.decompress((STORED / f"{version}.json.gz").read_bytes()))
    job = tmp_path / "job"
    shutil.copytree(STORED / version, job)
    command = [sys.executable, "-m", "estimator_bridge", "run", f"--as={version}"]
    ours = parity_2x.run(command, version, "go_on", job, list(records))
    for name, (native, again, nudged) in records.items():
        assert "error" not in ours[name], ours[name]
        back = {"restored": ours[name]["after"]}
        assert parity_2x.judge(native, again, nudged, ours[name], back)[1] == [], name


def test_the_judge_finds_every_kind_of_difference():
    native = json.loads(gzip.decompress((STORED / "2.4.4.json.gz").read_bytes()))["adam"][0]
    back = {"restored": native["after"]}
    assert parity_2x.judge(native, native, native, native, back) == (0.0, [])
    for part in ("restored", "after", "variables"):
        ours = json.loads(json.dumps(native))
        value = next(one for one in ours[part].values() if one["is_real"])
        value["values"][0] += 1e-4
        back = {"restored": ours["after"]}
        (line,) = parity_2x.judge(native, native, native, ours, back)[1]
        assert line.startswith(part)
        del ours[part][next(iter(ours[part]))]
        assert parity_2x.judge(native, native, native, ours, back)[0] == float("inf")
    ours = dict(native, tags=[])
    assert parity_2x.judge(native, native, native, ours, {"restored": native["after"]})[1]
