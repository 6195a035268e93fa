"""`tf.contrib.layers`."""

import tensorflow.compat.v1 as _tf

from estimator_bridge.tf1.contrib.layers import (
    convolutional,
    dense,
    feature_columns,
    initializers,
    normalization,
    optimizers,
    pooling,
    summaries,
    variables,
)
from estimator_bridge.tf1.contrib.package import lookup as _lookup

_COLUMN = (
    "use tf.feature_column.embedding_column over "
    "tf.feature_column.categorical_column_with_hash_bucket"
)

__getattr__, _advice_for = _lookup(
    globals(),
    {
        "hashed_embedding_column": _COLUMN,
        "scattered_embedding_column": _COLUMN,
        "sequence_input_from_feature_columns": (
            "use tf.keras.experimental.SequenceFeatures with tf.feature_column.sequence_* columns"
        ),
        "transform_features": "use tf.feature_column.input_layer",
        "gdn": "use the package tensorflow-compression",
    },
)

utils = variables
feature_column = feature_columns

avg_pool2d = pooling.avg_pool2d
avg_pool3d = pooling.avg_pool3d
max_pool2d = pooling.max_pool2d
max_pool3d = pooling.max_pool3d
pool = pooling.pool
conv1d = convolution1d = convolutional.convolution1d
conv2d = convolution2d = convolutional.convolution2d
conv3d = convolution3d = convolutional.convolution3d
convolution = convolutional.convolution
conv2d_in_plane = convolution2d_in_plane = convolutional.conv2d_in_plane
conv2d_transpose = convolution2d_transpose = convolutional.convolution2d_transpose
conv3d_transpose = convolution3d_transpose = convolutional.convolution3d_transpose
separable_conv2d = separable_convolution2d = convolutional.separable_convolution2d

bias_add = dense.bias_add
bow_encoder = dense.bow_encoder
dense_to_sparse = dense.dense_to_sparse
dropout = dense.dropout
elu = dense.elu
embed_sequence = dense.embed_sequence
embedding_lookup_unique = dense.embedding_lookup_unique
flatten = dense.flatten
fully_connected = dense.fully_connected
legacy_fully_connected = dense.fully_connected
linear = dense.linear
maxout = dense.maxout
legacy_linear = dense.linear
one_hot_encoding = dense.one_hot_encoding
relu = dense.relu
legacy_relu = dense.relu
relu6 = dense.relu6
repeat = dense.repeat
softmax = dense.softmax
stack = dense.stack
unit_norm = dense.unit_norm
safe_embedding_lookup_sparse = _tf.nn.safe_embedding_lookup_sparse
recompute_grad = _tf.recompute_grad

batch_norm = normalization.batch_norm
group_norm = normalization.group_norm
instance_norm = normalization.instance_norm
layer_norm = normalization.layer_norm

apply_regularization = initializers.apply_regularization
l1_l2_regularizer = initializers.l1_l2_regularizer
l1_regularizer = initializers.l1_regularizer
l2_regularizer = initializers.l2_regularizer
sum_regularizer = initializers.sum_regularizer
variance_scaling_initializer = initializers.variance_scaling_initializer
xavier_initializer = initializers.xavier_initializer
xavier_initializer_conv2d = initializers.xavier_initializer

OPTIMIZER_CLS_NAMES = optimizers.OPTIMIZER_CLS_NAMES
OPTIMIZER_SUMMARIES = optimizers.OPTIMIZER_SUMMARIES
adaptive_clipping_fn = optimizers.adaptive_clipping_fn
optimize_loss = optimizers.optimize_loss

summarize_activation = summaries.summarize_activation
summarize_activations = summaries.summarize_activations
summarize_biases = summaries.summarize_biases
summarize_collection = summaries.summarize_collection
summarize_tensor = summaries.summarize_tensor
summarize_tensors = summaries.summarize_tensors
summarize_variables = summaries.summarize_variables
summarize_weights = summaries.summarize_weights

for _name in feature_columns.__all__:
    globals()[_name] = getattr(feature_columns, _name)
