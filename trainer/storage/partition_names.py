"""Names of Hive partitions: folders such as dt=2024-01-31, which have the value of a column."""

import os
import re
from collections.abc import Sequence
from typing import Optional
from urllib.parse import unquote

# Name of a partition folder: a column and its value. Spark escapes special characters as %XX.
PARTITION = re.compile(r"([^=./][^=]*)=([^=]+)")
# Value of the folder of the rows without a value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def is_partition(name: str) -> bool:
    """Returns whether a folder contains the rows with one value of a column.

    Args:
        name: of the folder, without its path.
    """
    return PARTITION.fullmatch(name) is not None


def parse_partitions(path: str) -> dict[str, Optional[str]]:
    """Returns the values in the names of a file's folders: column → text; None: no value.

    Args:
        path: of a file, local or gs://.
    """
    found = map(PARTITION.fullmatch, os.path.dirname(path).split("/"))
    pairs = [(unquote(each[1]), unquote(each[2])) for each in found if each]
    return {name: None if value == NO_VALUE else value for name, value in pairs}


def list_varying(paths: Sequence[str]) -> list[str]:
    """Returns the partition columns that have several values in a data set.

    Args:
        paths: of its files.
    """
    seen: dict[str, set[Optional[str]]] = {}
    for path in paths:
        for name, value in parse_partitions(path).items():
            seen.setdefault(name, set()).add(value)
    return [name for name, values in seen.items() if len(values) > 1]
