"""What engines write is kept out of the way, and a failure is one line with its cause."""

import subprocess
import sys
from pathlib import Path

import pytest

from trainer.engines import engine_log
from trainer.errors import TemporaryError, UserError

pytestmark = [pytest.mark.quick, pytest.mark.newest]

_START = """WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
26/11/26 18:20:10 WARN Utils: Set SPARK_LOCAL_IP if you need to bind to another address
"""
_NO_MASTER = (
    _START
    + """Exception in thread "main" org.apache.spark.SparkException: Master must be local or yarn
\tat org.apache.spark.deploy.SparkSubmit.error(SparkSubmit.scala:1068)
"""
)
_NO_HEAP = """Invalid maximum heap size: -Xmxx
Error: Could not create the Java Virtual Machine.
Error: A fatal exception has occurred. Program will exit.
"""
_NO_MEMORY = """An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.
: org.apache.spark.SparkIllegalArgumentException: Executor memory 10 must be at least 471.
Please increase executor memory. SQLSTATE: F0000
\tat org.apache.spark.SparkEnv.initializeMemoryManager(SparkEnv.scala:504)
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_NO_MASTER, "org.apache.spark.SparkException: Master must be local or yarn"),
        (_NO_HEAP, "Invalid maximum heap size: -Xmxx; Error: Could not create the Java Virtual "
         "Machine."),
        (_NO_MEMORY, "org.apache.spark.SparkIllegalArgumentException: Executor memory 10 must be "
         "at least 471."),
        (_START + "cannot load libjvm.so\n", "cannot load libjvm.so"),
        ("a.B: no\nCaused by: java.io.IOException: full\n\tat a.B", "java.io.IOException: full"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_reason_is_the_line_that_says_what_is_wrong(text, reason):
    assert engine_log.find_reason(text) == reason


def test_a_failure_is_one_line(tmp_path):
    log = tmp_path / "java.log"
    log.write_text(_NO_MASTER)
    error = engine_log.explain_spark(RuntimeError("[JAVA_GATEWAY_EXITED] Java has exited"), log)
    assert isinstance(error, UserError) and str(error) == (
        "--engine=spark: the job failed: Java ended at its start: "
        "org.apache.spark.SparkException: Master must be local or yarn; check --spark_options "
        f"(Java's messages are in {log})"
    )
    outer = RuntimeError("Error while instantiating 'a.B':")
    outer._cause = RuntimeError("The value 'many' in the config is invalid.")
    assert str(engine_log.explain_spark(outer, None)) == (
        "--engine=spark: the job failed: The value 'many' in the config is invalid.; check "
        "--spark_options"
    )
    log.write_text("ERROR A: Application has been killed. Reason: All masters are away! Giving up.")
    error = engine_log.explain_spark(
        RuntimeError("Cannot call methods on a stopped SparkContext."), log
    )
    assert isinstance(error, TemporaryError)
    assert "the cluster does not respond: All masters are away! Giving up; check" in str(error)


def test_a_killed_worker_of_beam_may_be_tried_again(tmp_path):
    log = tmp_path / "beam.log"
    log.write_text("Traceback:\nRuntimeError: Worker subprocess exited with return code 137\n")
    error = engine_log.explain_beam(RuntimeError("Channel closed prematurely."), log)
    assert isinstance(error, TemporaryError) and str(error) == (
        "--engine=beam: a worker process ended unexpectedly (status 137), perhaps for lack of "
        "memory; repeat the command, or use fewer workers "
        f"(Beam's messages are in {log})"
    )
    error = engine_log.explain_beam(RuntimeError("a\nb: no such region\n"), None)
    assert isinstance(error, UserError) and str(error).endswith(
        "b: no such region; check --beam_options"
    )


_PROGRAM = """
import subprocess, sys
from trainer.engines import engine_log
log = engine_log.open_log("spark")
echo = "import sys; print('from Java'); print('and its errors', file=sys.stderr)"
print("before")
with engine_log.redirect_output(log):
    started = subprocess.Popen([sys.executable, "-c", echo])
print("after")
started.wait()
written = log.read_text()
if sys.argv[1:]:
    engine_log.explain_spark(RuntimeError("no"), log)
print(log, sorted(written.splitlines()))
"""


@pytest.mark.parametrize("fails", [False, True])
def test_a_log_is_kept_only_if_a_message_names_it(fails):
    argv = [sys.executable, "-c", _PROGRAM, *(["fails"] if fails else [])]
    root = str(Path(__file__).parents[3])
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=root)
    before, after, last = done.stdout.splitlines()
    assert (before, after, done.stderr) == ("before", "after", "")
    path, _, written = last.partition(" ")
    assert written == "['and its errors', 'from Java']" and Path(path).exists() == fails
    Path(path).unlink(missing_ok=True)
