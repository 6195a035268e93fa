"""The form of what a manifest names: jobs, images, quantities, claims and Secrets."""

import re
from collections.abc import Mapping
from typing import Any

from trainer.errors import UserError

# A role and a number are appended to the name. The result is a host name, which may have at most 63
# characters.
NAME = re.compile(r"[a-z]([a-z0-9-]{0,43}[a-z0-9])?")
QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|[KMGT]i?)?")
CLAIM = re.compile(r"(?P<claim>[a-z0-9]([a-z0-9.-]*[a-z0-9])?):(?P<path>/[^\s:]*)")
IMAGE = re.compile(
    r"[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)*(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?", re.ASCII
)
SUBDOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def check_names(values: Mapping[str, Any]) -> None:
    """Checks the options of render that a manifest contains.

    Args:
        values: option → its text; None if it is not given.

    Raises:
        UserError: a value is invalid.
    """
    for option, pattern, example in (
        ("name", NAME, "lower-case letters, digits and -, at most 45"),
        ("cpu", QUANTITY, "a quantity such as 4 or 500m"),
        ("memory", QUANTITY, "a quantity such as 8Gi"),
        ("disk", QUANTITY, "a quantity such as 50Gi"),
        ("volume", CLAIM, "CLAIM:/PATH"),
        ("image", IMAGE, "REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST"),
        ("namespace", SUBDOMAIN, "lower-case letters, digits and -"),
        ("service_account", SUBDOMAIN, "the name of a ServiceAccount"),
        ("secret", SUBDOMAIN, "the name of a Secret"),
    ):
        value = values[option]
        if value and not pattern.fullmatch(value):
            raise UserError(f"--{option}={value}: write {example}")
