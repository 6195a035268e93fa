import json
import threading

import pytest

from trainer.job_dir.metrics_log import MetricsLog

pytestmark = [pytest.mark.newest, pytest.mark.quick]


@pytest.mark.parametrize("torn", ['{"kind": "train", "step": 30, "lo', '{"kind": "tr\xff', "x"])
def test_a_truncated_line_does_not_swallow_the_next_record(tmp_path, torn):
    log = MetricsLog(str(tmp_path))
    for step in (10, 20, 30):
        log.append("train", step, {"loss": 1.0})
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(path.read_bytes() + torn.encode("latin-1"))
    log.resume_from(20)
    log.append("train", 25, {"loss": 0.5})
    assert [record["step"] for record in log.read("train")] == [10, 20, 25]


@pytest.mark.parametrize("line", ["[]", "3", "null", "{}", '{"kind": "train"}', "[" * 100_000])
def test_damaged_lines_are_skipped(tmp_path, line):
    log = MetricsLog(str(tmp_path))
    (tmp_path / "metrics.jsonl").write_text(line + "\n")
    log.append("eval", 5, {"loss": 1.0})
    assert log.read("eval") == [{"step": 5, "loss": 1.0}]


def test_several_writers_lose_no_record(tmp_path):
    def write(number):
        log = MetricsLog(str(tmp_path))
        for step in range(100):
            log.append("train", 1000 * number + step, {"loss": 1.0})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == 400 and len(MetricsLog(str(tmp_path)).read("train")) == 400
    assert all(json.loads(line)["loss"] == 1.0 for line in lines)


def test_evaluations_on_other_data_are_not_compared(tmp_path):
    MetricsLog(str(tmp_path)).append("eval", 5, {"auc": 0.6})
    for step, train, evaluation in ((10, 1, 1), (20, 2, 1), (30, 2, 2)):
        data = {"train_data": train, "eval_data": evaluation}
        MetricsLog(str(tmp_path), data).append("eval", step, {"auc": 0.7})
    log = MetricsLog(str(tmp_path))
    assert [line["step"] for line in log.read("eval")] == [5, 10, 20, 30]
    assert all(line.keys() == {"step", "auc"} for line in log.read("eval"))
    # An older version has recorded no data.
    for data, steps in (
        ({"eval_data": 1}, [5, 10, 20]),
        ({"train_data": 2, "eval_data": 1}, [5, 20]),
    ):
        assert [line["step"] for line in log.read_comparable(data)] == steps
    assert log.read_comparable() == [{"step": 5, "auc": 0.6}, {"step": 30, "auc": 0.7}]
