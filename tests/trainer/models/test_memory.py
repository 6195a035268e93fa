"""trainer.models.memory: models that do not fit into memory are reported in one line."""

import pytest

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.models.memory import check_tables, measure_memory, translate_memory_errors


@pytest.mark.parametrize(
    ("kind", "column", "words"),
    [
        ("linear", {"hash_buckets": 2**31 - 1}, "that of color (wide) 8.0"),
        ("dnn", {"hash_buckets": 2**31 - 1, "embedding": 65_536}, "that of color_embedding (deep)"),
    ],
)
def test_table_larger_than_memory_is_refused(bench, monkeypatch, kind, column, words):
    schema = bench.build_schema(
        {"column": "label"},
        {"color": {"type": "string", **column}, "label": {"type": "float"}},
    )
    monkeypatch.setattr("trainer.models.build.measure_memory", lambda: 4 * 2.0**30)
    with pytest.raises(UserError, match="lower hash_buckets") as caught:
        bench.build(bench.build_config(model={"type": kind}), schema)
    assert words in str(caught.value) and "this machine has 4.0" in str(caught.value)


def test_tables_that_fit_are_accepted():
    column = tf.feature_column.categorical_column_with_hash_bucket("c", 1000)
    deep = [tf.feature_column.embedding_column(column, 8), tf.feature_column.numeric_column("x")]
    check_tables([column], deep, 2, 1000 * (2 + 8) * 4, "it")
    with pytest.raises(UserError, match=r"c_embedding \(deep\)"):
        check_tables([column], deep, 2, 1000 * (2 + 8) * 4 - 1, "it")
    assert measure_memory() > 2**28


def test_out_of_memory_errors_are_translated():
    for error in (
        MemoryError(),
        tf.errors.ResourceExhaustedError(None, None, "OOM when allocating\ntensor [[{{node x}}]]"),
    ):
        with (
            pytest.raises(UserError, match="memory: out of memory") as caught,
            translate_memory_errors(),
        ):
            raise error
        assert "\n" not in str(caught.value) and "{{" not in str(caught.value)
    with pytest.raises(KeyError), translate_memory_errors():
        raise KeyError("x")
