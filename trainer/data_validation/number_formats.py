"""Recognises numbers and dates in texts that no column type can read."""

import re
from collections.abc import Sequence
from typing import NamedTuple, Optional

_GROUPED = r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?"
_POINTS = r"\d{1,3}(\.\d{3})+(,\d+)?"
_BLANKS = r"\d{1,3}([ '’\u00a0\u2009\u202f]\d{3})+([.,]\d+)?"
_PLAIN = r"\d+([.,]\d+)?"
_SIGN = r"[+\-−]?\s?"
_AMOUNT = rf"({_GROUPED}|{_POINTS}|{_BLANKS}|{_PLAIN})"
_CURRENCY = r"([$€£¥₹₩₽]|US\$|USD|EUR|GBP|CHF|JPY|INR|CAD|AUD|kr|zł)"
_TIME = r"([T ,]+\d{1,2}:\d{2}.*)?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"


class Format(NamedTuple):
    """A way to write numbers or dates.

    Attributes:
        name: what the texts are, in the plural.
        all_of: pattern of every text of such a column.
        one_of: pattern of at least one of them.
        remedy: what to write instead.
        fields: fields of the column in the schema after that.
    """

    name: str
    all_of: str
    one_of: str
    remedy: str
    fields: str


_NUMBER = "{type: float, default: mean}"
_DATE = "{type: string, date: [year, month, weekday]}"
# In the order in which they are tried: 1,250 counts as thousands, 1,25 and 0,250 as decimal commas.
FORMATS = (
    Format(
        "percentages",
        rf"{_SIGN}({_AMOUNT}|\.\d+)\s?%",
        "%",
        "write 12.5 in place of 12.5 %",
        _NUMBER,
    ),
    Format(
        "amounts of money",
        rf"\(?{_SIGN}{_CURRENCY}?\s?{_SIGN}{_AMOUNT}\s?{_CURRENCY}?\)?",
        _CURRENCY,
        "write 1250.5 in place of $1,250.50",
        _NUMBER,
    ),
    Format(
        "numbers with separators of thousands",
        rf"{_SIGN}({_GROUPED}|\d{{1,3}}(\.\d+)?)",
        r"^\D*[1-9]\d*,",
        "write 1250 in place of 1,250",
        _NUMBER,
    ),
    Format(
        "numbers with a decimal comma",
        rf"{_SIGN}({_POINTS}|\d*,\d+|\d+)",
        ",",
        "write 12.5 in place of 12,5",
        _NUMBER,
    ),
    Format(
        "numbers with separators of thousands",
        rf"{_SIGN}({_BLANKS}|{_POINTS}|\d{{1,3}}([.,]\d+)?)",
        rf"^\D*({_BLANKS}|{_POINTS})",
        "write 1250 in place of 1 250 or 1.250",
        _NUMBER,
    ),
    Format(
        "dates",
        rf"(\d{{1,2}}[./-]\d{{1,2}}[./-](\d{{4}}|\d{{2}})|\d{{4}}[./]\d{{1,2}}[./]\d{{1,2}}|"
        rf"\d{{1,2}}[ .-]*{_MONTH}[ ,.-]*(\d{{4}}|\d{{2}})|{_MONTH}[ -]*\d{{1,2}}[ ,-]+\d{{4}})"
        rf"{_TIME}",
        "",
        "write 2020-12-31, or 2020-12-31 07:00",
        _DATE,
    ),
)


def find_format(texts: Sequence[str]) -> Optional[Format]:
    """Returns the format that all texts have; None if there is no such format.

    Args:
        texts: different values of a column that is neither a number nor a date in ISO 8601.
    """
    words = [text.strip() for text in texts]
    for each in FORMATS:
        pattern, mark = re.compile(each.all_of, re.I), re.compile(each.one_of, re.I)
        if all(map(pattern.fullmatch, words)) and any(map(mark.search, words)):
            return each
    return None
