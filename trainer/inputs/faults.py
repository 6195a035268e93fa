"""What can be wrong with a row."""

from typing import NamedTuple


class Fault(NamedTuple):
    """What is wrong in one column of some rows.

    Attributes:
        column: its name; "" where the row as a whole is wrong.
        kind: fields, unparsable, not finite, missing, label missing, unknown class, negative,
            not a date, not an image, unpaired or other length.
        text: what is told of a value; {value} stands for it.
        remedy: what to do.
    """

    column: str
    kind: str
    text: str
    remedy: str
