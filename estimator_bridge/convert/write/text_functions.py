"""The source of the function of a written module that parses ISO dates."""

__all__ = ["CODE_OF_DATES"]

CODE_OF_DATES: dict[str, tuple[tuple[str, ...], str]] = {
    "parse_dates": (
        ("cut",),
        '''
def parse_dates(texts, to_codes):
    """Parses texts [batch, 1] like 2020-12-31 or 2020-12-31 23:59.

    Returns name of a part -> int64 [batch, 1]. All parts of a text that is not a date are -1, and
    so is the hour of a date without one.
    """
    codes = strip(character_codes(texts, to_codes))
    solid = ops.greater(codes, 0)
    there = ops.any(solid, axis=1, keepdims=True)
    begin = ops.expand_dims(ops.cast(ops.argmax(solid, axis=1), "int64"), 1)
    end = ops.sum(ops.cast(ops.greater(count_from_here(solid), 0), "int64"), axis=1, keepdims=True)
    size = ops.where(there, ops.subtract(end, begin), 0)
    where = ops.add(begin, np.arange(14)[None, :])
    where = ops.where(ops.less(where, end), where, ops.zeros_like(where))
    picked = ops.take_along_axis(codes, where, axis=1)
    picked = ops.where(ops.less(np.arange(14)[None, :], size), picked, 0)

    def number(start, length):
        digits = ops.subtract(picked[:, start : start + length], code_of("0"))
        wrong = ops.logical_or(ops.less(digits, 0), ops.greater(digits, 9))
        power = np.array([10**n for n in reversed(range(length))], "int64")[None, :]
        value = ops.sum(ops.multiply(digits, power), axis=1, keepdims=True)
        return ops.where(ops.any(wrong, axis=1, keepdims=True), -1, value)

    def is_one_of(position, characters):
        here = picked[:, position : position + 1]
        found = [ops.equal(here, code_of(character)) for character in characters]
        return found[0] if len(found) == 1 else ops.logical_or(*found)

    def is_in(value, low, high):
        return ops.logical_and(ops.greater_equal(value, low), ops.less_equal(value, high))

    year, month, day, hour = number(0, 4), number(5, 2), number(8, 2), number(11, 2)
    has_hour = ops.logical_and(is_one_of(10, "T "), is_in(hour, 0, 23))
    has_end = ops.logical_or(ops.equal(size, 13), is_one_of(13, ":."))
    has_hour = ops.logical_and(has_hour, has_end)
    is_date = ops.logical_or(ops.equal(size, 10), has_hour)
    for check in (
        ops.greater_equal(year, 0),
        is_one_of(4, "-"),
        is_in(month, 1, 12),
        is_one_of(7, "-"),
        is_in(day, 1, 31),
    ):
        is_date = ops.logical_and(is_date, check)
    # Days since 1 March of year 0, a Wednesday (Howard Hinnant, days_from_civil).
    since = ops.subtract(year, ops.cast(ops.less(month, 3), "int64"))
    of_year = ops.add(ops.multiply(ops.mod(ops.add(month, 9), 12), 153), 2)
    days = ops.add(ops.floor_divide(of_year, 5), day)
    days = ops.add(days, ops.add(ops.multiply(since, 365), ops.floor_divide(since, 4)))
    days = ops.add(days, ops.subtract(ops.floor_divide(since, 400), ops.floor_divide(since, 100)))
    parts = {
        "year": year,
        "month": month,
        "day": day,
        "weekday": ops.mod(ops.add(days, 1), 7),
        "hour": ops.where(has_hour, hour, -1),
    }
    return {name: ops.where(is_date, value, -1) for name, value in parts.items()}
''',
    ),
}
