"""Cases of tf.contrib.image, resampler and periodic_resample."""

import tensorflow as tf
import values

CASES = {}
contrib, np = tf.contrib, values.np
image = contrib.image

# tf.contrib.image.
FLAT = [1.0, 0.1, 3.0, 0.2, 0.9, 4.0, 0.01, 0.02]
OTHER = [2.0, 0.1, 3.0, 0.2, 0.9, 4.0, 0.01, -0.02]
for _name, _function in {
    "dense_image_warp": lambda: image.dense_image_warp(
        values.real(2, 4, 5, 3), values.real(2, 4, 5, 2, seed=2, high=3.0)
    ),
    "dense_image_warp, on pixels": lambda: image.dense_image_warp(
        values.real(1, 3, 4, 2),
        values.given([[[[1.0, 0.0]] * 4, [[0.0, -2.0]] * 4, [[0.0] * 2] * 4]]),
    ),
    "dense_image_warp, one row": lambda: image.dense_image_warp(
        values.real(1, 1, 4, 2), values.real(1, 1, 4, 2)
    ),
    "dense_image_warp, rank": lambda: image.dense_image_warp(
        values.real(4, 4, 2), values.real(1, 4, 4, 2)
    ),
    "dense_image_warp, dtypes": lambda: image.dense_image_warp(
        tf.cast(values.real(1, 3, 4, 2), tf.float64), values.real(1, 3, 4, 2, seed=2)
    ),
    "sparse_image_warp": lambda: warped(),
    "sparse_image_warp, edges": lambda: warped(num_boundary_points=1),
    "sparse_image_warp, options": lambda: warped(3, 0.1, num_boundary_points=3),
    "sparse_image_warp, rank": lambda: image.sparse_image_warp(
        values.real(4, 4, 1), values.real(1, 3, 2), values.real(1, 3, 2)
    ),
    "sparse_image_warp, other number": lambda: image.sparse_image_warp(
        values.real(1, 4, 4, 1), values.real(1, 3, 2), values.real(1, 4, 2)
    ),
    "compose_transforms": lambda: image.compose_transforms(
        values.given(FLAT), values.given(OTHER), values.given(FLAT)
    ),
    "compose_transforms, batch": lambda: image.compose_transforms([FLAT, OTHER], [OTHER, FLAT]),
    "compose_transforms, none": lambda: image.compose_transforms(),
    "flat_transforms_to_matrices": lambda: image.flat_transforms_to_matrices([FLAT, OTHER]),
    "flat_transforms_to_matrices, one": lambda: image.flat_transforms_to_matrices(FLAT),
    "flat_transforms_to_matrices, rank": lambda: image.flat_transforms_to_matrices([[FLAT]]),
    "flat_transforms_to_matrices, size": lambda: image.flat_transforms_to_matrices([1.0, 2.0]),
    "matrices_to_flat_transforms": lambda: image.matrices_to_flat_transforms(
        values.real(2, 3, 3, low=1.0, high=2.0)
    ),
    "matrices_to_flat_transforms, one": lambda: image.matrices_to_flat_transforms(np.eye(3) * 2),
    "matrices_to_flat_transforms, rank": lambda: image.matrices_to_flat_transforms(np.ones(3)),
    "translations_to_projective_transforms": lambda: image.translations_to_projective_transforms(
        [[1, 2], [3, 4]]
    ),
    "translations_to_projective_transforms, one": lambda: (
        image.translations_to_projective_transforms(values.given([1.0, 2.0]), "mine")
    ),
    "translations_to_projective_transforms, rank": lambda: (
        image.translations_to_projective_transforms([[[1.0]]])
    ),
    "translations_to_projective_transforms, unknown": lambda: (
        image.translations_to_projective_transforms(tf.placeholder(tf.float32))
    ),
}.items():
    CASES["image." + _name] = _function


def warped(*arguments, **options):
    source = values.real(2, 5, 2, seed=3, low=0.0, high=4.0)
    target = source + values.real(2, 5, 2, seed=4)
    return image.sparse_image_warp(values.real(2, 5, 6, 1), source, target, *arguments, **options)


for _order in (1, 2, 3, 4):
    CASES[f"image.interpolate_spline, {_order}"] = lambda order=_order: image.interpolate_spline(
        values.real(2, 5, 2), values.real(2, 5, 3, seed=2), values.real(2, 4, 2, seed=3), order
    )
CASES["image.interpolate_spline, weight"] = lambda: image.interpolate_spline(
    *(values.real(1, 5, 2), values.real(1, 5, 3, seed=2), values.real(1, 4, 2, seed=3)),
    order=2,
    regularization_weight=0.1,
)
for _name, _shapes in {
    "dimensions": ([None, None, None], [None, None, 3]),
    "values": ([None, None, 2], [None, None, None]),
}.items():
    CASES["image.interpolate_spline, unknown " + _name] = lambda shapes=_shapes: (
        image.interpolate_spline(
            *(tf.placeholder(tf.float32, shape) for shape in shapes), values.real(1, 2, 2), 1
        )
    )

REGIONS = [[1, 1, 0, 2, 2], [0, 1, 2, 2, 0], [3, 0, 2, 0, 1], [3, 3, 3, 3, 1]]
for _name, _images in {
    "integers": lambda: tf.constant(REGIONS),
    "batch": lambda: tf.constant([REGIONS, REGIONS[::-1]], tf.float32),
    "booleans": lambda: tf.constant([[True, False], [True, True]]),
    "strings": lambda: tf.constant([["a", ""], ["a", "b"]]),
    "larger": lambda: tf.constant(np.random.RandomState(0).rand(2, 30, 40) < 0.6),
    "spiral": lambda: tf.constant(spiral(21)),
    "nothing": lambda: tf.zeros([2, 3, 3], tf.int32),
    "complex": lambda: tf.constant([[1j]]),
    "rank": lambda: tf.constant([1, 2]),
    "unknown rank": lambda: tf.placeholder(tf.int32),
}.items():
    CASES["image.connected_components, " + _name] = lambda images=_images: (
        image.connected_components(images())
    )


def spiral(size):
    """Returns a path from a corner to the middle, whose ends are as far as can be."""
    found = np.zeros([size, size], np.int32)
    row, column, down, right, left = 0, 0, 0, 1, size
    while left > 1:
        for _ in range(left - 1):
            found[row, column] = 1
            row, column = row + down, column + right
        down, right = right, -down
        if down == 0:
            left -= 2
    return found


DISTANCES = [[0.5, 0.2, 0.9], [0.11, 0.12, 0.3], [0.21, 0.8, 0.1], [0.13, 0.14, 0.05]]
for _name, _arguments in {
    "all": (-1,),
    "some rows": (3,),
    "rows in a list": ([2],),
    "no rows": (0,),
    "top_k": (-1, 2),
    "top_k of rows": (1, 2),
    "top_k 0": (-1, 0),
    "too many rows": (5,),
    "two numbers": ([1, 2],),
}.items():
    CASES["image.bipartite_match, " + _name] = lambda arguments=_arguments: image.bipartite_match(
        tf.constant(DISTANCES), *arguments
    )
CASES["image.bipartite_match, infinite"] = lambda: image.bipartite_match(
    tf.constant([[np.inf, 2.0], [1.0, np.inf]]), -1
)
CASES["image.bipartite_match, larger"] = lambda: image.bipartite_match(
    tf.constant(np.random.RandomState(0).permutation(600).reshape(30, 20), tf.float32), 25.0
)
CASES["image.bipartite_match, rank"] = lambda: image.bipartite_match(tf.ones([3]), -1)


# tf.contrib.resampler.
resampler = contrib.resampler.resampler
POINTS = [[0, 0], [1.5, 0.5], [-0.5, 0], [-1, 0], [-1.2, 0], [3, 2], [3.5, 2], [4, 2], [2, 2.5]]
POINTS += [[2, 3.0], [2, -0.25], [0.25, 1.75]]
for _name, _function in {
    "points": lambda: resampler(values.real(1, 3, 4, 2), values.given([POINTS])),
    "one point": lambda: resampler(values.real(2, 3, 4, 2), values.real(2, 2, seed=2, high=2.0)),
    "many points": lambda: resampler(
        values.real(2, 5, 4, 3), values.real(2, 6, 7, 2, seed=2, low=-2.0, high=5.0)
    ),
    "not a number": lambda: resampler(values.real(1, 3, 4, 1), tf.constant([[np.nan, 0.0]])),
    "float64": lambda: resampler(
        tf.cast(values.real(1, 3, 4, 2), tf.float64), tf.constant([[1.5, 0.5]], tf.float64)
    ),
    "other dtypes": lambda: resampler(tf.ones([1, 3, 4, 2], tf.float64), tf.ones([1, 2])),
    "integers": lambda: resampler(tf.ones([1, 3, 4, 2], tf.int32), tf.ones([1, 2], tf.int32)),
    "other batch": lambda: resampler(tf.ones([2, 3, 4, 2]), tf.ones([1, 2])),
    "three coordinates": lambda: resampler(tf.ones([2, 3, 4, 2]), tf.ones([2, 3])),
    "rank 1": lambda: resampler(tf.ones([2, 3, 4, 2]), tf.ones([2])),
    "images of rank 3": lambda: resampler(tf.ones([2, 3, 4]), tf.ones([2, 2])),
}.items():
    CASES["resampler, " + _name] = _function

# tf.contrib.periodic_resample.
resample = contrib.periodic_resample.periodic_resample
for _shape in [
    *([6, None], [None, 8], [5, None], [3, None], [None, 4], [7, None]),
    *([2, None], [6, 2], [None, None], [3, None, 2], [100, None], [6, -1]),
]:
    CASES[f"periodic_resample, {_shape}"] = lambda shape=_shape: resample(
        tf.constant(np.arange(12).reshape(3, 4)), shape
    )
for _shape in ([4, 6, None], [4, None, 4], [3, 4, None], [None, 5, 6], [None, 6, 4]):
    CASES[f"periodic_resample, {_shape}"] = lambda shape=_shape: resample(
        tf.constant(np.arange(24).reshape(2, 3, 4)), shape
    )
CASES["periodic_resample, gradients"] = lambda: resample(values.real(2, 4, 6), [2, 8, None])
