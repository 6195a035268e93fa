"""Writes images for model.type image: scikit-learn's 1,797 scanned digits.

python -m trainer.demo.digits --output=digits
"""

import base64
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from absl import flags

from trainer.config import arguments, commands
from trainer.errors import UserError

# The scans of 8 x 8 pixels in 17 shades are resized to this many pixels per side.
SIZE = 32
# One of this many digits is used for evaluation.
EVAL_EVERY = 5


def write_digits(folder: Path) -> dict[str, int]:
    """Writes train.parquet and eval.parquet: image (base64 of a PNG) and digit (0 to 9).

    Source: Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits" (UCI, 1998), in the
    version of scikit-learn.

    Args:
        folder: where the files are written.

    Returns:
        File name → number of rows.

    Raises:
        UserError: scikit-learn is not installed, or the folder cannot be written.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise UserError(f"{error}; pip install scikit-learn") from error
    # Imported here, because it takes seconds: a wrong flag is told before.
    from estimator_bridge import tf

    digits = load_digits()
    pixels = tf.image.resize(digits.images[..., None] * (255 / 16), [SIZE, SIZE])
    encoded = [
        base64.b64encode(tf.io.encode_png(tf.cast(image, tf.uint8)).numpy()).decode()
        for image in tf.clip_by_value(tf.round(pixels), 0, 255)
    ]
    held_out = np.arange(len(encoded)) % EVAL_EVERY == 0
    rows = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, picked in (("train.parquet", ~held_out), ("eval.parquet", held_out)):
            where = np.flatnonzero(picked)
            columns = {"image": [encoded[row] for row in where], "digit": digits.target[where]}
            pa.parquet.write_table(pa.table(columns), str(folder / name))
            rows[name] = len(where)
    except OSError as error:
        raise UserError(f"--output={folder}: {error.strerror}; name another folder") from error
    return rows


def main(argv: list[str]) -> int:
    """Writes the files and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    values = arguments.parse_flags("trainer.demo.digits", _define, argv, __doc__ or "")
    if values is None:
        return 0
    arguments.require(values, "output")
    for name, rows in write_digits(Path(values.output)).items():
        print(f"{Path(values.output) / name}: {rows:,} images")
    return 0


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_string(
        "output", None, "folder for train.parquet, eval.parquet", flag_values=values
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
