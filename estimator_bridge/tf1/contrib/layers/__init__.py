"""`tf.contrib.layers`."""

import tensorflow.compat.v1 as _tf

from estimator_bridge.tf1.contrib.layers import batch_normalization as _batch_normalization
from estimator_bridge.tf1.contrib.layers import convolutional as _convolutional
from estimator_bridge.tf1.contrib.layers import dense as _dense
from estimator_bridge.tf1.contrib.layers import divisive as _divisive
from estimator_bridge.tf1.contrib.layers import embedding as _embedding
from estimator_bridge.tf1.contrib.layers import feature_columns as _feature_columns
from estimator_bridge.tf1.contrib.layers import feature_parsing as _feature_parsing
from estimator_bridge.tf1.contrib.layers import initializers as _initializers
from estimator_bridge.tf1.contrib.layers import legacy as _legacy
from estimator_bridge.tf1.contrib.layers import normalization as _normalization
from estimator_bridge.tf1.contrib.layers import optimizers as _optimizers
from estimator_bridge.tf1.contrib.layers import pooling as _pooling
from estimator_bridge.tf1.contrib.layers import reversible as _reversible
from estimator_bridge.tf1.contrib.layers import scattered as _scattered
from estimator_bridge.tf1.contrib.layers import spatial as _spatial
from estimator_bridge.tf1.contrib.layers import summaries
from estimator_bridge.tf1.contrib.layers import target_columns as _target_columns
from estimator_bridge.tf1.contrib.layers import transposed as _transposed
from estimator_bridge.tf1.contrib.layers import utils as utils
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        "hashed_embedding_column": "use tf.contrib.layers.scattered_embedding_column",
    },
)

feature_column = _feature_columns

avg_pool2d = _pooling.avg_pool2d
avg_pool3d = _pooling.avg_pool3d
max_pool2d = _pooling.max_pool2d
max_pool3d = _pooling.max_pool3d
pool = _pooling.pool
conv1d = convolution1d = _convolutional.convolution1d
conv2d = convolution2d = _convolutional.convolution2d
conv3d = convolution3d = _convolutional.convolution3d
convolution = _convolutional.convolution
conv2d_in_plane = convolution2d_in_plane = _convolutional.conv2d_in_plane
conv2d_transpose = convolution2d_transpose = _transposed.convolution2d_transpose
conv3d_transpose = convolution3d_transpose = _transposed.convolution3d_transpose
separable_conv2d = separable_convolution2d = _convolutional.separable_convolution2d

bias_add = _dense.bias_add
bow_encoder = _embedding.bow_encoder
dense_to_sparse = _embedding.dense_to_sparse
dropout = _dense.dropout
elu = _dense.elu
embed_sequence = _embedding.embed_sequence
embedding_lookup_unique = _embedding.embedding_lookup_unique
flatten = _dense.flatten
fully_connected = _dense.fully_connected
legacy_fully_connected = _legacy.legacy_fully_connected
linear = _dense.linear
maxout = _dense.maxout
legacy_linear = _legacy.legacy_linear
one_hot_encoding = _dense.one_hot_encoding
relu = _dense.relu
legacy_relu = _legacy.legacy_relu
relu6 = _dense.relu6
repeat = _dense.repeat
softmax = _dense.softmax
stack = _dense.stack
unit_norm = _dense.unit_norm
safe_embedding_lookup_sparse = _tf.nn.safe_embedding_lookup_sparse

batch_norm = _batch_normalization.batch_norm
group_norm = _normalization.group_norm
instance_norm = _normalization.instance_norm
layer_norm = _normalization.layer_norm

GDN = _divisive.GDN
gdn = _divisive.gdn
images_to_sequence = _spatial.images_to_sequence
scale_gradient = _spatial.scale_gradient
sequence_to_images = _spatial.sequence_to_images
spatial_softmax = _spatial.spatial_softmax

RevBlock = _reversible.RevBlock
recompute_grad = _reversible.recompute_grad
rev_block = _reversible.rev_block

apply_regularization = _initializers.apply_regularization
l1_l2_regularizer = _initializers.l1_l2_regularizer
l1_regularizer = _initializers.l1_regularizer
l2_regularizer = _initializers.l2_regularizer
sum_regularizer = _initializers.sum_regularizer
variance_scaling_initializer = _initializers.variance_scaling_initializer
xavier_initializer = _initializers.xavier_initializer
xavier_initializer_conv2d = _initializers.xavier_initializer

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = _scattered.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY
check_feature_columns = _feature_parsing.check_feature_columns
infer_real_valued_columns = _feature_parsing.infer_real_valued_columns
parse_feature_columns_from_sequence_examples = (
    _feature_parsing.parse_feature_columns_from_sequence_examples
)
transform_features = _feature_parsing.transform_features
multi_class_target = _target_columns.multi_class_target
regression_target = _target_columns.regression_target

OPTIMIZER_CLS_NAMES = _optimizers.OPTIMIZER_CLS_NAMES
OPTIMIZER_SUMMARIES = _optimizers.OPTIMIZER_SUMMARIES
adaptive_clipping_fn = _optimizers.adaptive_clipping_fn
optimize_loss = _optimizers.optimize_loss

summarize_activation = summaries.summarize_activation
summarize_activations = summaries.summarize_activations
summarize_biases = summaries.summarize_biases
summarize_collection = summaries.summarize_collection
summarize_tensor = summaries.summarize_tensor
summarize_tensors = summaries.summarize_tensors
summarize_variables = summaries.summarize_variables
summarize_weights = summaries.summarize_weights

for _name in _feature_columns.__all__:
    globals()[_name] = getattr(_feature_columns, _name)
