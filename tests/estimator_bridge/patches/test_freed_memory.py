"""Memory that a step frees stays with the process."""

import ctypes
import os
import subprocess
import sys

import pytest

GENERATOR = """
import sys
from estimator_bridge import tf
with tf.Graph().as_default():
    numbers = tf.data.Dataset.from_generator(lambda: iter(range(3)), tf.int32)
    number = tf.compat.v1.data.make_one_shot_iterator(numbers).get_next()
    with tf.compat.v1.Session() as session:
        assert session.run(number) == 0
"""

# A thread allocates and frees 4.8 MB, 30 times, and prints the page faults of the last 20.
PROGRAM = """
import resource, sys, threading
from estimator_bridge.patches import freed_memory
if "kept" in sys.argv:
    freed_memory.set_thresholds()
def work():
    for number in range(30):
        if number == 10:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        blocks = [bytearray(SIZE) for _ in range(40)]
        del blocks
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def count_faults(*arguments, before="", size=120_000, **variables):
    done = subprocess.run(
        [sys.executable, "-c", before + PROGRAM.replace("SIZE", str(size)), *arguments],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.quick
def test_freed_memory_is_used_again():
    assert count_faults("kept") < 1000 < count_faults()


@pytest.mark.quick
def test_a_choice_of_the_user_stays():
    assert count_faults("kept", MALLOC_TRIM_THRESHOLD_="131072") > 1000


def test_it_is_used_again_after_a_generator_has_begun():
    assert count_faults(before=GENERATOR, size=200_000) < 1000


# Twenty threads allocate at the same time. The numbers of arenas and of cores are printed.
ARENAS = """
import ctypes, sys, threading
from estimator_bridge.patches import freed_memory
from estimator_bridge.processor import count_cores
if "kept" in sys.argv:
    freed_memory.limit_arenas()
together = threading.Barrier(20)
def work():
    blocks = []
    for _ in range(3):
        together.wait()
        blocks.append(bytearray(100_000))
threads = [threading.Thread(target=work) for _ in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.fdopen.restype = ctypes.c_void_p
output = library.fdopen(1, b"w")
library.malloc_info(0, ctypes.c_void_p(output))
library.fflush(ctypes.c_void_p(output))
print("cores", count_cores())
"""


@pytest.mark.quick
@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_info"), reason="the C library is not glibc"
)
@pytest.mark.parametrize(("variables", "limited"), [({}, True), ({"MALLOC_ARENA_MAX": "9"}, False)])
def test_a_process_has_an_arena_for_each_core(variables, limited):
    done = subprocess.run(
        [sys.executable, "-c", ARENAS, "kept"],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    arenas, cores = done.stdout.count("<heap nr="), int(done.stdout.split()[-1])
    assert arenas == (cores if limited else 9)
