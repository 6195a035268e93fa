"""Names of text encodings."""

import codecs

__all__ = ["find_encoding"]


def find_encoding(name: str) -> str:
    """Returns Python's name of a text encoding.

    Args:
      name: any of its names, such as UTF8 or windows-1252.

    Raises:
      ValueError: there is no such encoding of text.
    """
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        found = None
    # Codecs such as base64 convert bytes to bytes.
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise ValueError(f"got {name!r}: no such text encoding; use utf-8, cp1252 or utf-16")
    return found.name
