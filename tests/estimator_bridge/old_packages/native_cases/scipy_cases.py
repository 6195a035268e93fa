"""What programs called in SciPy 0.19 to 1.4; native: SciPy 1.1.0, Pillow 8.4, NumPy 1.19."""

import os
import tempfile

import numpy as np
import scipy
import scipy.integrate
import scipy.linalg
import scipy.misc
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.spatial.distance
import scipy.special
import scipy.stats

SERIES = np.array([1.0, 2.0, 4.0, 2.5, 0.5, -1.0])
GREY = (np.arange(48).reshape(6, 8) * 7 % 23).astype(np.float32)
COLOURS = (np.arange(6 * 8 * 3).reshape(6, 8, 3) * 37 % 256).astype(np.uint8)


def case_top_level():
    array = scipy.array([1.0, -4.0])
    return [
        array,
        scipy.sqrt(array),
        scipy.mean(array),
        scipy.pi,
        scipy.interp(0.5, [0, 1], [2, 4]),
    ]


def case_top_level_missing():
    return scipy.no_such_name


def case_top_level_from():
    from scipy import argmax, interp, zeros

    return [zeros(2), argmax([1, 3, 2]), interp([0.25], [0, 1], [0, 4])]


def case_bytescale():
    return [
        scipy.misc.bytescale(GREY),
        scipy.misc.bytescale(GREY, cmin=5, cmax=10, high=200, low=10),
        scipy.misc.bytescale(COLOURS),
        scipy.misc.bytescale(np.ones((2, 2))),
    ]


def case_bytescale_error():
    return scipy.misc.bytescale(GREY, high=300)


def case_imresize():
    return [
        scipy.misc.imresize(GREY, (3, 4)),
        scipy.misc.imresize(GREY, 50),
        scipy.misc.imresize(GREY, 1.5, "nearest"),
        scipy.misc.imresize(COLOURS, (12, 9, 3)),
        scipy.misc.imresize(COLOURS, 0.5, interp="bicubic"),
        scipy.misc.imresize(GREY, (3, 4), mode="F"),
        scipy.misc.imresize(COLOURS[:, :, 0], [4, 4], interp="lanczos"),
    ]


def case_imrotate():
    return [scipy.misc.imrotate(COLOURS, 90), scipy.misc.imrotate(GREY, 30, "nearest")]


def case_toimage():
    found = []
    for options in [{}, {"cmin": 0, "cmax": 255}, {"mode": "L"}, {"mode": "F"}, {"mode": "I"}]:
        image = scipy.misc.toimage(GREY, **options)
        found.append([image.mode, list(image.size), scipy.misc.fromimage(image)])
    first = scipy.misc.toimage(np.moveaxis(COLOURS, 2, 0))
    palette = scipy.misc.toimage(COLOURS[:, :, 0], mode="P")
    found.append([first.mode, list(first.size), np.array(first)])
    found.append([palette.mode, scipy.misc.fromimage(palette)])
    found.append(scipy.misc.toimage(COLOURS, mode="YCbCr").mode)
    return found


def case_toimage_shape():
    return scipy.misc.toimage(np.zeros((5, 6, 7)))


def case_toimage_mode():
    return scipy.misc.toimage(GREY, mode="RGB")


def case_files():
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.png")
        scipy.misc.imsave(path, COLOURS)
        for options in [{}, {"flatten": True}, {"mode": "L"}, {"mode": "RGBA"}]:
            found.append(scipy.misc.imread(path, **options))
        found.append(scipy.ndimage.imread(path))
        with open(path, "rb") as file:
            found.append(scipy.misc.imread(file))
        scipy.misc.imsave(path, GREY, "png")
        found.append(scipy.misc.imread(path))
    return found


def case_misc_special():
    return [
        scipy.misc.comb(5, 2),
        scipy.misc.comb(5, 2, exact=True),
        float(scipy.misc.factorial(5)),
        np.round(scipy.misc.logsumexp([1.0, 2.0]), 12),
    ]


def case_derivative():
    return [
        round(scipy.misc.derivative(lambda x: x**3 + x**2, 1.0, dx=1e-3), 6),
        round(scipy.misc.derivative(np.sin, 0.5, dx=0.01, n=2, order=5), 6),
        np.round(scipy.misc.central_diff_weights(5), 12),
    ]


def case_stats():
    return [
        scipy.stats.itemfreq([1, 3, 3, 2]),
        round(scipy.stats.binom_test(7, 20, 0.5), 12),
        round(scipy.stats.binom_test([7, 13], p=0.4, alternative="less"), 12),
    ]


def case_mode():
    table = np.array([[1, 2, 2], [1, 1, 3], [4, 2, 3]])
    return [
        list(scipy.stats.mode(table)),
        scipy.stats.mode(table, axis=1)[0],
        scipy.stats.mode(table, axis=None)[0],
        scipy.stats.mode(table[:, 0])[0][0],
    ]


def case_windows():
    return [
        np.round(scipy.signal.gaussian(5, 1.5), 12),
        np.round(scipy.signal.hann(5), 12),
        np.round(scipy.signal.hanning(5, False), 12),
        np.round(scipy.signal.kaiser(5, 3.0), 12),
        np.round(scipy.signal.tukey(6, 0.5), 12),
    ]


def case_wavelets():
    found = scipy.signal.cwt(SERIES, scipy.signal.ricker, [1, 2])
    return [np.round(scipy.signal.ricker(7, 2.0), 12), np.round(found, 12)]


def case_integrate():
    places = np.array([0.0, 1.0, 1.5, 3.0, 4.0, 6.0])
    return [
        scipy.integrate.trapz(SERIES),
        scipy.integrate.trapz(SERIES, places),
        scipy.integrate.cumtrapz(SERIES, places, initial=0),
        round(scipy.integrate.simps(SERIES[:5]), 12),
        round(scipy.integrate.simps(SERIES[:5], places[:5]), 12),
        round(scipy.integrate.simps(SERIES, places), 12),
        round(scipy.integrate.simps(SERIES, dx=0.5, even="first"), 12),
        round(scipy.integrate.simps(SERIES, even="last"), 12),
        np.round(scipy.integrate.simps(SERIES.reshape(3, 2), axis=0), 12),
        np.round(scipy.integrate.simps(SERIES.reshape(2, 3), axis=0), 12),
    ]


def case_linalg():
    matrix = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    return [
        np.round(scipy.linalg.pinv2(matrix), 10),
        scipy.linalg.tril(matrix),
        scipy.linalg.triu(matrix, 1),
        scipy.linalg.kron(matrix[:1], matrix[:, :1]),
    ]


def case_distance():
    return [
        scipy.spatial.distance.matching([1, 0, 1], [1, 1, 1]),
        round(scipy.spatial.distance.wminkowski([1, 2], [3, 5], 2, [0.5, 2.0]), 12),
    ]


def case_special():
    return str(np.round(scipy.special.sph_harm(1, 2, 0.3, 0.7), 12))


def case_sparse():
    matrix = scipy.sparse.csr_matrix(np.array([[0, 1], [2, 0]]))
    return [matrix.A, matrix.H.toarray()]
