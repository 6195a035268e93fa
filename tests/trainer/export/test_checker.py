"""trainer.export.checker: every export is checked in a fresh process."""

import shutil
import types

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.export import checker
from trainer.export.checker import check_exports, read_sample_rows
from trainer.features.raw_inputs import list_csv_inputs
from trainer.training.job import build_source


@pytest.fixture(scope="module")
def checked(trained):
    done = trained("linear", "bought")
    return done, read_sample_rows(build_source(done.job, training=False), done.schema)


def test_sample_rows_are_plain_values_with_defaults(checked):
    _, rows = checked
    assert len(rows) == 3
    assert set(rows[0]) == {"age", "hours", "city", "job", "level", "id"}
    for row in rows:
        assert isinstance(row["age"], float) and isinstance(row["hours"], int)
        assert isinstance(row["city"], str)


@pytest.fixture
def damaged(checked, tmp_path):
    """Returns a copy of an export to be damaged, and a function that checks it."""
    done, rows = checked
    folder = tmp_path / "1700000000"
    shutil.copytree(done.export, folder)
    return folder, lambda: check_exports([str(folder)], rows, done.schema, ",")


def test_a_good_export_passes(damaged):
    damaged[1]()


def test_quotes_and_line_ends_in_every_input(checked, damaged):
    done, rows = checked
    rows = [
        {**rows[0], "job": 'cook, "head"'},
        {**rows[1], "job": "two\nlines", "city": "Köln"},
        {**rows[2], "job": "", "id": "a;b\tc"},
    ]
    check_exports([str(damaged[0])], rows, done.schema, ",")


def test_missing_values_are_marked_and_left_out_in_every_input(checked, monkeypatch):
    done, rows = checked
    schema = done.schema.model_copy(update={"missing_values": ["?"]})
    asked = {}

    def predict(session, receiver, values, num_rows):
        asked[receiver] = values
        return [{"score": 0.5}] * num_rows

    monkeypatch.setattr(checker, "_predict", predict)
    session = types.SimpleNamespace(path="export")
    checker._check_outputs(session, checker._Request([], rows[:1], schema, ","))
    assert all(len(column) == 3 for values in asked.values() for column in values.values())
    ages = asked["json"]["age"]
    assert ages[0] == rows[0]["age"] and np.isnan(ages[1:]).all()
    examples = map(tf.train.Example.FromString, asked["example"]["examples"])
    given = [[value for value in one.features.feature["age"].float_list.value] for one in examples]
    assert given[0] and np.isnan(given[1]) and given[2] == []
    place = list_csv_inputs(schema).index("age")
    fields = [line.split(",")[place] for line in asked["csv"]["csv"]]
    assert float(fields[0]) == rows[0]["age"] and fields[1:] == ["?", ""]


def _refused(verify, words):
    with pytest.raises(UserError) as caught:
        verify()
    assert "\n" not in str(caught.value)
    assert words in str(caught.value)


def test_missing_graph_is_reported(damaged):
    folder, verify = damaged
    (folder / "saved_model.pb").unlink()
    _refused(verify, str(folder))


def test_signature_that_does_not_fit_the_schema_is_reported(damaged, trained, checked):
    folder, verify = damaged
    # The export has other inputs than the schema.
    shutil.rmtree(folder)
    shutil.copytree(trained("baseline", "price").export, folder)
    done, rows = checked
    rows = [{**row, "more": 1.0} for row in rows]
    from trainer.schema import Column

    columns = {**done.schema.columns, "more": Column(type="float")}
    schema = done.schema.model_copy(update={"columns": columns})
    _refused(lambda: check_exports([str(folder)], rows, schema, ","), "check of 1 export")


def test_missing_variables_are_reported(damaged):
    folder, verify = damaged
    shutil.rmtree(folder / "variables")
    _refused(verify, "check of 1 export")


def test_an_unexpected_error_is_reported_with_its_place(damaged, tmp_path, monkeypatch):
    # Python runs sitecustomize.py when a process starts.
    (tmp_path / "sitecustomize.py").write_text(
        "import json\n\ndef loads(text, **options):\n    assert False\n\njson.loads = loads\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    _refused(damaged[1], 'sitecustomize.py", line 4, in loads')
