"""Wide and deep model of who earns more than 50K."""

from __future__ import absolute_import, division, print_function

import multiprocessing

import six
import tensorflow as tf

CSV_COLUMNS = [
    "age",
    "workclass",
    "education",
    "education_num",
    "occupation",
    "gender",
    "hours_per_week",
    "native_country",
    "income_bracket",
]
CSV_COLUMN_DEFAULTS = [[0], [""], [""], [0], [""], [""], [0], [""], [""]]
LABEL_COLUMN = "income_bracket"
LABELS = [" <=50K", " >50K"]
UNUSED_COLUMNS = set()

INPUT_COLUMNS = [
    tf.feature_column.categorical_column_with_vocabulary_list("gender", [" Female", " Male"]),
    tf.feature_column.categorical_column_with_vocabulary_list(
        "education", [" Bachelors", " HS-grad", " Masters", " Doctorate"]
    ),
    tf.feature_column.categorical_column_with_vocabulary_list(
        "workclass", [" Private", " State-gov", " Self-emp"]
    ),
    tf.feature_column.categorical_column_with_hash_bucket(
        "occupation", hash_bucket_size=100, dtype=tf.string
    ),
    tf.feature_column.categorical_column_with_hash_bucket(
        "native_country", hash_bucket_size=100, dtype=tf.string
    ),
    tf.feature_column.numeric_column("age"),
    tf.feature_column.numeric_column("education_num"),
    tf.feature_column.numeric_column("hours_per_week"),
]


def build_estimator(config, embedding_size=8, hidden_units=None):
    (
        gender,
        education,
        workclass,
        occupation,
        native_country,
        age,
        education_num,
        hours_per_week,
    ) = INPUT_COLUMNS
    age_buckets = tf.feature_column.bucketized_column(
        age, boundaries=[18, 25, 30, 35, 40, 45, 50, 55, 60, 65]
    )
    wide_columns = [
        tf.feature_column.crossed_column(["education", "occupation"], hash_bucket_size=int(1e4)),
        tf.feature_column.crossed_column([age_buckets, "education"], hash_bucket_size=int(1e4)),
        gender,
        native_country,
        education,
        occupation,
        workclass,
        age_buckets,
    ]
    deep_columns = [
        tf.feature_column.indicator_column(workclass),
        tf.feature_column.indicator_column(education),
        tf.feature_column.indicator_column(gender),
        tf.feature_column.embedding_column(occupation, dimension=embedding_size),
        tf.feature_column.embedding_column(native_country, dimension=embedding_size),
        age,
        education_num,
        hours_per_week,
    ]
    return tf.estimator.DNNLinearCombinedClassifier(
        config=config,
        linear_feature_columns=wide_columns,
        dnn_feature_columns=deep_columns,
        dnn_hidden_units=hidden_units or [100, 70, 50, 25],
        dnn_optimizer=tf.train.AdagradOptimizer(0.05),
    )


def parse_label_column(label_string_tensor):
    table = tf.contrib.lookup.index_table_from_tensor(tf.constant(LABELS))
    return table.lookup(label_string_tensor)


def parse_csv(rows_string_tensor):
    row_columns = tf.expand_dims(rows_string_tensor, -1)
    columns = tf.decode_csv(row_columns, record_defaults=CSV_COLUMN_DEFAULTS)
    features = dict(zip(CSV_COLUMNS, columns))
    for col in UNUSED_COLUMNS:
        features.pop(col)
    return features


def input_fn(filenames, num_epochs=None, shuffle=True, skip_header_lines=0, batch_size=200):
    dataset = (
        tf.data.TextLineDataset(filenames)
        .skip(skip_header_lines)
        .map(parse_csv, num_parallel_calls=multiprocessing.cpu_count())
    )
    if shuffle:
        dataset = dataset.shuffle(buffer_size=batch_size * 10)
    dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size)
    iterator = dataset.make_one_shot_iterator()
    features = iterator.get_next()
    return features, parse_label_column(features.pop(LABEL_COLUMN))


def json_serving_input_fn():
    inputs = {}
    for feat in INPUT_COLUMNS:
        inputs[feat.name] = tf.placeholder(shape=[None], dtype=feat.dtype)
    return tf.estimator.export.ServingInputReceiver(
        {key: tf.expand_dims(value, -1) for key, value in six.iteritems(inputs)}, inputs
    )


def example_serving_input_fn():
    example_bytestring = tf.placeholder(shape=[None], dtype=tf.string)
    feature_scalars = tf.parse_example(
        example_bytestring, tf.feature_column.make_parse_example_spec(INPUT_COLUMNS)
    )
    return tf.estimator.export.ServingInputReceiver(
        feature_scalars, {"example_proto": example_bytestring}
    )


SERVING_FUNCTIONS = {"JSON": json_serving_input_fn, "EXAMPLE": example_serving_input_fn}
