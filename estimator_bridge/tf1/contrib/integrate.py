"""`tf.contrib.integrate`: ordinary differential equations."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

# The method of Dormand and Prince (1980): times, weights of the slopes for each stage, and the
# difference between the solutions of orders 5 and 4.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    *(35 / 384 - 1951 / 21600, 0, 500 / 1113 - 22642 / 50085, 125 / 192 - 451 / 720),
    *(-2187 / 6784 + 12231 / 42400, 11 / 84 - 649 / 6300, -1 / 60),
)
# The solution in the middle of a step (Shampine, 1986).
_MIDDLE = tuple(
    weight / 2
    for weight in (
        *(6025192743 / 30085553152, 0, 51252292925 / 65400821598, -2691868925 / 45128329728),
        *(187940372067 / 1594534317056, -1776094331 / 19743644256, 11237099 / 235043384),
    )
)

_Options = collections.namedtuple(
    "_Options", ["first_step", "safety", "ifactor", "dfactor", "max_num_steps"]
)
_Step = collections.namedtuple("_Step", ["y", "slope", "start", "end", "size", "curve"])
_History = collections.namedtuple("_History", ["evaluations", "points", "ratios"])


def _number(number, dtype):
    """Returns a number or a tensor in a dtype; a number is not rounded to float32 first."""
    return tf.cast(tf.convert_to_tensor(number, preferred_dtype=tf.float64), dtype)


def _sum(scale, weights, values):
    """Returns the weighted sum of tensors, times a scalar of their dtype."""
    pairs = [(weight, value) for weight, value in zip(weights, values) if weight]
    return tf.add_n([scale * _number(weight, value.dtype) * value for weight, value in pairs])


def _stages(function, y, slope, time, size):
    """Returns the solution after a step, all slopes, and the last of them."""
    step, slopes = tf.cast(size, y.dtype), [slope]
    for part, weights in zip(_TIMES, _STAGES):
        new = y + _sum(step, weights, slopes)
        slopes.append(tf.convert_to_tensor(function(new, time + part * size), y.dtype))
    return new, slopes


def _fit(y, new, middle, slopes, size):
    """Returns the coefficients of the polynomial of degree 4 through three values of a step.

    It has the slopes of both ends; its variable goes from 0 to 1.
    """
    step = tf.cast(size, y.dtype)
    first, last = step * slopes[0], step * slopes[-1]
    return (
        2 * (last - first) - 8 * (new + y) + 16 * middle,
        5 * first - 3 * last + 18 * y + 14 * new - 32 * middle,
        last - 4 * first - 11 * y - 5 * new + 16 * middle,
        first,
        y,
    )


def _ratio_of_error(error, y, new, rtol, atol):
    """Returns the root of the mean square of the error relative to what is tolerated."""
    larger = tf.maximum(tf.abs(y), tf.abs(new))
    tolerated = _number(atol, larger.dtype) + _number(rtol, larger.dtype) * larger
    return tf.sqrt(tf.reduce_mean(tf.square(tf.abs(error) / tolerated)))


def _next_size(size, ratio, options):
    ratio = tf.cast(ratio, size.dtype)
    power = ratio**0.2 / options.safety
    return size / tf.maximum(tf.minimum(power, 1 / options.dfactor), 1 / options.ifactor)


def _advance(function, state, history, tolerances, options):
    """Tries a step; returns the state after it, or the same with a smaller step."""
    y, slope, time, size = state.y, state.slope, state.end, state.size
    is_large = tf.debugging.Assert(time + size > time, ["underflow in dt", size])
    is_finite = tf.debugging.Assert(
        tf.reduce_all(tf.math.is_finite(tf.abs(y))), ["non-finite values in state `y`", y]
    )
    with tf.control_dependencies([one for one in (is_large, is_finite) if one is not None]):
        new, slopes = _stages(function, y, slope, time, size)
    step = tf.cast(size, y.dtype)
    ratio = _ratio_of_error(_sum(step, _ERROR, slopes), y, new, *tolerances)
    is_good = ratio <= 1
    curve = _fit(y, new, y + _sum(step, _MIDDLE, slopes), slopes, size)

    def chosen(taken, kept):
        return tf.where_v2(is_good, taken, kept)

    after = _Step(
        chosen(new, y),
        chosen(slopes[-1], slope),
        chosen(time, state.start),
        chosen(time + size, time),
        _next_size(size, ratio, options),
        tuple(map(chosen, curve, state.curve)),
    )
    place = history.points.size()
    return after, _History(
        history.evaluations + len(_TIMES),
        history.points.write(place, time + size),
        history.ratios.write(place, ratio),
    )


def _evaluate(step, time):
    """Returns the solution at a time within the last step."""
    part = (time - step.start) / (step.end - step.start)
    part = tf.cast(part, step.y.dtype)
    found = step.curve[0]
    for coefficient in step.curve[1:]:
        found = found * part + coefficient
    return found


def _dopri5(function, y0, t, tolerances, options):
    """Returns the solutions at all times, and the _History."""
    real = tf.abs(y0).dtype
    slope = tf.convert_to_tensor(function(y0, t[0]), y0.dtype)
    size = _number(options.first_step, t.dtype)
    step = _Step(y0, slope, t[0], t[0], size, (y0,) * 5)
    history = _History(
        tf.constant(1),
        tf.TensorArray(t.dtype, 0, dynamic_size=True, element_shape=[]),
        tf.TensorArray(real, 0, dynamic_size=True, element_shape=[]),
    )
    number = tf.size(t)
    solution = tf.TensorArray(y0.dtype, number, element_shape=y0.shape).write(0, y0)

    def until(i, solution, step, history):
        def one_more(count, step, history):
            check = tf.debugging.Assert(count < options.max_num_steps, ["max_num_steps exceeded"])
            with tf.control_dependencies([check] if check is not None else []):
                size = tf.identity(step.size)
            step = step._replace(size=size)
            return count + 1, *_advance(function, step, history, tolerances, options)

        start = (tf.constant(0), step, history)
        _, step, history = tf.while_loop(lambda _, step, __: t[i] > step.end, one_more, start)
        return i + 1, solution.write(i, _evaluate(step, t[i])), step, history

    start = (tf.constant(1), solution, step, history)
    found = tf.while_loop(lambda i, *_: i < number, until, start)
    return found[1].stack(), found[3]


def _check_increasing(t):
    """Returns the times, which increase when the graph runs."""
    check = tf.debugging.Assert(tf.reduce_all(t[1:] > t[:-1]), ["t must be increasing"])
    with tf.control_dependencies([check] if check is not None else []):
        return tf.identity(t)


def odeint(
    func,
    y0,
    t,
    rtol=1e-6,
    atol=1e-12,
    method=None,
    options=None,
    full_output=False,
    name=None,
):
    """Solves dy/dt = func(y, t) with steps of variable size.

    The method has order 5 (Dormand and Prince, 1980), and interpolates within its steps (Shampine,
    1986).

    Args:
      func: function of the state, a tensor like `y0`, and of the time, a scalar, which returns the
        derivative.
      y0: floating or complex tensor of any shape, the state at the first time.
      t: increasing times, a floating tensor [times]; a list becomes float64.
      rtol: number, the relative error that is tolerated in an element of y.
      atol: number, the absolute error.
      method: None or `dopri5`.
      options: None, or with a `method` a dict of `first_step` (1.0), `safety` (0.9), `ifactor`
        (10.0) and `dfactor` (0.2), by which a step grows and shrinks at most, and `max_num_steps`
        between two times (1000).
      full_output: whether to return what the method did too.
      name: name of the name scope.

    Returns:
      Tensor [times, ...] of the dtype of `y0`; with `full_output` also a dict of `num_func_evals`,
      `integrate_points`, the ends of all steps, and `error_ratio`, their errors relative to what is
      tolerated.

    Raises:
      ValueError: the method is unknown, or `options` come without one.
      TypeError: a dtype is not floating, or an option is unknown.
      InvalidArgumentError: the times do not increase, or the steps become too small or too many.
    """
    if method is None:
        if options is not None:
            raise ValueError("options: they require a method")
    elif method != "dopri5":
        raise ValueError(f"method: {method!r} is unknown; use 'dopri5'")
    chosen = {"first_step": 1.0, "safety": 0.9, "ifactor": 10.0, "dfactor": 0.2}
    chosen = _Options(**{**chosen, "max_num_steps": 1000, **(options or {})})
    with tf.name_scope(name, "odeint", [y0, t, rtol, atol]):
        t = tf.convert_to_tensor(t, preferred_dtype=tf.float64, name="t")
        y0 = tf.convert_to_tensor(y0, name="y0")
        if not (y0.dtype.is_floating or y0.dtype.is_complex):
            raise TypeError(f"y0: expected a floating or complex dtype, got {y0.dtype.name}")
        if not t.dtype.is_floating:
            raise TypeError(f"t: expected a floating dtype, got {t.dtype.name}")
        solution, history = _dopri5(func, y0, _check_increasing(t), (rtol, atol), chosen)
        if not full_output:
            return solution
        return solution, {
            "num_func_evals": history.evaluations,
            "integrate_points": history.points.stack(),
            "error_ratio": history.ratios.stack(),
        }


def _midpoint(function, y, time, size):
    step = tf.cast(size, y.dtype)
    return y + step * function(y + step / 2 * function(y, time), time + size / 2)


def _rk4(function, y, time, size):
    step = tf.cast(size, y.dtype)
    first = function(y, time)
    second = function(y + step / 2 * first, time + size / 2)
    third = function(y + step / 2 * second, time + size / 2)
    fourth = function(y + step * third, time + size)
    return y + step / 6 * (first + 2 * second + 2 * third + fourth)


_FIXED = {"midpoint": _midpoint, "rk4": _rk4}


def odeint_fixed(func, y0, t, dt=None, method="rk4", name=None):
    """Solves dy/dt = func(y, t) with steps of equal size between two times.

    Args:
      func: function of the state, a tensor like `y0`, and of the time, a scalar, which returns the
        derivative.
      y0: floating tensor of any shape, the state at the first time.
      t: increasing times, a floating tensor [times]; a list becomes float64.
      dt: the largest step, a scalar or one number for each interval, [times - 1]; None for one step
        in each interval.
      method: `rk4`, the Runge-Kutta method of order 4, or `midpoint`, of order 2.
      name: name of the name scope.

    Returns:
      Tensor [times, ...] of the dtype of `y0`.

    Raises:
      ValueError: the method is unknown, or `t` or `dt` has another rank.
      InvalidArgumentError: the times do not increase.
    """
    if method not in _FIXED:
        raise ValueError(f"method: {method!r} is unknown; use one of {sorted(_FIXED)}")
    with tf.name_scope(name, "odeint_fixed", [y0, t, dt]):
        t = tf.convert_to_tensor(t, preferred_dtype=tf.float64, name="t")
        y0 = tf.convert_to_tensor(y0, name="y0")
        if t.shape.ndims not in (None, 1):
            raise ValueError(f"t: expected rank 1, got shape {t.shape}")
        t = _check_increasing(t)
        intervals = t[1:] - t[:-1]
        counts = tf.ones_like(intervals, tf.int32)
        if dt is not None:
            dt = tf.convert_to_tensor(dt, preferred_dtype=tf.float64, name="dt")
            if dt.shape.ndims not in (None, 0, 1):
                raise ValueError(f"dt: expected rank 0 or 1, got shape {dt.shape}")
            counts = tf.to_int32(tf.math.ceil(intervals / dt))
        step = _FIXED[method]

        def cross(y, interval):
            start, length, count = interval
            size = length / tf.cast(count, t.dtype)

            def one_more(i, y):
                return i + 1, step(func, y, start + tf.cast(i, t.dtype) * size, size)

            return tf.while_loop(lambda i, _: i < count, one_more, (tf.constant(0), y))[1]

        found = tf.scan(cross, (t[:-1], intervals, counts), y0)
        return tf.concat([y0[None], found], 0)
