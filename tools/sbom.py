"""Lists the packages of the images, as CycloneDX 1.6 JSON.

    python tools/sbom.py [--output_dir=dist]

Writes sbom-cpu.json and sbom-gpu.json from docker/*.lock. The same lock file gives the same output.
"""

import argparse
import json
import re
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VARIANTS = ("cpu", "gpu")
PIN = re.compile(r"^([\w.-]+)==([\w.+!]+)", re.MULTILINE)


def build(lock, version):
    """Returns the bill of materials of one image.

    Args:
      lock: text of the lock file.
      version: version of estimator-trainer.
    """

    def describe(kind, name, release):
        purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{release.replace('+', '%2B')}"
        return {"type": kind, "bom-ref": purl, "name": name, "version": release, "purl": purl}

    subject = describe("application", "estimator-trainer", version)
    del subject["purl"]  # It is not on the public package index.
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, version + lock)}",
        "version": 1,
        "metadata": {"component": subject},
        "components": [describe("library", *pin) for pin in PIN.findall(lock)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output_dir", default="dist", help="folder for the files")
    folder = Path(parser.parse_args().output_dir)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.*)"$', project, re.MULTILINE).group(1)
    folder.mkdir(parents=True, exist_ok=True)
    for variant in VARIANTS:
        lock = (ROOT / "docker" / f"{variant}.lock").read_text(encoding="utf-8")
        path = folder / f"sbom-{variant}.json"
        path.write_text(json.dumps(build(lock, version), indent=2) + "\n", encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
