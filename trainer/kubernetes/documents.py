"""Writes manifests as YAML."""

from collections.abc import Sequence
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Writes repeated values in full, because people read and edit manifests."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def to_yaml(documents: Sequence[dict[str, Any]]) -> str:
    """Returns manifests as YAML, without anchors.

    Args:
        documents: the manifests.
    """
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=100)
