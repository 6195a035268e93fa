"""Checks of names and quantities in manifests: jobs, images, claims, Secrets, labels and taints."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from trainer.errors import UserError
from trainer.kubernetes import security

# A role and a number are appended to the name. The result is a host name, which may have at most 63
# characters.
NAME = re.compile(r"[a-z]([a-z0-9-]{0,43}[a-z0-9])?")
CPU = re.compile(r"(?=.*[1-9])[0-9]+(\.[0-9]+)?m?")
# A thousand is a small k.
BYTES = re.compile(r"(?=.*[1-9])(?P<number>[0-9]+(\.[0-9]+)?)(?P<unit>k|[MGT]|[KMGT]i)?")
CLAIM = re.compile(r"(?P<claim>[a-z0-9]([a-z0-9.-]*[a-z0-9])?):(?P<path>/[^\s:]*)")
IMAGE = re.compile(
    r"[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)*(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?", re.ASCII
)
SUBDOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
# Key of a label or a taint; the optional prefix is a domain.
KEY = r"(?P<key>([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)"
VALUE = r"(?P<value>([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?)"
LABEL = re.compile(rf"{KEY}={VALUE}", re.ASCII)
TAINT = re.compile(
    rf"{KEY}(?P<equal>={VALUE})?(:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute))?", re.ASCII
)


def check_names(values: Mapping[str, Any]) -> None:
    """Checks the options of render that a manifest contains.

    Args:
        values: option → its text; None if it is not given.

    Raises:
        UserError: a value is invalid.
    """
    for option, pattern, example in (
        ("name", NAME, "lower-case letters, digits and -, at most 45, a letter first"),
        ("cpu", CPU, "a quantity such as 4 or 500m"),
        ("memory", BYTES, "a quantity such as 8Gi"),
        ("disk", BYTES, "a quantity such as 50Gi"),
        ("volume", CLAIM, "CLAIM:/PATH"),
        ("image", IMAGE, "REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST"),
        ("namespace", SUBDOMAIN, "lower-case letters, digits and -"),
        ("service_account", SUBDOMAIN, "the name of a ServiceAccount"),
        ("secret", SUBDOMAIN, "the name of a Secret"),
    ):
        value = values[option]
        if value and not pattern.fullmatch(value):
            raise UserError(f"--{option}={value}: write {example}")
    claim = CLAIM.fullmatch(values["volume"] or "")
    if claim and claim["path"].rstrip("/") in ("", *security.WRITABLE.values()):
        raise UserError(
            f"--volume={values['volume']}: the container has a folder of its own there; choose "
            "another path, such as /mnt/job"
        )


def parse_node_selector(texts: Iterable[str]) -> dict[str, str]:
    """Returns the labels that a node must have, by key.

    Args:
        texts: KEY=VALUE.

    Raises:
        UserError: a text is not a label, or two labels have the same key.
    """
    found: dict[str, str] = {}
    for text in texts:
        match = LABEL.fullmatch(text)
        if match is None:
            raise UserError(f"--node_selector={text}: write KEY=VALUE, a label of the nodes")
        if match["key"] in found:
            raise UserError(
                f"--node_selector={text}: {match['key']} is given twice, and a node has only one "
                "value of a label; remove one"
            )
        found[match["key"]] = match["value"]
    return found


def parse_tolerations(texts: Iterable[str]) -> list[dict[str, str]]:
    """Returns the tolerations of a PodSpec.

    Args:
        texts: KEY[=VALUE][:EFFECT]; without VALUE, every value is tolerated; without EFFECT, every
            effect.

    Raises:
        UserError: a text is not a taint.
    """
    found = []
    for text in texts:
        match = TAINT.fullmatch(text)
        if match is None:
            raise UserError(
                f"--toleration={text}: write KEY[=VALUE][:EFFECT], with the effect NoSchedule, "
                "PreferNoSchedule or NoExecute"
            )
        value = {"operator": "Equal", "value": match["value"]} if match["equal"] else None
        effect = {"effect": match["effect"]} if match["effect"] else {}
        found.append({"key": match["key"], **(value or {"operator": "Exists"}), **effect})
    return found
