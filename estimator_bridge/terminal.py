"""Text for a terminal, without characters that control it.

File names, column names and cell values come from others. A control character among them could
clear the screen, overwrite a line or change the title of the window.
"""

__all__ = ["escape", "escape_lines"]


def escape(text: str) -> str:
    """Returns text on one line, with unprintable characters as in a Python literal.

    Args:
      text: any text.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def escape_lines(text: str) -> str:
    """Returns text with unprintable characters as in a Python literal, except line ends.

    Args:
      text: any text.
    """
    return "\n".join(map(escape, text.split("\n")))
