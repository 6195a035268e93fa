"""The command that runs schedules."""

import argparse
import multiprocessing
import time

from simulation import storage_story

STORIES = {"storage": storage_story.run}


def run_one(task):
    story, seed = task
    world = STORIES[story](seed)
    return story, seed, world.violation, world.digest


def main():
    """Runs schedules, prints the seeds that fail; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python tests/simulation", description=__doc__)
    parser.add_argument("--story", choices=sorted(STORIES), default="storage")
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="replays one schedule and prints what happens")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--stop", action="store_true", help="ends at the first failing seed")
    flags = parser.parse_args()
    if flags.seed is not None:
        world = STORIES[flags.story](flags.seed, True)
        print("\n".join(world.trace))
        print(world.violation or "every invariant held")
        return 1 if world.violation else 0
    began, failed, done = time.monotonic(), 0, 0
    tasks = [(flags.story, flags.first + number) for number in range(flags.schedules)]
    with multiprocessing.get_context("fork").Pool(flags.jobs) as pool:
        for story, seed, violation, _ in pool.imap_unordered(run_one, tasks, 4):
            done += 1
            if violation:
                failed += 1
                print(f"--story={story} --seed={seed}: {violation}", flush=True)
                if flags.stop:
                    break
    secs = time.monotonic() - began
    print(f"{done} schedules, {failed} failed, {secs:.0f} s")
    return 1 if failed else 0
