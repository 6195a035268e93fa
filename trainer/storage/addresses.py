"""Parses gs:// addresses and file patterns."""

import os
import re
import unicodedata
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple, Optional

from trainer.errors import UserError
from trainer.storage.partition_names import is_partition

SCHEME = "gs://"
# Where Vertex AI mounts all buckets that a job may read.
MOUNT = "/gcs"
# Of one part of a path, in the usual file systems; what is written beside it has a longer name.
MAX_NAME_BYTES = 200
# Of all parts together: the limit of Cloud Storage. Linux takes paths of 4,095 bytes, to which the
# local folder and the name of a temporary file contribute.
MAX_PATH_BYTES = 1024
MAGIC = re.compile(r"[*?[]")
# What may stand beside a path in a text: white space, quotes, brackets and punctuation. After it,
# also a slash, and a dot at the end of a sentence.
BEFORE_PATH = r"""(?<![^\s"'`(\[{<>|,;:=])"""
AFTER_PATH = r"""(?=[\s"'`)\]}<>|,;:/]|\.*(?:[\s"'`)\]}<>|,;:]|$))"""
# https://cloud.google.com/storage/docs/buckets#naming
BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
IP_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")


class Address(NamedTuple):
    """The address of an object, a folder or a bucket in Cloud Storage.

    Attributes:
        bucket: name of the bucket.
        name: name of an object, or common prefix of several names; "" for the whole bucket.
    """

    bucket: str
    name: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.name}" if self.name else f"{SCHEME}{self.bucket}"

    @property
    def has_magic(self) -> bool:
        """Whether the name is a pattern."""
        return bool(MAGIC.search(self.name))

    @property
    def folder(self) -> str:
        """The name as that of a folder: with a slash at its end; "" for the whole bucket."""
        return self.name.rstrip("/") + "/" if self.name.strip("/") else ""

    def join(self, name: str) -> "Address":
        """Returns the address of an object in the folder.

        Args:
            name: its name, relative to the folder.
        """
        return Address(self.bucket, self.folder + name)

    def mounted(self, mount: str = MOUNT) -> Optional[Path]:
        """Returns the local path of the address in a mount; None if the bucket is not mounted.

        Args:
            mount: the folder in which buckets are mounted.
        """
        root = Path(mount, self.bucket)
        return root / self.name if root.is_dir() else None


def is_remote(path: Optional[str]) -> bool:
    """Returns whether a path is, or looks like, a gs:// address.

    Args:
        path: the path.
    """
    return bool(path) and str(path).startswith(("gs:/", "GS:/"))


def parse_address(text: str, option: str) -> Address:
    """Parses gs://bucket/name.

    Args:
        text: the address.
        option: the option that contains it, for messages.

    Raises:
        UserError: the text is not such an address, or no bucket can have this name.
    """
    if not text.startswith(SCHEME):
        raise UserError(f"{option}: {text!r} is not written gs://BUCKET/NAME")
    bucket, _, name = text[len(SCHEME) :].partition("/")
    wrong = _find_fault(bucket)
    if wrong:
        raise UserError(
            f"{option}: {text!r}: {wrong}; a bucket's name has 3 to 63 lower-case letters, digits, "
            "dashes, underscores and dots, and begins and ends with a letter or digit"
        )
    if "//" in f"/{name}" or any(part in (".", "..") for part in name.split("/")):
        raise UserError(f"{option}: {text!r}: an empty part, . or .. in it; write it out")
    return Address(bucket, name)


def _find_fault(bucket: str) -> Optional[str]:
    if not bucket:
        return "there is no bucket"
    if not BUCKET_NAME.fullmatch(bucket):
        return f"{bucket!r} is no name of a bucket"
    if any(not 0 < len(part) <= 63 for part in bucket.split(".")) or (
        "." not in bucket and len(bucket) > 63
    ):
        return f"{bucket!r} has a part that is empty or too long"
    if IP_ADDRESS.fullmatch(bucket) or bucket.startswith("goog"):
        return f"{bucket!r} is a name that no bucket may have"
    return None


def to_regex(pattern: str) -> "re.Pattern[str]":
    """Returns a regular expression for a file pattern.

    Args:
        pattern: * and ? match within a folder, ** across folders.
    """
    parts = []
    for token in re.findall(r"\*\*/|\*\*|\*|\?|\[!?\]?[^]]*\]|.", pattern, re.DOTALL):
        known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
        if token in known:
            parts.append(known[token])
        elif token.startswith("[") and token not in ("[", "[]", "[!]"):
            parts.append(_translate_set(token))
        else:
            parts.append(re.escape(token))
    return re.compile("".join(parts))


def _translate_set(token: str) -> str:
    """Returns a regular expression for a set of characters, such as [!a-c_], without slashes."""
    is_negated = token.startswith("[!")
    members = "".join(
        re.escape(single) if single else f"{re.escape(first)}-{re.escape(last)}"
        for first, last, single in re.findall(r"(.)-(.)|(.)", token[1 + is_negated : -1], re.DOTALL)
        # A range such as z-a is empty.
        if first <= last
    )
    if is_negated:
        return f"[^/{members}]"
    return f"(?!/)[{members}]" if members else "(?!)"


def literal_prefix(pattern: str) -> str:
    """Returns the longest prefix that all matches of a pattern have.

    Args:
        pattern: a file pattern.
    """
    found = MAGIC.search(pattern)
    return pattern[: found.start()] if found else pattern


def fits_pattern(name: str, pattern: str) -> bool:
    """Returns whether a pattern matches an object, or a partition that contains it.

    Hidden objects count only for a pattern such as _*.csv.

    Args:
        name: of the object.
        pattern: a file pattern.
    """
    matches = to_regex(pattern.rstrip("/")).fullmatch
    if matches(name):
        return is_hidden(pattern) or not is_hidden(name)
    folders = (name[: found.start()] for found in re.finditer("/", name))
    return any(
        matches(folder)
        and is_partition(folder.rpartition("/")[2])
        and is_data(name[len(folder) + 1 :])
        for folder in folders
    )


def is_data(name: str) -> bool:
    """Returns whether an object is a data file of a folder, or of one of its partitions.

    Args:
        name: of the object, relative to the folder.
    """
    *folders, file = name.split("/")
    return not is_hidden(file) and all(map(is_partition, folders))


def check_local_names(address: Address, names: Collection[str]) -> None:
    """Checks that the objects of a folder can be the files of a local folder.

    Args:
        address: the folder in the bucket.
        names: names of its objects, relative to the folder.

    Raises:
        UserError: a file with the name of an object would lie outside the local folder, has a name
            that file systems or terminals do not take, or has the name of a folder.
    """
    for name in names:
        fault = _find_name_fault(name)
        parents = (name[: match.start()] for match in re.finditer("/", name))
        if fault is None and any(parent in names for parent in parents):
            fault = "lies in a folder that has the name of another object"
        if fault is not None:
            raise UserError(f"{address}: the object {name!r:.200} {fault}; remove or rename it")


def _find_name_fault(name: str) -> Optional[str]:
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has an empty part, . or .. and so names a file elsewhere"
    # Python counts no space but that of ASCII as printable.
    if not all(each.isprintable() or unicodedata.category(each) == "Zs" for each in name):
        return "has a character that cannot be printed"
    if max(len(part.encode("utf-8", "replace")) for part in parts) > MAX_NAME_BYTES:
        return f"has a part of more than {MAX_NAME_BYTES} bytes"
    if len(name.encode("utf-8", "replace")) > MAX_PATH_BYTES:
        return f"has a name of more than {MAX_PATH_BYTES:,} bytes"
    return None


def replace_path(text: str, before: str, after: str) -> str:
    """Replaces a path in a text, but not a part of a longer path or name.

    Args:
        text: the text.
        before: a local path or gs:// address without a slash at its end.
        after: the path that takes its place.
    """
    pattern = rf"{BEFORE_PATH}{re.escape(before)}{AFTER_PATH}"
    return re.sub(pattern, lambda match: after, text)


def is_hidden(name: str) -> bool:
    """Returns whether a name is, by convention, the name of a marker or a temporary file.

    Args:
        name: path of a file.
    """
    return os.path.basename(name).startswith((".", "_"))
