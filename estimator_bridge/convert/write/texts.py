"""Keras code that takes texts apart: values between separators, words, parts of dates.

Keras has no operation that splits a text at a separator. It has a layer that turns a text into the
numbers of its characters, and its `add` joins texts: the written functions cut rows of such numbers
into pieces and, where a text is looked up, spell them out again.
"""

from typing import Any, NamedTuple, Optional

from ..plan.columns import Vocabulary, quoted
from ..plan.derived import DatePart, Renamed, Words, dtype_of, is_from_text
from .text_functions import CODE_OF_DATES

__all__ = ["CODE_OF_TEXTS", "Taken", "alphabet_lines", "characters_of", "write_derived"]


class Taken(NamedTuple):
    """Names of variables of the written code.

    Attributes:
      values: [batch, values].
      given: [batch, values] bool, where there is a value; empty where the values tell.
    """

    values: str
    given: str


# As CODE_OF_HELPERS: functions of the written module, each with the names of those that it needs.
CODE_OF_TEXTS: dict[str, tuple[tuple[str, ...], str]] = {
    "cut": (
        (),
        '''
def code_of(character):
    """The number of a character; 0 is none, and 1 one that ALPHABET does not have."""
    return ALPHABET.index(character) + 2


def number_characters(texts, spell):
    """Numbers of the characters of texts [batch, 1]: [batch, most + 16], 0 after the last."""
    padding = ops.repeat(ops.zeros_like(texts, dtype="int64"), 16, axis=1)
    return ops.concatenate([spell(texts), padding], axis=1)


def places_in(values):
    """0, 1, 2 ... [1, columns] for values [batch, columns]."""
    columns = ops.sum(ops.zeros_like(values, dtype="int64"), axis=0, keepdims=True)
    return ops.subtract(ops.cumsum(ops.add(columns, 1), axis=1), 1)


def first_columns(values, wanted):
    """As many columns of values [batch, columns] as the largest number in `wanted`."""
    there = ops.less(places_in(values), ops.max(wanted, initial=0))
    return ops.take(values, ops.nonzero(ops.any(there, axis=0))[0], axis=1)


def count_on(there):
    """How many are there from each place on, along the last axis."""
    return ops.flip(ops.cumsum(ops.flip(ops.cast(there, "int64"), -1), axis=-1), -1)


def strip(codes):
    """Characters with 0 in the place of blanks at both ends, along the last axis."""
    solid = ops.logical_or(ops.equal(codes, 1), ops.greater(codes, 1 + len(BLANKS)))
    begun = ops.greater(ops.cumsum(ops.cast(solid, "int64"), axis=-1), 0)
    return ops.where(ops.logical_and(begun, ops.greater(count_on(solid), 0)), codes, 0)


def cut(codes, starts, ends):
    """SplitText of texts: characters [batch, all] to [batch, pieces, a multiple of 16].

    starts, ends: places [batch, pieces]; both 0 for no piece. Beside a piece there are zeros.
    """
    wanted = ops.floor_divide(ops.add(ops.subtract(ends, starts), 15), 16)
    wanted = ops.maximum(ops.multiply(wanted, 16), 16)
    steps = ops.expand_dims(first_columns(places_in(codes), wanted), 0)
    where = ops.add(ops.expand_dims(starts, 2), steps)
    inside = ops.less(where, ops.expand_dims(ends, 2))
    where = ops.where(inside, where, ops.zeros_like(where))
    return ops.where(inside, ops.take_along_axis(ops.expand_dims(codes, 1), where, axis=2), 0)


def between(codes, begins, ends, number):
    """The pieces whose places are marked in `begins` and `ends`, `number` [batch, 1] of them."""
    places = places_in(codes)
    there = ops.less(places, number)

    def listed(marked):
        at = ops.sort(ops.where(marked, places, ops.max(places)), axis=1)
        return first_columns(ops.where(there, at, ops.zeros_like(at)), ops.maximum(number, 1))

    pieces = cut(codes, listed(begins), listed(ends))
    return pieces, first_columns(there, ops.maximum(number, 1))
''',
    ),
    "split_at": (
        ("cut",),
        '''
def split_at(texts, separator, spell):
    """The pieces of texts [batch, 1]: characters [batch, pieces, ...], and which are there.

    A text of blanks alone has none; one between two separators may be empty.
    """
    codes = strip(number_characters(texts, spell))
    found = None
    for index, character in enumerate(separator):
        here = ops.equal(codes, code_of(character))
        if index:
            here = ops.concatenate([here[:, index:], ops.zeros_like(here[:, :index])], axis=1)
        found = here if found is None else ops.logical_and(found, here)
    size = len(separator)
    # A text goes on to behind its last character; blanks before the first are stripped anyway.
    rest = count_on(ops.greater(codes, 0))
    nothing = ops.zeros_like(found[:, :1])
    begins = ops.concatenate([ops.zeros_like(found[:, :size]), found[:, :-size]], axis=1)
    begins = ops.logical_or(begins, ops.equal(places_in(codes), 0))
    last = ops.logical_and(ops.equal(rest, 0), ops.greater(shift_right(rest), 0))
    number = ops.sum(ops.cast(ops.logical_or(found, last), "int64"), axis=1, keepdims=True)
    pieces, there = between(codes, begins, ops.logical_or(found, last), number)
    return strip(pieces), there


def shift_right(values):
    """Each value [batch, columns] one column on; 0 comes first."""
    return ops.concatenate([ops.zeros_like(values[:, :1]), values[:, :-1]], axis=1)
''',
    ),
    "split_words": (
        ("cut",),
        '''
def split_words(texts, spell, lower, max_words=None):
    """The words of texts [batch, 1]: characters [batch, words, ...]."""
    codes = number_characters(texts, spell)
    letters = ops.greater_equal(codes, code_of("0"))
    if lower:
        capitals = [c for c in ALPHABET if c.lower() != c and c.lower() in ALPHABET_SET]
        small = np.array([0] + [code_of(c.lower()) for c in capitals], "int64")
        index = layers.IntegerLookup(vocabulary=[code_of(c) for c in capitals])(codes)
        codes = ops.where(ops.greater(index, 0), ops.take(small, index), codes)
    before = ops.concatenate([ops.zeros_like(letters[:, :1]), letters[:, :-1]], axis=1)
    begins = ops.logical_and(letters, ops.logical_not(before))
    ends = ops.logical_and(before, ops.logical_not(letters))
    number = ops.sum(ops.cast(begins, "int64"), axis=1, keepdims=True)
    words, _ = between(codes, begins, ends, number)
    return words if max_words is None else words[:, :max_words]
''',
    ),
    "spell_out": (
        (),
        '''
def spell_out(pieces, spelled):
    """Characters [batch, pieces, ...] to texts [batch, pieces]."""
    # `add` would take its second argument for a bias; between axes of size 1 nothing looks like it.
    codes = ops.expand_dims(ops.expand_dims(pieces, 1), -1)
    # The layer takes what it gives for integers.
    texts = ops.cast(spelled(codes), "string")
    nothing = ops.cast(spelled(ops.zeros_like(codes[:, :, :, ::16])), "string")
    for _ in range(4):
        texts = ops.add(texts[:, :, :, ::2], texts[:, :, :, 1::2])
    for step in (1, 2, 4, 8, 16, 32, 64, 128):
        moved = ops.concatenate([texts[:, :, :, step:], nothing[:, :, :, :step]], axis=3)
        texts = ops.add(texts, moved)
    return texts[:, 0, :, 0, 0]
''',
    ),
    "sequences_of": (
        (),
        '''
def sequences_of(words, ngrams):
    """Words [batch, words] and the sequences of up to `ngrams` of them, a blank between; "" where
    there is none.
    """
    shaped = ops.expand_dims(ops.expand_dims(words, 1), -1)
    found, sequence = [shaped], shaped
    for number in range(1, ngrams):
        sequence = ops.add(ops.add(sequence[:, :, :-1], " "), shaped[:, :, number:])
        there = ops.not_equal(shaped[:, :, number:], "")
        found.append(ops.where(there, sequence, shaped[:, :, number:]))
    return ops.concatenate(found, axis=2)[:, 0, :, 0]
''',
    ),
    "to_integers": (
        ("cut",),
        '''
def to_integers(pieces, empty):
    """Characters [batch, pieces, ...] of integers to int64 [batch, pieces]; `empty` without any."""
    digits = ops.subtract(pieces, code_of("0"))
    is_digit = ops.logical_and(ops.greater_equal(digits, 0), ops.less(digits, 10))
    after = ops.subtract(count_on(is_digit), ops.cast(is_digit, "int64"))
    power = ops.take(np.array([10**n for n in range(19)], "int64"), ops.minimum(after, 18))
    total = ops.sum(ops.multiply(ops.where(is_digit, digits, 0), power), axis=-1)
    negative = ops.any(ops.equal(pieces, code_of("-")), axis=-1)
    total = ops.where(negative, ops.negative(total), total)
    return ops.where(ops.any(is_digit, axis=-1), total, np.array(empty, "int64"))
''',
    ),
    "to_floats": (
        ("cut",),
        '''
def to_floats(pieces):
    """Characters [batch, pieces, ...] of numbers to float32 [batch, pieces]; 0 without any."""
    scale = ops.logical_or(ops.equal(pieces, code_of("e")), ops.equal(pieces, code_of("E")))
    in_scale = ops.greater(ops.cumsum(ops.cast(scale, "int64"), axis=-1), 0)

    def total(part):
        digits = ops.subtract(pieces, code_of("0"))
        is_digit = ops.logical_and(ops.greater_equal(digits, 0), ops.less(digits, 10))
        is_digit = ops.logical_and(is_digit, part)
        after = ops.cast(ops.subtract(count_on(is_digit), 1), "float64")
        power = ops.power(np.array(10.0, "float64"), ops.maximum(after, 0.0))
        size = ops.multiply(ops.cast(ops.where(is_digit, digits, 0), "float64"), power)
        negative = ops.any(ops.logical_and(part, ops.equal(pieces, code_of("-"))), axis=-1)
        size = ops.sum(size, axis=-1)
        return ops.where(negative, ops.negative(size), size), is_digit

    mantissa, is_digit = total(ops.logical_not(in_scale))
    exponent, _ = total(in_scale)
    behind = ops.cumsum(ops.cast(ops.equal(pieces, code_of(".")), "int64"), axis=-1)
    behind = ops.logical_and(is_digit, ops.greater(behind, 0))
    exponent = ops.subtract(exponent, ops.sum(ops.cast(behind, "float64"), axis=-1))
    factor = ops.power(np.array(10.0, "float64"), ops.abs(exponent))
    divided = ops.divide(mantissa, factor)
    value = ops.where(ops.less(exponent, 0.0), divided, ops.multiply(mantissa, factor))
    return ops.cast(value, "float32")
''',
    ),
    **CODE_OF_DATES,
}


def characters_of(plan: Any) -> Optional[set[str]]:
    """The characters that matter to a model's texts; None: all of them do.

    A value of a vocabulary is known by the vocabulary's own characters; what is hashed, by any.
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
    """Lines that define ALPHABET and its kinds: of some characters, or (None) of all in Unicode."""
    if characters is None:
        every = [
            "# All that Unicode knows, but for the private planes.",
            "EVERY = map(chr, range(1, 0xF0000))",
            'EVERY = [c for c in EVERY if unicodedata.category(c) not in ("Cn", "Cs")]',
        ]
    else:
        known = "".join(sorted(characters))
        lines = [repr(known[start : start + 60]) for start in range(0, len(known), 60)]
        every = ["EVERY = (", *(f"    {line}" for line in lines), ")"]
    return [
        'BLANKS, DIGITS = " \\t\\n\\v\\f\\r", "0123456789"',
        *every,
        "",
        "",
        "def order_alphabet(characters):",
        '    """Blanks, other signs, digits, letters: so each kind is a range of numbers."""',
        '    rest = sorted(set(characters) - set(BLANKS + DIGITS + "\\ufffd"))',
        '    is_letter = [unicodedata.category(c)[0] in "LMN" or c == "\'" for c in rest]',
        "    others = [c for c, letter in zip(rest, is_letter) if not letter]",
        "    letters = [c for c, letter in zip(rest, is_letter) if letter]",
        "    return [*BLANKS, *others, *DIGITS, *letters]",
        "",
        "",
        "ALPHABET = order_alphabet(EVERY)",
        "ALPHABET_SET = set(ALPHABET)",
    ]


def _layers_of(writer) -> tuple[str, str]:
    """Variables of the layers between texts and numbers of characters, written once."""
    spell = writer.once(
        "spell",
        lambda: writer.write(
            "spell",
            'layers.TextVectorization(standardize=None, split="character", vocabulary=ALPHABET)',
        ),
    )
    spelled = writer.once(
        "spelled",
        lambda: writer.write(
            "spelled",
            'layers.StringLookup(vocabulary=ALPHABET, invert=True, mask_token="", '
            'oov_token="\\ufffd")',
        ),
    )
    return spell, spelled


def write_derived(writer: Any, one: Any) -> Taken:
    """Writes the code of a derived feature; returns its variables."""
    if isinstance(one, Renamed):
        return Taken(f"inputs[{quoted(one.source)}]", "")
    spell, spelled = _layers_of(writer)
    texts = f"inputs[{quoted(one.source)}]"
    if isinstance(one, DatePart):
        parts = writer.once(
            ("date", one.source),
            lambda: writer.write(
                f"{one.source}_parts", f"{writer.use('take_dates_apart')}({texts}, {spell})"
            ),
        )
        return Taken(writer.write(one.name, f'{parts}["{one.part}"]'), "")
    if isinstance(one, Words):
        words = f"{writer.use('split_words')}({texts}, {spell}, {one.lower}, {one.max_words})"
        words = f"{writer.use('spell_out')}({words}, {spelled})"
        if one.ngrams > 1:
            words = f"{writer.use('sequences_of')}({words}, {one.ngrams})"
        return Taken(writer.write(one.name, words), "")
    call = f"{writer.use('split_at')}({texts}, {one.separator!r}, {spell})"
    pieces, given = writer.once(
        ("pieces", one.source, one.separator),
        lambda: _write_pair(writer, one.source, call),
    )
    if one.dtype == "string":
        values = writer.write(one.name, f"{writer.use('spell_out')}({pieces}, {spelled})")
        return Taken(values, given if one.ordered else "")
    if one.dtype == "float32":
        values = f"{writer.use('to_floats')}({pieces})"
        if one.ordered:
            values = f"ops.where({given}, {values}, np.nan)"
        return Taken(writer.write(one.name, values), "")
    values = writer.write(one.name, f"{writer.use('to_integers')}({pieces}, -1)")
    if not one.ordered:
        there = f"ops.any(ops.greater({pieces}, 0), axis=-1)"
        given = writer.write(f"{one.name}_given", there)
    return Taken(values, given)


def _write_pair(writer, source, call) -> tuple[str, str]:
    pieces, there = writer.fresh(f"{source}_pieces"), writer.fresh(f"{source}_there")
    writer.lines.append(f"{pieces}, {there} = {call}")
    return pieces, there
