"""NumPy 1.18.5: arrays, functions and results that NumPy 1.24 and 2 changed or removed."""

import io
import math

import numpy as np


def case_lists_of_different_lengths():
    made = [np.array([[1, 2], [3]]), np.asarray([[1, 2], [3]]), np.array([1, [2, 3]])]
    made += [np.array([[[1, 2], [3]], [[4, 5], [6]]]), np.array([np.zeros(2), np.zeros(3)])]
    return [[str(one.dtype), list(one.shape), [str(part) for part in one]] for one in made]


def case_arrays_of_different_shapes():
    return np.array([np.zeros((2, 3)), np.zeros((2, 4))])


def case_functions_of_lists_of_different_lengths():
    words, lists = [(2,), (1, 1), (2,)], [[1], [2, 3]]
    made = [np.unique(words), np.sort(words), np.argsort(words), *np.unique(words, False, True)]
    return [*made, np.shape(lists), np.size(lists), np.ndim(lists)]


def load_saved(save, *args, **kwargs):
    file = io.BytesIO()
    save(file, *args, **kwargs)
    file.seek(0)
    loaded = np.load(file, allow_pickle=True)
    return loaded if isinstance(loaded, np.ndarray) else [loaded[name] for name in loaded.files]


def case_lists_of_different_lengths_are_saved():
    lists, arrays = [[1, 2], [3]], [np.zeros((2, 3)), np.ones(3)]
    made = [load_saved(np.save, lists), load_saved(np.save, [1, 2], True, False)]
    made += load_saved(np.savez, params=arrays)
    made += load_saved(np.savez, [1, 2], lists)
    return [*made, *load_saved(np.savez_compressed, params=arrays)]


def case_arrays_of_different_shapes_are_not_saved():
    return load_saved(np.savez, params=[np.zeros((2, 3)), np.zeros((2, 4))])


def case_lists_of_different_lengths_are_joined():
    lists = [[1, 2], [3]]
    made = [join([lists, lists]) for join in (np.concatenate, np.vstack, np.hstack, np.stack)]
    made += [np.append(lists, [4]), np.insert(lists, 0, 5), np.full(2, lists), np.tile(lists, 2)]
    return [*made, np.where([True, False], lists, 0), np.select([[True, False]], [np.array(lists)])]


def case_lists_of_different_lengths_are_selected():
    lists = [[1, 2], [3], [4, 5]]
    made = [np.take(lists, [2, 0]), np.delete(lists, 1), np.repeat(lists, 2), np.roll(lists, 1)]
    made += [*np.array_split(lists, 2), np.ravel(lists), np.copy(lists), np.flip(lists, 0)]
    made += [np.random.RandomState(3).permutation(lists), np.expand_dims(lists, 1)]
    np.random.seed(5)
    return [*made, np.random.permutation(lists), np.compress([True, False, True], lists)]


def case_lists_of_different_lengths_are_computed_with():
    lists, arrays = [[1, 2], [3]], [np.zeros((2, 3)), np.ones(3)]
    made = [np.sum(lists), np.sum(a=lists), np.max(lists), np.amin(lists), np.argmax(lists)]
    made += [np.mean(arrays), np.std(arrays, axis=0), np.cumsum(lists), np.nonzero(lists)[0]]
    return [*made, np.array_equal(lists, lists), np.isin(lists, [1]), np.zeros_like(lists)]


def case_texts_and_bytes_of_python_3():
    from numpy.compat import py3k
    from numpy.compat.py3k import asbytes, asstr, asunicode

    texts = [asstr(b"a"), asstr("b"), asunicode(b"c")]
    same = [
        py3k.unicode is str,
        py3k.long is int,
        py3k.integer_types == (int,),
        py3k.bytes is bytes,
    ]
    return [*texts, str(asbytes("d")), str(asbytes(b"e")), *same]


def case_lists_of_different_lengths_as_numbers():
    return np.array([[1, 2], [3]], dtype=float)


def case_copy_only_where_needed():
    return [np.array([1, 2], copy=False), np.array(np.arange(3)[::2], copy=False, dtype=float)]


def case_integers_out_of_range():
    made = [np.array([-1, 256], np.uint8), np.full(2, -1, np.uint8), np.asarray([300], "int8")]
    values = np.zeros(3, np.uint8)
    values[0], values[1:] = 300, -1
    return [*made, values]


def case_stacked_iterators():
    rows = [np.zeros(2), np.ones(2)]
    made = [np.vstack(one for one in rows), np.vstack(map(np.array, [[1], [2]]))]
    return [*made, np.hstack(iter(rows)), np.stack(one for one in rows), np.row_stack(rows)]


def case_arrays_of_one_value_are_numbers():
    one = np.array([[2.25]])
    values = np.zeros(2)
    values[0], values[1] = np.array([3.0]), one
    made = [float(one), int(one), complex(one).real, math.sqrt(one), f"{float(one):.1f}"]
    return [*made, f"{math.fabs(np.array([2.5])):.2f}", values]


def case_lists_of_indices_are_written():
    rows, columns = [0, 1, 2], np.array([2, 0, 1])
    made = [np.zeros((3, 3), int) for _ in range(8)]
    made[0][[rows, columns]] = 1
    made[1][[np.arange(3), columns]] = [4, 5, 6]
    made[2][[slice(0, 2), slice(1, 3)]] = 7
    made[3][[Ellipsis, 0]] = 8
    made[4][[0, 2]] = 9
    made[5][[[0, 2]]] = 1
    made[6][[(0, 1), (1, 2)]] = 2
    made[7][[True, False, True]] = 3
    long = np.zeros((40, 2), int)
    long[[[one] for one in range(35)]] = 1
    return [*made, long]


def case_arrays_of_two_values_are_no_numbers():
    return float(np.array([1.0, 2.0]))


def case_positions_of_unique_values():
    values = np.array([[1, 2], [2, 1]])
    return [np.unique(values, return_inverse=True), np.unique(values, True, True, True)]


def case_arguments():
    made = [np.percentile([1, 2, 3, 4], 40, interpolation="lower")]
    made += [np.reshape(np.arange(4), newshape=(2, 2)), np.cross([1, 2], [3, 4])]
    made += [np.histogram([1, 2, 3], bins=2, normed=True)[0], np.delete([1, 2, 3], [1])]
    return made


def case_files_with_text():
    read = np.genfromtxt(io.StringIO("a,b\n1,x"), delimiter=",", names=True, dtype=None)
    kept = {b"x": 1}
    rows = np.loadtxt(io.BytesIO(b"1,x"), delimiter=",", converters={1: lambda one: kept[one]})
    return [str(read.dtype), str(read), rows, np.loadtxt(io.StringIO("1 x"), dtype=str)]


def case_names():
    made = [np.alen([1, 2]), np.cast["float32"]([1]), np.issubsctype(np.int32, np.integer)]
    made += [np.asscalar(np.array([3])), np.product([1, 2]), np.sometrue([1, 0])]
    made += [np.msort([2, 1]), np.in1d([1, 2], [2]), np.trapz([1, 2]), np.asfarray([1])]
    made += [np.fastCopyAndTranspose(np.zeros((1, 2))), np.lib.pad(np.array([1]), 1, "constant")]
    made += [sorted(np.sctypes), np.long is int, np.str is str, np.compat.unicode is str]
    return made


def case_modules():
    from numpy.fft.helper import fftfreq
    from numpy.lib.arraysetops import intersect1d
    from numpy.lib.function_base import average
    from numpy.linalg.linalg import norm

    made = [np.math.ceil(1.2), np.math.factorial(3), np.math.pi, np.sys.maxsize]
    with np.warnings.catch_warnings():
        np.warnings.simplefilter("ignore", np.VisibleDeprecationWarning)
        made += [np.lib.function_base.median([1, 2]), np.linalg.linalg.det(np.eye(2))]
    return [*made, average([1, 3]), intersect1d([1, 2], [2, 3]), norm([3, 4]), fftfreq(4)]


def case_more_names():
    classes = [np.AxisError, np.ComplexWarning, np.ModuleDeprecationWarning, np.TooHardError]
    made = [issubclass(one, Exception) for one in classes]
    types = [np.uint0, np.void0, np.str0, np.bytes0, np.object0, np.longcomplex, np.clongfloat]
    made += [np.dtype(one).kind for one in types]
    made += [np.NAN, np.typeDict["float32"] is np.float32, np.chararray((2,)).shape]
    made += [np.issubclass_(int, object), np.issubclass_(1, object), np.safe_eval("[1, 2]")]
    read = np.recfromcsv(io.StringIO("A,b\n1,x\n2,y"))
    return [*made, read.a, str(read.b), np.recfromtxt(io.StringIO("1 2")).tolist()]


def case_common_types():
    pairs = [([np.int32], [np.float64]), ([np.float32], [np.float64]), ([np.int16], [np.int64])]
    pairs += [([], [np.int8, np.int16]), ([np.float32, np.int64], [])]
    return [str(np.dtype(np.find_common_type(*pair))) for pair in pairs]


def case_methods():
    values = np.zeros((2, 2))
    values.itemset(0, 1)
    values.itemset((1, 0), 2)
    values.itemset(1, 1, 3)
    swapped = np.array([1], np.int16).newbyteorder()
    return [values, np.array([1, 5]).ptp(), values.ptp(axis=0), swapped.tolist()]


NUMBERS = [np.uint8(200), np.int8(100), np.int32(100), np.int64(3), np.uint64(5)]
NUMBERS += [np.float16(1), np.float32(0.1), np.float64(1.5), np.complex64(1 + 2j)]
OTHERS = [100, 300, -1, 2.5, 1e-9, 1 + 1j, True, np.True_, -0.7, 3]
OTHERS += [np.array([1, 2], np.uint8), np.array([0.5, 0.1], np.float32), np.array([1], np.int32)]


def describe(one, other):
    """Returns the type and value of what each operator gives."""
    made = {}
    operators = ["+", "-", "*", "/", "//", "%", "==", "<", "<=", ">", ">=", "!=", "&", "|", "^"]
    if "c" in np.result_type(one, other).kind:
        # Removed in NumPy 1.22.
        operators.remove("//")
        operators.remove("%")
    if type(one) is type(other) and np.dtype(type(one)).itemsize == 1:
        # float16 in 1.18 only.
        operators.remove("/")
    for operator in operators:
        try:
            result = eval(f"one {operator} other", {"one": one, "other": other})
        except TypeError as error:
            made[operator] = type(error).__name__
        else:
            values = np.asarray(result)
            made[operator] = [str(values.dtype), [repr(part) for part in values.ravel().tolist()]]
    return made


def make_case(one, other):
    return lambda: describe(one, other)


for number in NUMBERS:
    for position, other in enumerate([*OTHERS, *NUMBERS]):
        label = f"{type(number).__name__}_and_{position}"
        globals()["case_" + label] = make_case(number, other)
        if not isinstance(other, np.ndarray):
            # The operators of arrays are those of NumPy 2.
            globals()["case_reflected_" + label] = make_case(other, number)


def case_sums_of_pixels():
    pixels = np.array([[200, 100], [50, 250]], np.uint8)
    brighter = [min(255, pixel + 40) for pixel in pixels[0]]
    return [sum(pixels[0]), pixels[0, 0] + pixels[0, 1], brighter, pixels[0, 0] * 2 - 255]


def case_a_mean_of_losses():
    losses = [np.float32(0.1), np.float32(0.7)]
    total = 0.0
    for loss in losses:
        total += loss / len(losses)
    return [total, f"{total}", losses[0] == 0.1, losses[0] < 0.1]


def case_large_numbers():
    return [np.int32(2147483647) + 1, np.int32(2147483647) * np.array([1.0], np.float32)]
