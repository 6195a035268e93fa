"""The command that runs schedules."""

import argparse
import contextlib
import multiprocessing
import time

from simulation import cluster_story, served_story, storage_story
from simulation.faults import FAULTS

STORIES = {
    "storage": storage_story.run,
    "cluster": cluster_story.run,
    "served": served_story.run,
}


def run_one(task):
    story, seed = task
    return story, seed, STORIES[story](seed).violation


def main():
    """Runs schedules, prints the seeds that fail; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python tests/simulation", description=__doc__)
    parser.add_argument("--story", choices=sorted(STORIES), help="default: each")
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="replays one schedule and prints what happens")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--stop", action="store_true", help="ends at the first failing seed")
    parser.add_argument("--fault", choices=sorted(FAULTS), help="puts an old fault back")
    flags = parser.parse_args()
    fault = FAULTS[flags.fault].put_back() if flags.fault else contextlib.nullcontext()
    with fault:
        return replay(flags) if flags.seed is not None else run_all(flags)


def replay(flags):
    """Runs one schedule and prints what happens; returns the exit status."""
    world = STORIES[flags.story or "storage"](flags.seed, True)
    print("\n".join(world.trace))
    print(world.violation or "every invariant held")
    return 1 if world.violation else 0


def run_all(flags):
    """Runs schedules in several processes; returns the exit status."""
    began, failed, done = time.monotonic(), 0, 0
    story = FAULTS[flags.fault].story if flags.fault else flags.story
    tasks = [
        (name, flags.first + number)
        for name in ([story] if story else STORIES)
        for number in range(flags.schedules)
    ]
    with multiprocessing.get_context("fork").Pool(flags.jobs) as pool:
        for story, seed, violation in pool.imap_unordered(run_one, tasks, 4):
            done += 1
            if violation:
                failed += 1
                print(f"--story={story} --seed={seed}: {violation}", flush=True)
                if flags.stop:
                    break
    secs = time.monotonic() - began
    print(f"{done} schedules, {failed} failed, {secs:.0f} s")
    return 1 if failed else 0
