"""Makes what several test modules share importable: support/*.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
