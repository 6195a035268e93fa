"""Memory that a step frees stays with the process."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.quick

# A thread allocates and frees 4.8 MB, 30 times, and prints the page faults of the last 20.
PROGRAM = """
import resource, sys, threading
from estimator_bridge.tf1 import freed_memory
if "kept" in sys.argv:
    freed_memory.install()
def work():
    for number in range(30):
        if number == 10:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        blocks = [bytearray(120_000) for _ in range(40)]
        del blocks
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def count_faults(*arguments, **variables):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        check=True,
    )
    return int(done.stdout)


def test_freed_memory_is_used_again():
    assert count_faults("kept") < 1000 < count_faults()


def test_a_choice_of_the_user_stays():
    assert count_faults("kept", MALLOC_TRIM_THRESHOLD_="131072") > 1000
