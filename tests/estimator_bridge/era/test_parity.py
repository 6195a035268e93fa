"""Programs that TensorFlow 2.4.4, 2.8.4 and 2.12.1 trained, resumed from their checkpoints."""

import copy
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
import parity_judge  # noqa: E402


@pytest.mark.newest
@pytest.mark.parametrize("version", ["2.4.4", "2.8.4", "2.12.1"])
def test_programs_go_on_from_native_checkpoints(tmp_path, version):
    records = json.loads(gzip.decompress((STORED / f"{version}.json.gz").read_bytes()))
    job = tmp_path / "job"
    shutil.copytree(STORED / version, job)
    command = [sys.executable, "-m", "estimator_bridge", "run", f"--as={version}"]
    ours = parity_2x.run(command, version, "go_on", job, list(records))
    for name, computed in records.items():
        assert "error" not in ours[name], ours[name]
        # Summaries of the steps before the checkpoint are not stored.
        summaries = computed["native"]["events"]
        for key in [key for key in summaries if int(key.rpartition(" at ")[2]) < 100]:
            del summaries[key]
        # The original, which would answer from the bridge's checkpoint and exports, is not here.
        back = {"restored": ours[name]["after"], "served": ours[name]["served"]}
        found = parity_judge.Records(
            ours=ours[name], back=back, theirs=computed["native"], **computed
        )
        assert parity_judge.judge(found)[2] == [], name


@pytest.mark.quick
def test_the_judge_finds_every_kind_of_difference():
    native = json.loads(gzip.decompress((STORED / "2.4.4.json.gz").read_bytes()))["adam"]["native"]

    def judge(ours, theirs=native):
        back = {"restored": ours["after"], "served": ours["served"]}
        return parity_judge.judge(parity_judge.Records(native, ours, back, theirs, native, native))

    assert judge(native) == (0.0, 0.0, [])
    for part in ("restored", "after", "variables", "events"):
        ours = copy.deepcopy(native)
        value = next(one for one in ours[part].values() if one["is_real"])
        value["values"][0] += 1e-4
        worst, exports, lines = judge(ours)
        assert worst > 2e-5 and exports == 0.0
        assert len(lines) == 1 and lines[0].startswith(part)
        del ours[part][next(iter(ours[part]))]
        assert judge(ours)[0] == float("inf")
    theirs = copy.deepcopy(native)
    next(iter(theirs["served"].values()))["values"][0] += 1e-4
    worst, exports, (line,) = judge(native, theirs)
    assert worst == 0.0 and exports > 2e-5 and line.startswith("served: ")
    failed = {"error": "ValueError", "message": "no such thing"}
    assert judge(native, failed)[1:] == (float("inf"), ["no such thing"])


@pytest.mark.quick
def test_the_table_shows_the_results():
    results = json.loads(parity_2x.RESULTS.read_text(encoding="utf-8"))
    assert list(results["found"]) == list(parity_2x.ORIGINALS)
    text = (HERE.parents[2] / "docs" / "parity.md").read_text(encoding="utf-8")
    shown = text.partition(parity_2x.START)[2].partition(parity_2x.END)[0]
    assert shown.strip().splitlines() == parity_judge.table(**results)


@pytest.mark.newest
def test_notebooks_give_the_figures_of_2_12_from_their_first_step(tmp_path):
    expected = json.loads((STORED / "notebooks.json").read_text())
    command = [sys.executable, "-m", "estimator_bridge", "run", "--as=2.12.1"]
    # `make parity-2x` runs all of them.
    names = ("from_keras", "by_objects", "with_hooks")
    found = parity_2x.run_notebooks(command, tmp_path / "found.json", *names)
    expected = {name: expected[name] for name in names}
    assert list(parity_2x.compare_notebooks(expected, found)) == []
