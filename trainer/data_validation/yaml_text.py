"""Writes values as YAML on one line."""

from typing import Any

import yaml


class _OneLineDumper(yaml.SafeDumper):
    """Escapes the line breaks of texts: a single-quoted text would continue on further lines."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    has_line_break = any(character in text for character in "\n\r\x85\u2028\u2029")
    style = '"' if has_line_break else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_OneLineDumper.add_representer(str, _represent_text)


def flow(value: Any) -> str:
    """Returns a value as YAML on one line.

    Args:
        value: plain values, lists and dicts.
    """
    return str(
        yaml.dump(
            value,
            Dumper=_OneLineDumper,
            default_flow_style=True,
            sort_keys=False,
            width=10**9,
            allow_unicode=True,
        )
    ).strip()
