"""The source distribution: made from a checkout, and stored in a bucket."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Optional

from trainer import storage
from trainer.errors import UserError
from trainer.storage.data import Settings

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "jobs")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"


def build_sdist(output_dir: Path) -> Path:
    """Makes the source distribution of the checkout that this module is in.

    Args:
        output_dir: where to.

    Raises:
        UserError: this is no checkout, or setuptools fails.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / "setup.py").is_file():
        raise UserError(
            f"package: no setup.py in {root}: this trainer was installed from a distribution; run "
            "it from a checkout"
        )
    with tempfile.TemporaryDirectory(prefix="sdist-") as work:
        # A copy, so that nothing is built into the checkout.
        source = Path(work, "source")
        shutil.copytree(root, source, ignore=LEFT_OUT)
        done = subprocess.run(
            [sys.executable, "-c", BUILD, work], cwd=source, capture_output=True, text=True
        )
        made = list(Path(work).glob("*.tar.gz"))
        if done.returncode or len(made) != 1:
            words = (done.stderr.strip().splitlines() or ["no word"])[-1]
            raise UserError(f"package: setuptools could not build it: {words[:200]}")
        try:
            output_dir.mkdir(parents=True, exist_ok=True)
            return Path(shutil.copy(made[0], output_dir))
        except OSError as error:
            raise UserError(f"--output_dir={output_dir}: {error.strerror}; name another") from error


def upload(path: Path, folder: str, settings: Optional[Settings] = None) -> str:
    """Stores a source distribution; returns its address.

    Raises:
        UserError: a wrong address, no bucket, no permission; another distribution of the same name
            is there.
    """
    address = storage.parse_address(folder.rstrip("/"), "--upload").join(path.name)
    bucket = (settings or Settings()).open_bucket(address.bucket)
    there = bucket.find(address.name)
    with path.open("rb") as stream:
        size = path.stat().st_size
        if there is not None:
            raise UserError(
                f"--upload: {address} is there already, and jobs may be using it; name another "
                "folder, or remove it first"
            )
        bucket.upload(stream, size, address.name, 0)
    return str(address)


def check_bucket(folder: str, option: str, settings: Optional[Settings] = None) -> None:
    """Refuses an address whose bucket is not there or not to be read.

    Raises:
        UserError: says which.
    """
    address = storage.parse_address(folder.rstrip("/"), option)
    (settings or Settings()).open_bucket(address.bucket).list_all(address.folder + "?")
