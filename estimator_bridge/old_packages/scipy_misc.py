"""scipy.misc: functions for pictures, which SciPy removed, and those that moved elsewhere."""

from estimator_bridge.old_packages.missing import set_missing

__all__ = ["install", "install_imread"]

_RESAMPLING = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}


def install() -> None:
    """Sets the missing names of the imported scipy.misc."""
    import scipy.special
    from scipy import interpolate, misc

    set_missing(
        misc,
        bytescale=bytescale,
        derivative=derivative,
        central_diff_weights=central_diff_weights,
        fromimage=fromimage,
        imread=imread,
        imresize=imresize,
        imrotate=imrotate,
        imsave=imsave,
        toimage=toimage,
        comb=scipy.special.comb,
        factorial=scipy.special.factorial,
        factorial2=scipy.special.factorial2,
        factorialk=scipy.special.factorialk,
        logsumexp=scipy.special.logsumexp,
        pade=interpolate.pade,
        ascent=_data_set("ascent"),
        face=_data_set("face"),
        electrocardiogram=_data_set("electrocardiogram"),
    )


def install_imread() -> None:
    """Sets scipy.ndimage.imread, if it is missing."""
    from scipy import ndimage

    set_missing(ndimage, imread=imread)


def _data_set(name):
    """Returns a function that loads a data set of scipy.datasets."""

    def load(**options):
        import scipy.datasets

        return getattr(scipy.datasets, name)(**options)

    return load


def bytescale(data, cmin=None, cmax=None, high=255, low=0):
    """Returns an array as bytes, scaled so that its range becomes low to high.

    Args:
      data: array of numbers. Bytes are returned as they are.
      cmin: value that becomes `low`; None for the smallest.
      cmax: value that becomes `high`; None for the largest.
      high: largest byte.
      low: smallest byte.

    Returns:
      Array of uint8, of the same shape.

    Raises:
      ValueError: the ranges are not ordered, or not of bytes.
    """
    import numpy as np

    if data.dtype == np.uint8:
        return data
    if not 0 <= low <= high <= 255:
        raise ValueError("`low` and `high` must be from 0 to 255, and `low` not above `high`.")
    return (_scale(data, cmin, cmax, high, low).clip(low, high) + 0.5).astype(np.uint8)


def _scale(data, cmin, cmax, high, low):
    cmin = data.min() if cmin is None else cmin
    cmax = data.max() if cmax is None else cmax
    if cmax < cmin:
        raise ValueError("`cmax` should be larger than `cmin`.")
    return (data - cmin) * (float(high - low) / ((cmax - cmin) or 1)) + low


def fromimage(im, flatten=False, mode=None):
    """Returns a picture as an array.

    Args:
      im: PIL.Image.
      flatten: whether to return one channel, as float32.
      mode: mode of PIL to convert the picture to.

    Returns:
      Array [height, width] or [height, width, channels].
    """
    import numpy as np

    if mode is not None:
        im = im if im.mode == mode else im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imread(name, flatten=False, mode=None):
    """Returns the picture of a file as an array.

    Args:
      name: path or open file.
      flatten: whether to return one channel, as float32.
      mode: mode of PIL to convert the picture to.

    Returns:
      Array [height, width] or [height, width, channels].
    """
    from PIL import Image

    with Image.open(name) as image:
        return fromimage(image, flatten, mode)


def toimage(arr, high=255, low=0, cmin=None, cmax=None, pal=None, mode=None, channel_axis=None):
    """Returns an array as a picture.

    Args:
      arr: array [height, width], or with an axis of 3 or 4 channels. Numbers other than bytes are
        scaled to bytes, unless the mode is F.
      high: see bytescale.
      low: see bytescale.
      cmin: see bytescale.
      cmax: see bytescale.
      pal: palette, array [256, 3] of bytes, for one channel.
      mode: mode of PIL; for one channel L, P, I or F, else RGB, RGBA, YCbCr or CMYK.
      channel_axis: axis of the channels; None for the first axis of 3, else of 4.

    Returns:
      PIL.Image.

    Raises:
      ValueError: the shape or the mode does not fit.
    """
    import numpy as np

    data = np.asarray(arr)
    if np.iscomplexobj(data):
        raise ValueError("Cannot convert a complex-valued array.")
    scaling = {"cmin": cmin, "cmax": cmax, "high": high, "low": low}
    if data.ndim == 2:
        return _one_channel(data, scaling, pal, mode)
    axes = [axis for count in (3, 4) for axis in range(data.ndim) if data.shape[axis] == count]
    if data.ndim != 3 or not axes:
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    axis = axes[0] if channel_axis is None else channel_axis
    if axis not in axes:
        raise ValueError("Channel axis dimension is not valid.")
    return _channels(np.moveaxis(bytescale(data, **scaling), axis, 2), mode)


def _one_channel(data, scaling, pal, mode):
    import numpy as np
    from PIL import Image

    if mode == "F":
        return Image.fromarray(data.astype(np.float32))
    if mode == "I":
        return Image.fromarray(_scale(data, **scaling).astype(np.int32))
    if mode not in (None, "L", "P"):
        raise ValueError(f"mode {mode!r} is not one of a single channel")
    image = Image.fromarray(bytescale(data, **scaling))
    if pal is not None:
        image.putpalette(np.asarray(pal, np.uint8).tobytes())
    elif mode == "P":
        image.putpalette(np.repeat(np.arange(256, dtype=np.uint8), 3).tobytes())
    return image


def _channels(data, mode):
    from PIL import Image

    mode = mode or ("RGB" if data.shape[2] == 3 else "RGBA")
    if mode not in ("RGB", "RGBA", "YCbCr", "CMYK"):
        raise ValueError(f"mode {mode!r} is not one of several channels")
    if data.shape[2] != len(Image.new(mode, (1, 1)).getbands()):
        raise ValueError("Invalid array shape for mode.")
    return Image.frombytes(mode, data.shape[1::-1], data.tobytes())


def imsave(name, arr, format=None):
    """Writes an array to a file as a picture.

    Args:
      name: path, or an open file (with `format`).
      arr: array [height, width] or [height, width, 3 or 4 channels].
      format: format of PIL; None to take it from the path.
    """
    image = toimage(arr, channel_axis=2)
    image.save(name, *(() if format is None else (format,)))


def imresize(arr, size, interp="bilinear", mode=None):
    """Returns a picture of another size.

    Args:
      arr: array as of toimage.
      size: percentage (int), factor (float), or (height, width).
      interp: nearest, lanczos, bilinear, bicubic or cubic.
      mode: mode of PIL to convert the array to.

    Returns:
      Array [height, width] or [height, width, channels] of uint8, or the type of `mode`.
    """
    import numpy as np

    image = toimage(arr, mode=mode)
    if np.issubdtype(type(size), np.signedinteger):
        size = tuple((np.array(image.size) * (size / 100.0)).astype(int).tolist())
    elif np.issubdtype(type(size), np.floating):
        size = tuple((np.array(image.size) * size).astype(int).tolist())
    else:
        size = (int(size[1]), int(size[0]))
    return fromimage(image.resize(size, resample=_RESAMPLING[interp]))


def imrotate(arr, angle, interp="bilinear"):
    """Returns a picture that is rotated counter-clockwise about its center.

    Args:
      arr: array as of toimage.
      angle: degrees.
      interp: nearest, bilinear, bicubic or cubic.

    Returns:
      Array of the same shape, uint8.
    """
    return fromimage(toimage(arr).rotate(angle, resample=_RESAMPLING[interp]))


def central_diff_weights(Np, ndiv=1):
    """Returns the weights of a central difference.

    Args:
      Np: number of points, odd.
      ndiv: number of the derivative.

    Returns:
      Array [Np] of float64.

    Raises:
      ValueError: Np is even, or too small.
    """
    import math

    import numpy as np

    if Np < ndiv + 1:
        raise ValueError("Number of points must be at least the derivative order + 1.")
    if Np % 2 == 0:
        raise ValueError("The number of points must be odd.")
    offsets = np.arange(-(Np >> 1), (Np >> 1) + 1.0)
    return math.factorial(ndiv) * np.linalg.inv(np.vander(offsets, increasing=True))[ndiv]


def derivative(func, x0, dx=1.0, n=1, args=(), order=3):
    """Returns the derivative of a function at a point, by a central difference.

    Args:
      func: function of a number and of `args`.
      x0: the point.
      dx: distance of the points of the difference.
      n: number of the derivative.
      args: further arguments of the function.
      order: number of points, odd.

    Returns:
      The derivative.
    """
    weights = central_diff_weights(order, n)
    points = [x0 + (number - (order >> 1)) * dx for number in range(order)]
    return sum(weight * func(point, *args) for weight, point in zip(weights, points)) / dx**n
