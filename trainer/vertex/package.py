"""Builds the source distribution of a checkout and uploads it to a bucket."""

import hashlib
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
    """Builds the source distribution of the checkout that contains this module.

    Args:
        output_dir: folder for the distribution.

    Returns:
        Path of the .tar.gz file.

    Raises:
        UserError: this module is not in a checkout, or setuptools fails.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / "setup.py").is_file():
        raise UserError(
            f"package: there is no setup.py in {root}, because this package was installed; run the "
            "command in a checkout of the repository"
        )
    with tempfile.TemporaryDirectory(prefix="sdist-") as work:
        # The build writes into the source folder, so it uses a copy.
        source = Path(work, "source")
        shutil.copytree(root, source, ignore=LEFT_OUT)
        done = subprocess.run(
            [sys.executable, "-c", BUILD, work], cwd=source, capture_output=True, text=True
        )
        made = list(Path(work).glob("*.tar.gz"))
        if done.returncode or len(made) != 1:
            words = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise UserError(
                f"package: setuptools could not build the distribution: {words[:200]}; correct the "
                "checkout"
            )
        try:
            output_dir.mkdir(parents=True, exist_ok=True)
            path = output_dir / made[0].name
            with storage.replaced(path) as temporary:
                shutil.copy(made[0], temporary)
            return path
        except OSError as error:
            raise UserError(
                f"--output_dir={output_dir}: {error.strerror}; name another folder"
            ) from error


def upload(path: Path, folder: str, settings: Optional[Settings] = None) -> str:
    """Uploads a source distribution and returns its gs:// address.

    The address contains the start of the file's SHA-256: FOLDER/HASH/NAME-VERSION.tar.gz. Thus no
    other package is overwritten, and an existing file with this name has the same content.

    Args:
        path: the distribution.
        folder: gs:// folder.
        settings: access to storage; None: the defaults.

    Raises:
        UserError: the address is invalid, or the bucket does not exist or cannot be written.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    address = storage.parse_address(folder.rstrip("/"), "--upload").join(f"{digest}/{path.name}")
    bucket = (settings or Settings()).open_bucket(address.bucket)
    if bucket.find(address.name) is None:
        with path.open("rb") as stream:
            bucket.upload(stream, path.stat().st_size, address.name, 0)
    return str(address)


def check_bucket(folder: str, option: str, settings: Optional[Settings] = None) -> None:
    """Checks that the bucket of an address exists and can be read.

    Args:
        folder: gs:// folder.
        option: the flag, for messages.
        settings: access to storage; None: the defaults.

    Raises:
        UserError: the address is invalid, or the bucket does not exist or cannot be read.
    """
    address = storage.parse_address(folder.rstrip("/"), option)
    (settings or Settings()).open_bucket(address.bucket).list_all(address.folder + "?")
