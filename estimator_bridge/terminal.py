"""Text for a terminal, without characters that control it.

File names, column names and cell values come from others. A control character among them could
clear the screen, overwrite a line or change the title of the window.
"""

import shlex

__all__ = ["escape", "escape_lines", "quote_command"]


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


def quote_command(*words: str) -> str:
    """Returns a command that a user can copy into a shell, on one line.

    Names of files come from others: unquoted, a shell would run what they contain.

    Args:
      *words: the program and its arguments, each as the program receives it.
    """
    return escape(shlex.join(words))
