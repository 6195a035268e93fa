"""Model inputs from the feature columns of `tf.contrib.layers`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column as _v1
from estimator_bridge.private_tf import feature_column_v2 as _fc
from estimator_bridge.private_tf import feature_column_v2_types as _types
from estimator_bridge.tf1.contrib.layers.scattered import ScatteredEmbeddingColumn

__all__ = [
    "create_feature_spec_for_parsing",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "parse_feature_columns_from_examples",
    "sequence_input_from_feature_columns",
    "weighted_sum_from_feature_columns",
]

_COLLECTIONS = (tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES)


def create_feature_spec_for_parsing(feature_columns):
    """Returns the parsing spec of columns for tf.parse_example.

    Args:
      feature_columns: list of columns.

    Returns:
      {feature: FixedLenFeature or VarLenFeature}.
    """
    return tf.feature_column.make_parse_example_spec(list(feature_columns))


def parse_feature_columns_from_examples(serialized, feature_columns, name=None, example_names=None):
    """Parses serialized tf.Example protocol buffers.

    Args:
      serialized: string tensor [batch].
      feature_columns: list of columns.
      name: name of the operations.
      example_names: string tensor [batch], names for error messages, or None.

    Returns:
      {feature: tensor}, and {column: tensor} with the transformed values of the columns.
    """
    found = tf.parse_example(
        serialized,
        create_feature_spec_for_parsing(feature_columns),
        name=name,
        example_names=example_names,
    )
    transformed = _v1._LazyBuilder(found)
    columns = sorted(set(feature_columns), key=column_order)
    return {**found, **{column: transformed.get(column) for column in columns}}


def input_from_feature_columns(
    columns_to_tensors,
    feature_columns,
    weight_collections=None,
    trainable=True,
    scope=None,
    cols_to_outs=None,
):
    """Returns the concatenated values of dense columns.

    The columns are sorted by kind (bucketized, embedding, one-hot, real-valued) and then by name.
    Creates the variables `<scope>/<column>/weights` of embeddings. The default scope is
    `input_from_feature_columns`.

    Args:
      columns_to_tensors: {feature: tensor}.
      feature_columns: list of columns.
      weight_collections: further collections for the variables.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.
      cols_to_outs: dict that receives {column: tensor}, or None.

    Returns:
      float32 tensor [batch, total size of the columns].

    Raises:
      ValueError: a column is sparse.
    """
    columns = sorted(set(feature_columns), key=column_order)
    collections = [*(weight_collections or ()), *_COLLECTIONS]
    with tf.variable_scope(scope, "input_from_feature_columns", list(columns_to_tensors.values())):
        transformed = _v1._LazyBuilder(columns_to_tensors)
        outputs = []
        for column in columns:
            with tf.variable_scope(None, _scope_of(column)):
                if isinstance(column, (_fc.EmbeddingColumn, _v1._SharedEmbeddingColumn)):
                    output = _embed(column, transformed, collections, trainable)
                elif isinstance(column, ScatteredEmbeddingColumn):
                    output = column._get_dense_tensor(transformed, collections, trainable)
                elif isinstance(column, _fc.DenseColumn):
                    output = _dense_values(column, transformed)
                else:
                    raise ValueError(
                        f"Error creating input layer for column: {column.name}. A sparse column "
                        "needs an embedding_column or a one_hot_column around it."
                    )
            if cols_to_outs is not None:
                cols_to_outs[column] = output
            outputs.append(output)
        return tf.concat(outputs, 1)


def sequence_input_from_feature_columns(
    columns_to_tensors, feature_columns, weight_collections=None, trainable=True, scope=None
):
    """Returns the concatenated values of dense columns at each step of sequences.

    Creates the variables of `input_from_feature_columns`, in the default scope
    `sequence_input_from_feature_columns`.

    Args:
      columns_to_tensors: {feature: tensor [batch, length, ...]}.
      feature_columns: list of columns.
      weight_collections: further collections for the variables.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      float32 tensor [batch, length, total size of the columns].

    Raises:
      ValueError: a column is none that sequences can have.
    """
    columns = sorted(set(feature_columns), key=column_order)
    collections = [*(weight_collections or ()), *_COLLECTIONS]
    with tf.variable_scope(
        scope, "sequence_input_from_feature_columns", list(columns_to_tensors.values())
    ):
        transformed = _v1._LazyBuilder(columns_to_tensors)
        outputs = []
        for column in columns:
            with tf.variable_scope(None, _scope_of(column)):
                outputs.append(_at_each_step(column, transformed, collections, trainable))
        return tf.concat(outputs, 2)


def _at_each_step(column, transformed, collections, trainable):
    """Returns the values of a column, [batch, length, size]."""
    if isinstance(column, _fc.NumericColumn):
        values = tf.cast(column._get_dense_tensor(transformed), tf.float32)
        return tf.expand_dims(values, 2) if values.shape.ndims == 2 else values
    if isinstance(column, _fc.EmbeddingColumn):
        return _embed(column, transformed, collections, trainable, has_steps=True)
    if isinstance(column, _fc.IndicatorColumn):
        ids = column.categorical_column._get_sparse_tensors(transformed).id_tensor
        hot = tf.one_hot(tf.sparse_tensor_to_dense(ids, -1), column.categorical_column._num_buckets)
        return tf.reduce_sum(hot, 2) if hot.shape.ndims == 4 else hot
    raise ValueError(f"Error creating input layer for column: {column.name}: not for sequences.")


# The order of 1.x is that of the columns' texts: the name of the class, then its fields.
_ORDER = (
    _fc.BucketizedColumn,
    _fc.CrossedColumn,
    (_fc.EmbeddingColumn, _v1._SharedEmbeddingColumn),
    _fc.IndicatorColumn,
    _fc.NumericColumn,
    ScatteredEmbeddingColumn,
    _fc.HashedCategoricalColumn,
    _fc.IdentityCategoricalColumn,
    _fc.VocabularyListCategoricalColumn,
    _fc.VocabularyFileCategoricalColumn,
    _fc.WeightedCategoricalColumn,
)


def column_order(column):
    """Returns the key by which the columns of a model are sorted.

    Args:
      column: feature column.

    Returns:
      Tuple of ints, strings and such tuples.
    """
    place = next((i for i, kind in enumerate(_ORDER) if isinstance(column, kind)), len(_ORDER))
    if isinstance(column, _fc.BucketizedColumn):
        return (place, *column_order(column.source_column), repr(column.boundaries))
    if isinstance(column, _fc.CrossedColumn):
        parts = getattr(column, "parts", None) or [
            part for part in column.keys if isinstance(part, _types.FeatureColumn)
        ]
        size = repr(column.hash_bucket_size)
        return (place, tuple(column_order(part) for part in parts), size, repr(column.hash_key))
    inner = getattr(column, "categorical_column", None)
    if inner is None:
        return (place, repr(column.name))
    more = [repr(getattr(column, name, None)) for name in ("dimension", "combiner")]
    return (place, *column_order(inner), *more, repr(column.name))


def _dense_values(column, transformed):
    """Returns the values of a dense column, [batch, size]."""
    size = column._variable_shape.num_elements()
    return tf.reshape(tf.cast(column._get_dense_tensor(transformed), tf.float32), [-1, size])


def _embed(column, transformed, collections, trainable, has_steps=False):
    """Returns the embeddings of a column, [batch(, length), dimension]; creates its table."""
    shared = isinstance(column, _v1._SharedEmbeddingColumn)
    ids, weights = column.categorical_column._get_sparse_tensors(transformed)
    if has_steps and ids.shape.ndims == 2:
        # One id at each step.
        ids = tf.sparse_reshape(ids, tf.concat([ids.dense_shape, [1]], 0))
    shape = [column.categorical_column._num_buckets, column.dimension]
    name = column.shared_embedding_collection_name if shared else "weights"
    collection = f"SHARED_EMBEDDING_COLLECTION_{name.upper()}"
    table = _shared_table(collection) if shared else None
    if table is None:
        table = tf.get_variable(
            name,
            shape,
            tf.float32,
            column.initializer,
            trainable=trainable and column.trainable,
            collections=collections,
        )
        if shared:
            tf.add_to_collection(collection, table)
    if column.ckpt_to_load_from is not None:
        tf.train.init_from_checkpoint(column.ckpt_to_load_from, {column.tensor_name_in_ckpt: table})
    return tf.nn.safe_embedding_lookup_sparse(
        table, ids, weights, column.combiner, max_norm=column.max_norm
    )


def _shared_table(collection):
    """Returns the table of shared_embedding_columns if the graph has it already."""
    tables = tf.get_collection(collection)
    return tables[0] if tables else None


def _scope_of(column):
    if isinstance(column, _v1._SharedEmbeddingColumn):
        return f"{column.categorical_column.name}_shared_embedding"
    if isinstance(column, _fc.IndicatorColumn):
        return f"{column.categorical_column.name}_one_hot"
    return column.name


def _bias(num_outputs, collections, trainable):
    return tf.get_variable(
        "bias_weight",
        [num_outputs],
        initializer=tf.zeros_initializer(),
        trainable=trainable,
        collections=collections,
    )


def _weights(name, shape, collections, trainable):
    return tf.get_variable(
        name,
        shape,
        tf.float32,
        tf.zeros_initializer(),
        trainable=trainable,
        collections=collections,
    )


def _as_list(variable):
    """Returns the parts of a partitioned variable, or the variable in a list."""
    return list(variable) if hasattr(variable, "_get_variable_list") else [variable]


def weighted_sum_from_feature_columns(
    columns_to_tensors,
    feature_columns,
    num_outputs,
    weight_collections=None,
    trainable=True,
    scope=None,
):
    """Returns the output of a linear model over columns.

    Creates the variables `<scope>/<column>/weights` of sparse and bucketized columns,
    `<scope>/<column>/weight` of real-valued columns, and `<scope>/bias_weight`. The default scope
    is `weighted_sum_from_feature_columns`.

    Args:
      columns_to_tensors: {feature: tensor}.
      feature_columns: list of columns.
      num_outputs: int, number of outputs.
      weight_collections: further collections for the variables.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      float32 tensor [batch, num_outputs], {column: variables}, and the bias variable.

    Raises:
      ValueError: a column is an embedding or one-hot.
    """
    collections = [*(weight_collections or ()), *_COLLECTIONS]
    with tf.variable_scope(
        scope, "weighted_sum_from_feature_columns", list(columns_to_tensors.values())
    ):
        transformed = _v1._LazyBuilder(columns_to_tensors)
        outputs, variables = [], {}
        for column in sorted(set(feature_columns), key=column_order):
            with tf.variable_scope(None, column.name):
                if isinstance(column, _fc.CategoricalColumn):
                    ids = column._get_sparse_tensors(transformed)
                    shape = [column._num_buckets, num_outputs]
                    weights = _weights("weights", shape, collections, trainable)
                    output = tf.nn.safe_embedding_lookup_sparse(
                        weights,
                        ids.id_tensor,
                        ids.weight_tensor,
                        getattr(column, "combiner", "sum"),
                    )
                elif isinstance(column, _fc.NumericColumn):
                    values = _dense_values(column, transformed)
                    shape = [values.shape[1], num_outputs]
                    weights = _weights("weight", shape, collections, trainable)
                    output = tf.matmul(values, tf.convert_to_tensor(weights))
                else:
                    raise ValueError(f"Error creating weighted sum for column: {column.name}.")
            outputs.append(output)
            variables[column] = _as_list(weights)
        bias = _bias(num_outputs, collections, trainable)
        return tf.nn.bias_add(tf.add_n(outputs), bias), variables, bias


def joint_weighted_sum_from_feature_columns(
    columns_to_tensors,
    feature_columns,
    num_outputs,
    weight_collections=None,
    trainable=True,
    scope=None,
):
    """Returns the output of a linear model over sparse columns whose weights are one variable.

    Creates the variables `<scope>/linear_weights/weights` and `<scope>/bias_weight`. The default
    scope is `joint_weighted_sum_from_feature_columns`.

    Args:
      columns_to_tensors: {feature: tensor}.
      feature_columns: list of columns.
      num_outputs: int, number of outputs.
      weight_collections: further collections for the variables.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      float32 tensor [batch, num_outputs], the list of the variable's parts, and the bias variable.

    Raises:
      NotImplementedError: a column is real-valued.
      AssertionError: a column has another combiner than `sum`.
      ValueError: a column is not sparse.
    """
    collections = [*(weight_collections or ()), *_COLLECTIONS]
    columns = sorted(set(feature_columns), key=column_order)
    with tf.variable_scope(
        scope, "joint_weighted_sum_from_feature_columns", list(columns_to_tensors.values())
    ):
        transformed = _v1._LazyBuilder(columns_to_tensors)
        found = []
        for column in columns:
            if isinstance(column, _fc.NumericColumn):
                raise NotImplementedError(f"{column.name}: joint weights need sparse columns")
            if not isinstance(column, _fc.CategoricalColumn):
                raise ValueError(f"{column.name}: joint weights need sparse columns")
            if getattr(column, "combiner", "sum") != "sum":
                raise AssertionError(f"{column.name}: joint weights need the combiner sum")
            found.append(column._get_sparse_tensors(transformed))
        sizes = [column._num_buckets for column in columns]
        with tf.variable_scope(None, "linear_weights"):
            shape = [sum(sizes), num_outputs]
            weights = _weights("weights", shape, collections, trainable)
            start, outputs = 0, []
            for size, ids in zip(sizes, found):
                tokens = ids.id_tensor
                outputs.append(
                    tf.nn.safe_embedding_lookup_sparse(
                        weights,
                        tf.SparseTensor(tokens.indices, tokens.values + start, tokens.dense_shape),
                        ids.weight_tensor,
                        "sum",
                    )
                )
                start += size
        bias = _bias(num_outputs, collections, trainable)
        return tf.nn.bias_add(tf.add_n(outputs), bias), _as_list(weights), bias
