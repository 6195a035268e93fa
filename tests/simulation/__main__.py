"""python tests/simulation --schedules=10000: runs many schedules; --seed=7 replays one."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

from simulation.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
