"""Pins the newest images by their digests: the base image, and the images of cloudbuild.yaml.

    python tools/pin_base_image.py [--tag=python:3.12-slim]

Gets the digests from the registry with `docker buildx imagetools`, or with `crane` if docker is not
installed. A digest is that of the list of all platforms. If you change the tag, docker/*.lock must
fit its Python version.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("Dockerfile", "cloudbuild.yaml")
BASE = re.compile(r"(?m)^(ARG BASE=|  _BASE: )(\S+?)(@sha256:[0-9a-f]{64})?$")
# The image in which a step of cloudbuild.yaml runs.
STEP = re.compile(r"(?m)^(    name: )(\S+?)(@sha256:[0-9a-f]{64})?$")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
COMMANDS = {
    "docker": ["buildx", "imagetools", "inspect", "--format={{.Manifest.Digest}}"],
    "crane": ["digest"],
}


def resolve(tag):
    """Returns the digest to which a tag leads now.

    Args:
      tag: name and tag of the image.

    Raises:
      SystemExit: neither program is installed, or the image is not found.
    """
    program = next((name for name in COMMANDS if shutil.which(name)), None)
    if program is None:
        sys.exit(f"{tag}: getting its digest needs docker or crane; install one of them")
    done = subprocess.run(
        [program, *COMMANDS[program], tag], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode or not DIGEST.fullmatch(done.stdout.strip()):
        said = (done.stderr or done.stdout).strip() or "no output"
        sys.exit(f"{tag}: {program} found no digest: {said.splitlines()[-1]}; check the tag")
    return done.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tag", help="name and tag of the base image; default: those in the Dockerfile"
    )
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in FILES}
    tag = parser.parse_args().tag or BASE.search(texts["Dockerfile"]).group(2)
    steps = {found.group(2) for text in texts.values() for found in STEP.finditer(text)}
    pinned = {image: f"{image}@{resolve(image)}" for image in sorted({tag, *steps})}
    for name, text in texts.items():
        text = BASE.sub(rf"\g<1>{pinned[tag]}", text)
        text = STEP.sub(lambda found: found.group(1) + pinned[found.group(2)], text)
        (ROOT / name).write_text(text, encoding="utf-8")
    print("\n".join(pinned.values()))


if __name__ == "__main__":
    main()
