"""Counts the uses of tf.contrib in published packages, and the share that `run --tf1` supplies.

    python tools/contrib_share.py [--packages=OpenNMT-tf==1.25.3,...] [--work=FOLDER]

Fetches each package with pip, without its dependencies, and counts the uses of names of tf.contrib
that `audit` finds in it, including imports. TensorFlow is not needed. Without --packages, it counts
those of PACKAGES and writes the table of docs/parity.md. --work keeps the packages for another run.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from estimator_bridge.audit.report import audit

DOCUMENT = Path(__file__).resolve().parents[1] / "docs/parity.md"
BEGIN = "<!-- share of tf.contrib: written by tools/contrib_share.py -->"
END = "<!-- end of the share of tf.contrib -->"
# Two groups: those with which the names to supply were chosen first, and others.
PACKAGES = (
    (
        "OpenNMT-tf==1.25.3", "bert-tensorflow==1.0.4", "deeppavlov==0.17.6", "dopamine-rl==1.0.5",
        "magenta==1.3.1", "stable-baselines==2.10.2", "tensor2tensor==1.12.0",
        "tensorlayer==1.11.1", "tensorpack==0.9.9",
    ),
    (
        "baselines==0.1.5", "dm-sonnet==1.36", "edward==1.3.5", "kfac==0.2.0", "ludwig==0.2.2",
        "mesh-tensorflow==0.1.9", "rasa==1.4.6", "tensor2tensor==1.15.7",
        "tensorflow-model-analysis==0.13.2", "tensorpack==0.9.4", "texar==0.2.4",
        "tf-agents==0.2.0rc2", "tflearn==0.3.2",
    ),
)  # fmt: skip


class Share(NamedTuple):
    """What was counted in a package.

    Attributes:
      package: its name and version, or the words for a sum.
      uses: the number of uses of names of tf.contrib.
      supplied: how many of them run with --tf1.
      missing: each name that does not -> how often it is used.
    """

    package: str
    uses: int
    supplied: int
    missing: Counter[str]


def fetch(package: str, work: Path) -> Path:
    """Returns the folder of a package's files, fetched unless it is there.

    Args:
      package: name==version.
      work: the folder that contains it.
    """
    folder = work / package
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=work) as parent:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", parent]
            subprocess.run([*command, package], check=True)
            (file,) = Path(parent).iterdir()
            files = Path(parent, "files")
            if file.suffix == ".whl":
                with zipfile.ZipFile(file) as archive:
                    archive.extractall(files)
            else:
                shutil.unpack_archive(file, files)
            files.rename(folder)
    return folder


def count(package: str, folder: Path) -> Share:
    """Counts the uses of tf.contrib in a folder.

    Args:
      package: what the result is called.
      folder: the folder.
    """
    symbols = [one.symbol for one in audit(str(folder)).findings]
    symbols = [one for one in symbols if one.name.split(".")[:2] == ["tf", "contrib"]]
    missing = Counter(symbol.name for symbol in symbols if not symbol.tf1)
    return Share(package, len(symbols), len(symbols) - sum(missing.values()), missing)


def render(groups: list[list[Share]]) -> str:
    """Returns the table as Markdown, with a sum below each group and one of all.

    Args:
      groups: the packages of each group.
    """
    rows = ["| package | uses of `tf.contrib` | supplied | share | not supplied |"]
    rows.append("|---|--:|--:|--:|---|")
    for number, shares in enumerate(groups, 1):
        rows += [_row(one, _list_names(one.missing)) for one in shares]
        if len(shares) > 1:
            rows.append(_row(_add(f"group {number}: {len(shares)} packages", shares), ""))
    if len(groups) > 1:
        shares = [one for group in groups for one in group]
        rows.append(_row(_add(f"all {len(shares)} packages", shares), ""))
    return "\n".join(rows)


def _add(what: str, shares: list[Share]) -> Share:
    uses, supplied = (sum(counts) for counts in zip(*(one[1:3] for one in shares)))
    return Share(what, uses, supplied, Counter())


def _row(one: Share, names: str) -> str:
    share = f"{100 * one.supplied / one.uses:.1f} %" if one.uses else ""
    package = one.package.replace("==", " ")
    return f"| {package} | {one.uses:,} | {one.supplied:,} | {share} | {names} |"


def _list_names(missing: Counter[str]) -> str:
    words = []
    for name, times in sorted(missing.items()):
        words.append(f"`{name[len('tf.contrib.') :]}`" + (f" ({times})" if times > 1 else ""))
    return ", ".join(words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    text = "packages to count, NAME==VERSION, separated by commas; default: those of the table"
    parser.add_argument("--packages", help=text)
    parser.add_argument("--work", help="folder that keeps the packages for another run")
    options = parser.parse_args()
    groups = [options.packages.split(",")] if options.packages else PACKAGES
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(options.work or temporary)
        work.mkdir(parents=True, exist_ok=True)
        try:
            shares = [[count(one, fetch(one, work)) for one in group] for group in groups]
        except subprocess.CalledProcessError as error:
            print(
                f"{error.cmd[-1]}: pip could not fetch it; check name and version", file=sys.stderr
            )
            return 2
    table = render(shares)
    print(table)
    if not options.packages:
        text = DOCUMENT.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        after = rest.partition(END)[2]
        DOCUMENT.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
