"""Damaged data files: reading one succeeds or ends with a UserError of one line.

Each file is made from a good one by a seeded random change. More files than in each run of the
tests, and one file again:

    python tests/trainer/inputs/test_damaged_files.py --files=100000
    python tests/trainer/inputs/test_damaged_files.py --seed=parquet-1353
"""

import argparse
import gzip
import random
import sys
import tempfile
from pathlib import Path

import pytest

from estimator_bridge import BridgeError
from estimator_bridge.convert.read import rows as converted_rows
from trainer.config import DataConfig
from trainer.console import Console
from trainer.errors import UserError
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files

KINDS = ("csv", "csv.gz", "parquet", "tfrecord")
# Files of each kind in a run of the tests.
NUM_FILES = 250
# Seeds that found a fault.
FOUND = {
    "csv.gz": (1, 5, 27, 214, 1227),
    "parquet": (14, 170, 1353, 1553, 6916, 8206, 13623, 16547),
}
PIECES = (
    *(b"\0", b'"', b"\n", b"\r\n", b",", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x80"),
    *(b"1e999", b"nan", b"-0", b"9" * 40, b"inf", b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7),
    (1 << 40).to_bytes(8, "little"),
)


def mutate(rng, good):
    """Returns bytes that differ from `good` in one to eight places."""
    data = bytearray(good)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at, other = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
        change = rng.randrange(6)
        if change == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif change == 1:
            data[at:at] = rng.choice(PIECES)
        elif change == 2:
            del data[at : at + rng.choice([1, 2, 8, 50])]
        elif change == 3:
            del data[at:]
        elif change == 4:
            data[at:at] = data[other : other + rng.choice([1, 4, 30])]
        else:
            piece = rng.choice(PIECES)
            data[at : at + len(piece)] = piece
    return bytes(data)


class Reader:
    """Reads damaged files as training and `convert` do."""

    def __init__(self, make, folder):
        rows = make.rows(12, seed=1)
        self._folder = Path(folder)
        self._schema = make.schema()
        good = {kind: self._folder / f"good.{kind}" for kind in ("csv", "parquet", "tfrecord")}
        for kind, path in good.items():
            getattr(make, kind)(path, rows)
        self._good = {kind: path.read_bytes() for kind, path in good.items()}
        self._good["csv.gz"] = gzip.compress(self._good["csv"], mtime=0)
        columns = tuple(self._schema.columns)
        self._data = converted_rows.Data(columns, (("bought",),), ",", (), {}, {})

    def read(self, kind, seed):
        """Reads one file; returns whether it could be read."""
        rng = random.Random(f"{kind}-{seed}")
        path = self._folder / f"damaged.{kind}"
        path.write_bytes(mutate(rng, self._good[kind]))
        config = DataConfig(max_bad_rows=rng.choice([0, 5]))
        try:
            scan_files(find_files([str(path)], "auto", "data"), self._schema, config, Console())
            is_good = True
        except UserError as error:
            is_good = False
            _check_line(error)
        if kind == "tfrecord" and seed % 10:
            # `convert` reads these through TensorFlow, which takes a tenth of a second.
            return is_good
        try:
            converted_rows._read_table(self._data, str(path), 100)
        except BridgeError as error:
            _check_line(error)
        return is_good


def _check_line(error):
    text = str(error)
    assert text.isprintable() and len(text) < 2000, repr(text[:300])


@pytest.mark.newest
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_costs_one_line(make, tmp_path, kind):
    reader = Reader(make, tmp_path)
    results = {reader.read(kind, seed) for seed in (*FOUND.get(kind, ()), *range(NUM_FILES))}
    assert False in results


def main():
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from conftest import Make

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000, help="files of each kind")
    parser.add_argument("--seed", help="one file, such as parquet-1353")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(Make, folder)
        if options.seed:
            kind, _, seed = options.seed.rpartition("-")
            print(reader.read(kind, int(seed)))
            return
        for kind in KINDS:
            for seed in range(options.files):
                try:
                    reader.read(kind, seed)
                except BaseException:
                    print(f"--seed={kind}-{seed}", file=sys.stderr)
                    raise
            print(f"{kind}: {options.files:,} files")


if __name__ == "__main__":
    main()
