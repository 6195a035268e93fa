"""Checkpoints of the fused engine are written beside training; what needs the files waits."""

import threading

from estimator_bridge.model_files import saving_beside
from trainer.job_dir.metrics_log import MetricsLog
from trainer.training import progress


def test_training_goes_on_and_evaluations_wait(make, shop, tmp_path, monkeypatch):
    write, after_run = saving_beside._Writer.write, progress.TrainingHook.after_run
    changed, reached, written = threading.Condition(), [0], []

    def write_late(writer, prefix, values):
        step = int(prefix.rpartition("-")[2])
        if step == 8:
            with changed:
                assert changed.wait_for(lambda: reached[0] > 8, 60), "training waits"
        written.append((step, reached[0]))
        write(writer, prefix, values)

    def count(hook, context, values):
        after_run(hook, context, values)
        with changed:
            reached[0] = hook.step
            changed.notify_all()

    monkeypatch.setattr(saving_beside._Writer, "write", write_late)
    monkeypatch.setattr(progress.TrainingHook, "after_run", count)
    config = make.config(
        tmp_path,
        shop / "train.csv",
        shop / "eval.csv",
        model={"type": "linear"},
        train={"max_steps": 12, "batch_size": 50},
        run={"save_checkpoints_steps": 4, "log_step_count_steps": 1},
        eval={"throttle_secs": 10_000},
        export={"exporters": ["final"]},
    )
    _, result = make.run(config, make.schema())
    assert [step for step, _ in written] == [0, 4, 8, 12]
    # That of step 4 was evaluated at once, that of step 8 was written while step 9 was trained.
    assert written[2][1] > 8
    assert [line["step"] for line in MetricsLog(str(tmp_path)).read("eval")] == [4, 12]
    assert result.checkpoints[-1] == str(tmp_path / "model.ckpt-12")
    assert len(result.exports["final"]) == 1
