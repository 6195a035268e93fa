"""The interrupt button of a notebook during trainer.train, in a real Jupyter kernel."""

import time

import pytest

pytestmark = pytest.mark.newest
# Only the environment of the newest TensorFlow has it.
manager = pytest.importorskip("jupyter_client.manager")

SETUP = """
import trainer
table = {"x": [float(i % 7) for i in range(200)], "bought": [i % 2 for i in range(200)]}
schema = trainer.infer_schema(table, label="bought").schema
def train(steps):
    return trainer.train(
        {"job_dir": "job", "model.type": "linear", "max_steps": steps, "run.report": False},
        table, table, schema=schema)
"""
NAMES = "import os; print(sorted(n for n in os.listdir('job') if n.endswith('.index')))"


@pytest.fixture
def kernel(tmp_path):
    """Runs cells; returns their text, and the error or None."""
    started, client = manager.start_new_kernel(cwd=str(tmp_path), startup_timeout=120)

    def run(code, interrupt_at=None):
        request, text, error = client.execute(code), "", None
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            message = client.get_iopub_msg(timeout=240)
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return text, error
            text += content.get("text") or content.get("data", {}).get("text/plain", "")
            if message["msg_type"] == "error":
                error = f"{content['ename']}: {content['evalue']}"
            if interrupt_at is not None and interrupt_at in text:
                interrupt_at = None
                started.interrupt_kernel()
        raise AssertionError(f"the cell does not end: {text[-500:]}")

    yield run
    client.stop_channels()
    started.shutdown_kernel(now=True)


def test_an_interrupt_saves_a_checkpoint_and_leaves_the_kernel_usable(kernel):
    assert kernel(SETUP) == ("", None)
    _, error = kernel("train(1_000_000)", interrupt_at="· loss")
    assert error.startswith("KeyboardInterrupt: stopped; checkpoint saved at step ")
    step = int(error.split("step ")[1].split(";")[0].replace(",", ""))
    assert f"'model.ckpt-{step}.index'" in kernel(NAMES)[0]
    # The kernel's own handler of signals is there again, and the same job continues.
    _, error = kernel("import time; print('asleep', flush=True); time.sleep(60)", "asleep")
    assert error == "KeyboardInterrupt: "
    text, error = kernel(f"train({step + 10}); {NAMES}")
    assert error is None and f"resuming at step {step:,} from" in text
    assert f"'model.ckpt-{step + 10}.index'" in text
