"""tf.contrib against what TensorFlow 1.15.5 computed, which `make parity-1x` stores."""

import collections
import copy
import sys
from pathlib import Path

import numpy as np
import pytest

PARITY = Path(__file__).parents[1] / "parity_1x"
sys.path.insert(0, str(PARITY))
sys.path.insert(0, str(PARITY.parents[2] / "tools"))
import compare  # noqa: E402
import halves  # noqa: E402
import parity_1x  # noqa: E402
import signatures  # noqa: E402

pytestmark = pytest.mark.timeout(halves.TIMEOUT_SECS)


@pytest.fixture(scope="module")
def computed(request, tmp_path_factory):
    return halves.measure(request, tmp_path_factory.mktemp("parity"), halves.OTHERS)


@pytest.mark.parametrize("area", halves.parameters(halves.OTHERS))
def test_an_area_is_that_of_1_15_but_for_known_differences(area, computed):
    halves.check_area(area, computed)


@pytest.mark.newest
def test_the_table_of_the_documents_has_the_rows_of_the_results(computed):
    halves.check_table(computed, halves.OTHERS)


@pytest.mark.newest
def test_every_supplied_name_has_a_case_or_a_reason(computed, tmp_path_factory):
    halves.check_names(computed, halves.OTHERS, tmp_path_factory)


@pytest.mark.quick
def test_each_area_has_one_row_in_the_table():
    text = (PARITY.parents[2] / "docs" / "parity.md").read_text(encoding="utf-8")
    table = text.partition(parity_1x.START)[2].partition(parity_1x.END)[0]
    rows = [line.split("|")[1].strip() for line in table.split("\n") if line.startswith("|")]
    assert rows == ["area", "---", *halves.EVERY]
    assert set(halves.ESTIMATORS) < set(halves.EVERY)


def test_every_kind_of_difference_is_found():
    native = compare.read("losses")["mean_squared_error, per row"]
    assert compare.compare(native, native) == {}
    name = next(iter(native["outputs"]))
    for part in ("variables", "collections", "summaries"):
        other = copy.deepcopy(native)
        other[part] = "something else"
        assert list(compare.compare(native, other)) == [part]
    for change, aspect in [(1e-3, "outputs"), (1e-5, "outputs within 1e-4")]:
        other = copy.deepcopy(native)
        other["outputs"][name]["values"][0] += change
        assert list(compare.compare(native, other)) == [aspect]
    assert list(compare.compare(native, {"error": "ValueError"})) == ["error"]


@pytest.mark.parametrize("reason", ["moved", "apart"])
def test_a_tolerance_is_measured_in_1_15(reason):
    native = compare.read("losses")["mean_squared_error, per row"]
    name = next(iter(native["outputs"]))
    native.pop("apart", None)
    native = {**native, "moved": {}, reason: {f"outputs/{name}": 1e-3}, "random": []}
    native.setdefault("moved", {})
    for change, found in [(1.9e-3, []), (2.1e-3, ["outputs"])]:
        other = copy.deepcopy(native)
        other["outputs"][name]["values"][0] += change
        assert list(compare.compare(native, other)) == found


@pytest.mark.parametrize(
    ("ours", "difference"),
    [
        ([["a", "", "<none>"], ["b", "", "1.0"], ["more", "", "None"]], None),
        ([["a", "", "<none>"]], "no argument b"),
        ([["b", "", "1.0"], ["a", "", "<none>"]], "argument 0 is b, not a"),
        ([["a", "", "<none>"], ["b", "", "2.0"]], "default of b is 2.0, not 1.0"),
        ([["a", "", "<none>"], ["b", "", "1.0"], ["c", "", "<none>"]], "requires c"),
        (None, "missing"),
    ],
)
def test_signatures_are_compared_by_name_order_and_default(ours, difference):
    native = [["a", "", "<none>"], ["b", "", "1.0"]]
    assert compare.compare_signatures(native, ours) == difference


class MadeByAnything:
    def __new__(cls, *args, **kwargs):
        return super().__new__(cls)

    def __init__(self, size, rate=0.5):
        """As a layer of Keras."""


@pytest.mark.quick
@pytest.mark.parametrize(
    ("made", "arguments"),
    [
        (MadeByAnything, [["size", "", "<none>"], ["rate", "", "0.5"]]),
        (collections.namedtuple("Pair", "first second"), [["first", "", "<none>"]] * 2),
    ],
)
def test_the_arguments_of_a_class_are_those_of_its_constructor(made, arguments):
    found = dict(signatures.of_class("made", made, native=False))["made"]
    assert [one[1:] for one in found] == [one[1:] for one in arguments]
    assert found[0] == arguments[0]


# Takes the place of Python 3.7: writes a file for each area, and dies at one.
NATIVE = """
import json, os, sys
_, folder, *areas = sys.argv[1:]
with open({asked!r}, "a") as file:
    file.write(" ".join(areas) + chr(10))
for area in areas:
    if area == "losses" and not os.path.exists({mended!r}):
        sys.exit("killed")
    with open(os.path.join(folder, area + ".json"), "w") as file:
        json.dump({{"case": area}}, file)
"""


@pytest.mark.quick
def test_a_run_goes_on_after_the_last_area_that_is_stored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(compare, "STORED", tmp_path / "stored")
    asked, mended, program = (tmp_path / name for name in ("asked", "mended", "native.py"))
    program.write_text(NATIVE.format(asked=str(asked), mended=str(mended)))
    areas = ["crf", "losses", "opt"]

    def measure(anew=False):
        parity_1x.measure_native([sys.executable, str(program)], areas, anew)
        return asked.read_text().splitlines()[-1].split()

    with pytest.raises(SystemExit, match="killed"):
        measure()
    assert compare.read("crf") == {"case": "crf"}
    mended.touch()
    assert measure() == ["losses", "opt"]
    assert len(asked.read_text().splitlines()) == 2
    measure()
    assert len(asked.read_text().splitlines()) == 2
    assert "3 of 3 areas have stored results; --anew runs them again" in capsys.readouterr().out
    assert measure(anew=True) == areas
    # Other packages, and other cases.
    monkeypatch.setitem(parity_1x.PACKAGES, "1.15.5", ["protobuf<3.20"])
    assert measure() == areas
    found = compare.fingerprint("more_programs", ["a"])
    assert found == compare.fingerprint("more_programs", ["a"])
    assert found != compare.fingerprint("more_programs", ["b"])
    names = {path.name for path in compare._files_of("more_programs")}
    assert names == {"more_programs.py", "programs.py", "jobs.py", "trained.py", "values.py"}


@pytest.mark.quick
def test_an_unknown_area_or_a_program_that_is_no_python_is_refused(monkeypatch, capsys):
    with pytest.raises(SystemExit, match="2"):
        parity_1x.main(["crf", "no_area"])
    assert "no such area: no_area; choose from autograph, bases, " in capsys.readouterr().err
    monkeypatch.setenv("PYTHON37", "/bin/true")
    for name in ("PATH", "HOME"):
        monkeypatch.setenv(name, "/nowhere")
    assert parity_1x.main(["crf"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("TensorFlow 1.x needs Python 3.7, which was not found; install it")
    assert line.endswith("or name it with PYTHON37=/path/to/python3.7")


def test_stored_records_count_as_runs_of_1_15():
    earlier = compare.read("losses")
    case = "mean_squared_error, per row"
    again = {case: copy.deepcopy(earlier[case])}
    key, value = next(iter(again[case]["outputs"].items()))
    value["values"] = [float(np.asarray(value["values"]).flat[0]) + 3e-5]
    value["shape"] = earlier[case]["outputs"][key]["shape"]
    assert compare.compare(again[case], earlier[case])
    compare.keep_distances(again, earlier)
    assert again[case]["apart"] == {f"outputs/{key}": 3e-05}
    assert not compare.compare(again[case], earlier[case])
    # A third run that is equal to the second does not make the two forgotten.
    third = {case: {**again[case], "apart": {}}}
    compare.keep_distances(third, again)
    assert third[case]["apart"] == again[case]["apart"]
