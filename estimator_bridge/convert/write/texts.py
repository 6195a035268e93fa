"""Writes Keras code that splits texts at separators, into words, or into the parts of dates.

Keras has no operation that splits a text at a separator. However, it has a layer that converts a
text to character codes, and its operation `add` joins texts. The written functions split the
character codes of each row and, for a lookup, convert the parts to texts again.
"""

from typing import Any, NamedTuple, Optional

from ..plan.columns import Vocabulary, quoted
from ..plan.derived import DatePart, Filled, IsMissing, Renamed, Words, dtype_of, is_from_text
from .text_functions import CODE_OF_DATES

__all__ = ["CODE_OF_TEXTS", "DerivedVariables", "alphabet_lines", "characters_of", "write_derived"]


class DerivedVariables(NamedTuple):
    """The variables of a derived feature in the written code, by name.

    Attributes:
      values: [batch, values].
      present: bool [batch, values], whether each value is present; "" if the values contain this
        information themselves.
    """

    values: str
    present: str


# Name -> (names of the functions that it calls, source), as in CODE_OF_HELPERS.
CODE_OF_TEXTS: dict[str, tuple[tuple[str, ...], str]] = {
    "cut": (
        (),
        '''
def code_of(character):
    """Returns the code of a character; 0 means none, and 1 a character outside ALPHABET."""
    return CODES[character]


def character_codes(texts, to_codes):
    """Returns the character codes [batch, longest + 16] of texts [batch, 1], padded with 0."""
    padding = ops.repeat(ops.zeros_like(texts, dtype="int64"), 16, axis=1)
    return ops.concatenate([to_codes(texts), padding], axis=1)


def positions_in(values):
    """Returns 0, 1, 2 ... [1, columns] for values [batch, columns]."""
    columns = ops.sum(ops.zeros_like(values, dtype="int64"), axis=0, keepdims=True)
    return ops.subtract(ops.cumsum(ops.add(columns, 1), axis=1), 1)


def first_columns(values, wanted):
    """Returns as many columns of values [batch, columns] as the largest number in `wanted`."""
    kept = ops.less(positions_in(values), ops.max(wanted, initial=0))
    return ops.take(values, ops.nonzero(ops.any(kept, axis=0))[0], axis=1)


def count_from_here(marked):
    """Counts the marks from each position to the end of the last axis."""
    return ops.flip(ops.cumsum(ops.flip(ops.cast(marked, "int64"), -1), axis=-1), -1)


def strip(codes):
    """Replaces the blanks at both ends of the last axis by 0."""
    solid = ops.logical_or(ops.equal(codes, 1), ops.greater(codes, 1 + len(BLANKS)))
    begun = ops.greater(ops.cumsum(ops.cast(solid, "int64"), axis=-1), 0)
    return ops.where(ops.logical_and(begun, ops.greater(count_from_here(solid), 0)), codes, 0)


def cut(codes, starts, ends):
    """Cuts parts out of character codes [batch, all]: [batch, parts, a multiple of 16].

    starts, ends: positions [batch, parts]; both 0 for no part. Parts are padded with 0.
    """
    wanted = ops.floor_divide(ops.add(ops.subtract(ends, starts), 15), 16)
    wanted = ops.maximum(ops.multiply(wanted, 16), 16)
    steps = ops.expand_dims(first_columns(positions_in(codes), wanted), 0)
    where = ops.add(ops.expand_dims(starts, 2), steps)
    inside = ops.less(where, ops.expand_dims(ends, 2))
    where = ops.where(inside, where, ops.zeros_like(where))
    return ops.where(inside, ops.take_along_axis(ops.expand_dims(codes, 1), where, axis=2), 0)


def cut_marked(codes, begins, ends, number):
    """Cuts out `number` [batch, 1] parts, whose positions are marked in `begins` and `ends`.

    Returns the parts, and which of them exist.
    """
    positions = positions_in(codes)
    exists = ops.less(positions, number)

    def listed(marked):
        at = ops.sort(ops.where(marked, positions, ops.max(positions)), axis=1)
        return first_columns(ops.where(exists, at, ops.zeros_like(at)), ops.maximum(number, 1))

    parts = cut(codes, listed(begins), listed(ends))
    return parts, first_columns(exists, ops.maximum(number, 1))
''',
    ),
    "split_at": (
        ("cut",),
        '''
def split_at(texts, separator, to_codes):
    """Splits texts [batch, 1]: character codes [batch, parts, ...], and which parts exist.

    A blank text has no parts; a part between two separators may be empty.
    """
    codes = strip(character_codes(texts, to_codes))
    found = None
    for index, character in enumerate(separator):
        here = ops.equal(codes, code_of(character))
        if index:
            here = ops.concatenate([here[:, index:], ops.zeros_like(here[:, :index])], axis=1)
        found = here if found is None else ops.logical_and(found, here)
    size = len(separator)
    # A text ends after its last character; blanks before the first are stripped below.
    rest = count_from_here(ops.greater(codes, 0))
    begins = ops.concatenate([ops.zeros_like(found[:, :size]), found[:, :-size]], axis=1)
    begins = ops.logical_or(begins, ops.equal(positions_in(codes), 0))
    last = ops.logical_and(ops.equal(rest, 0), ops.greater(shift_right(rest), 0))
    number = ops.sum(ops.cast(ops.logical_or(found, last), "int64"), axis=1, keepdims=True)
    parts, exists = cut_marked(codes, begins, ops.logical_or(found, last), number)
    return strip(parts), exists


def shift_right(values):
    """Moves values [batch, columns] to the next column; the first column becomes 0."""
    return ops.concatenate([ops.zeros_like(values[:, :1]), values[:, :-1]], axis=1)
''',
    ),
    "split_words": (
        ("cut",),
        '''
def split_words(texts, to_codes, lower, max_words=None):
    """Splits texts [batch, 1] into words: character codes [batch, words, ...]."""
    codes = character_codes(texts, to_codes)
    letters = ops.greater_equal(codes, code_of("0"))
    if lower:
        capitals = [c for c in ALPHABET if c.lower() != c and c.lower() in CODES]
        small = np.array([0] + [code_of(c.lower()) for c in capitals], "int64")
        index = layers.IntegerLookup(vocabulary=[code_of(c) for c in capitals])(codes)
        codes = ops.where(ops.greater(index, 0), ops.take(small, index), codes)
    before = ops.concatenate([ops.zeros_like(letters[:, :1]), letters[:, :-1]], axis=1)
    begins = ops.logical_and(letters, ops.logical_not(before))
    ends = ops.logical_and(before, ops.logical_not(letters))
    number = ops.sum(ops.cast(begins, "int64"), axis=1, keepdims=True)
    words, _ = cut_marked(codes, begins, ends, number)
    return words if max_words is None else words[:, :max_words]
''',
    ),
    "to_strings": (
        (),
        '''
def to_strings(parts, to_characters):
    """Converts character codes [batch, parts, ...] to texts [batch, parts]."""
    # `add` could treat its second argument as a bias; the axes of size 1 prevent it.
    codes = ops.expand_dims(ops.expand_dims(parts, 1), -1)
    # In a functional model the output of the layer is declared as integers.
    texts = ops.cast(to_characters(codes), "string")
    nothing = ops.cast(to_characters(ops.zeros_like(codes[:, :, :, ::16])), "string")
    for _ in range(4):
        texts = ops.add(texts[:, :, :, ::2], texts[:, :, :, 1::2])
    for step in (1, 2, 4, 8, 16, 32, 64, 128):
        moved = ops.concatenate([texts[:, :, :, step:], nothing[:, :, :, :step]], axis=3)
        texts = ops.add(texts, moved)
    return texts[:, 0, :, 0, 0]
''',
    ),
    "ngrams_of": (
        (),
        '''
def ngrams_of(words, ngrams):
    """Returns words [batch, words] and sequences of up to `ngrams` of them, joined by blanks.

    Rows are padded with "".
    """
    shaped = ops.expand_dims(ops.expand_dims(words, 1), -1)
    found, sequence = [shaped], shaped
    for number in range(1, ngrams):
        sequence = ops.add(ops.add(sequence[:, :, :-1], " "), shaped[:, :, number:])
        present = ops.not_equal(shaped[:, :, number:], "")
        found.append(ops.where(present, sequence, shaped[:, :, number:]))
    return ops.concatenate(found, axis=2)[:, 0, :, 0]
''',
    ),
    "to_integers": (
        ("cut",),
        '''
def to_integers(parts, empty):
    """Converts character codes [batch, parts, ...] to int64 [batch, parts]; `empty` for none."""
    digits = ops.subtract(parts, code_of("0"))
    is_digit = ops.logical_and(ops.greater_equal(digits, 0), ops.less(digits, 10))
    after = ops.subtract(count_from_here(is_digit), ops.cast(is_digit, "int64"))
    power = ops.take(np.array([10**n for n in range(19)], "int64"), ops.minimum(after, 18))
    total = ops.sum(ops.multiply(ops.where(is_digit, digits, 0), power), axis=-1)
    negative = ops.any(ops.equal(parts, code_of("-")), axis=-1)
    total = ops.where(negative, ops.negative(total), total)
    return ops.where(ops.any(is_digit, axis=-1), total, np.array(empty, "int64"))
''',
    ),
    "to_floats": (
        ("cut",),
        '''
def to_floats(parts):
    """Converts character codes [batch, parts, ...] to float32 [batch, parts]; 0 for none."""
    scale = ops.logical_or(ops.equal(parts, code_of("e")), ops.equal(parts, code_of("E")))
    in_scale = ops.greater(ops.cumsum(ops.cast(scale, "int64"), axis=-1), 0)

    def total(part):
        digits = ops.subtract(parts, code_of("0"))
        is_digit = ops.logical_and(ops.greater_equal(digits, 0), ops.less(digits, 10))
        is_digit = ops.logical_and(is_digit, part)
        after = ops.cast(ops.subtract(count_from_here(is_digit), 1), "float64")
        power = ops.power(np.array(10.0, "float64"), ops.maximum(after, 0.0))
        size = ops.multiply(ops.cast(ops.where(is_digit, digits, 0), "float64"), power)
        negative = ops.any(ops.logical_and(part, ops.equal(parts, code_of("-"))), axis=-1)
        size = ops.sum(size, axis=-1)
        return ops.where(negative, ops.negative(size), size), is_digit

    mantissa, is_digit = total(ops.logical_not(in_scale))
    exponent, _ = total(in_scale)
    decimals = ops.cumsum(ops.cast(ops.equal(parts, code_of(".")), "int64"), axis=-1)
    decimals = ops.logical_and(is_digit, ops.greater(decimals, 0))
    exponent = ops.subtract(exponent, ops.sum(ops.cast(decimals, "float64"), axis=-1))
    factor = ops.power(np.array(10.0, "float64"), ops.abs(exponent))
    divided = ops.divide(mantissa, factor)
    value = ops.where(ops.less(exponent, 0.0), divided, ops.multiply(mantissa, factor))
    return ops.cast(value, "float32")
''',
    ),
    **CODE_OF_DATES,
}


def characters_of(plan: Any) -> Optional[set[str]]:
    """Returns the characters that the alphabet of a model needs; None for all of Unicode.

    The values of a vocabulary need only its characters, but a hashed text may contain any.

    Args:
      plan: the model.
    """
    kinds = {one.name: one for one in plan.derived}
    if any(isinstance(one, Words) for one in plan.derived):
        return None
    found = set("0123456789+-.:eET ")
    for one in plan.derived:
        found |= set(getattr(one, "separator", ""))
    pending = [*plan.wide, *plan.deep, *plan.context]
    while pending:
        column = pending.pop()
        below = getattr(column, "sources", getattr(column, "keys", None))
        below = below or [getattr(column, "source", None)]
        pending += [one for one in below if one is not None]
        key = getattr(column, "key", None)
        if key in kinds and is_from_text(kinds[key]) and dtype_of(kinds[key]) == "string":
            if not isinstance(column, Vocabulary) or column.oov_buckets:
                return None
            found.update(*column.values)
    return found


def alphabet_lines(characters: Any) -> list[str]:
    """Returns the lines of code that define ALPHABET and CODES.

    Args:
      characters: the characters; None for all of Unicode.
    """
    if characters is None:
        definition = [
            "# All assigned characters of Unicode, without the private planes.",
            "CHARACTERS = map(chr, range(1, 0xF0000))",
            'CHARACTERS = [c for c in CHARACTERS if unicodedata.category(c) not in ("Cn", "Cs")]',
        ]
    else:
        known = "".join(sorted(characters))
        lines = [repr(known[start : start + 60]) for start in range(0, len(known), 60)]
        definition = ["CHARACTERS = (", *(f"    {line}" for line in lines), ")"]
    return [
        'BLANKS, DIGITS = " \\t\\n\\v\\f\\r", "0123456789"',
        *definition,
        "",
        "",
        "def order_alphabet(characters):",
        '    """Returns blanks, other signs, digits, letters: each kind is a range of codes."""',
        '    rest = sorted(set(characters) - set(BLANKS + DIGITS + "\\ufffd"))',
        '    is_letter = [unicodedata.category(c)[0] in "LMN" or c == "\'" for c in rest]',
        "    others = [c for c, letter in zip(rest, is_letter) if not letter]",
        "    letters = [c for c, letter in zip(rest, is_letter) if letter]",
        "    return [*BLANKS, *others, *DIGITS, *letters]",
        "",
        "",
        "ALPHABET = order_alphabet(CHARACTERS)",
        "CODES = {character: code for code, character in enumerate(ALPHABET, start=2)}",
    ]


def _layers_of(writer: Any) -> tuple[str, str]:
    """Returns the variables of the layers that convert texts to codes and back, written once."""
    to_codes = writer.once(
        "to_codes",
        lambda: writer.write(
            "to_codes",
            'layers.TextVectorization(standardize=None, split="character", '
            "vocabulary=np.array(ALPHABET))",
        ),
    )
    to_characters = writer.once(
        "to_characters",
        lambda: writer.write(
            "to_characters",
            'layers.StringLookup(vocabulary=np.array(ALPHABET), invert=True, mask_token="", '
            'oov_token="\\ufffd")',
        ),
    )
    return to_codes, to_characters


def write_derived(writer: Any, one: Any) -> DerivedVariables:
    """Writes the code of a derived feature; returns its variables.

    Args:
      writer: the ColumnWriter of the module.
      one: the derived feature.
    """
    texts = f"inputs[{quoted(one.source)}]"
    if isinstance(one, Renamed):
        return DerivedVariables(texts, "")
    if isinstance(one, Filled):
        filled = f"ops.where(ops.isnan({texts}), {one.value!r}, {texts})"
        return DerivedVariables(writer.write(one.name, filled), "")
    if isinstance(one, IsMissing):
        ids = f'ops.subtract(ops.cast(ops.isnan({texts}), "int64"), 1)'
        return DerivedVariables(writer.write(one.name, ids), "")
    to_codes, to_characters = _layers_of(writer)
    if isinstance(one, DatePart):
        parts = writer.once(
            ("date", one.source),
            lambda: writer.write(
                f"{one.source}_parts", f"{writer.use('parse_dates')}({texts}, {to_codes})"
            ),
        )
        return DerivedVariables(writer.write(one.name, f'{parts}["{one.part}"]'), "")
    if isinstance(one, Words):
        words = f"{writer.use('split_words')}({texts}, {to_codes}, {one.lower}, {one.max_words})"
        words = f"{writer.use('to_strings')}({words}, {to_characters})"
        if one.ngrams > 1:
            words = f"{writer.use('ngrams_of')}({words}, {one.ngrams})"
        return DerivedVariables(writer.write(one.name, words), "")
    call = f"{writer.use('split_at')}({texts}, {one.separator!r}, {to_codes})"
    parts, exists = writer.once(
        ("split", one.source, one.separator),
        lambda: _write_split(writer, one.source, call),
    )
    return _write_values(writer, one, (parts, exists), to_characters)


def _write_values(
    writer: Any, one: Any, split: tuple[str, str], to_characters: str
) -> DerivedVariables:
    """Writes the conversion of the parts of a text to the dtype of the feature."""
    parts, exists = split
    if one.dtype == "string":
        values = writer.write(one.name, f"{writer.use('to_strings')}({parts}, {to_characters})")
        return DerivedVariables(values, exists if one.ordered else "")
    if one.dtype == "float32":
        values = f"{writer.use('to_floats')}({parts})"
        if one.ordered:
            values = f"ops.where({exists}, {values}, np.nan)"
        return DerivedVariables(writer.write(one.name, values), "")
    values = writer.write(one.name, f"{writer.use('to_integers')}({parts}, -1)")
    if not one.ordered:
        exists = writer.write(f"{one.name}_present", f"ops.any(ops.greater({parts}, 0), axis=-1)")
    return DerivedVariables(values, exists)


def _write_split(writer: Any, source: str, call: str) -> tuple[str, str]:
    parts, exists = writer.fresh(f"{source}_parts"), writer.fresh(f"{source}_exists")
    writer.lines.append(f"{parts}, {exists} = {call}")
    return parts, exists
