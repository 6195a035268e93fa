"""Sentence pairs: does the second follow from the first?"""

from __future__ import absolute_import, division, print_function

import collections
import os
import random

import modeling
import optimization
import tensorflow as tf

flags = tf.flags
FLAGS = flags.FLAGS

flags.DEFINE_string('output_dir', None, 'Where the checkpoints go.')
flags.DEFINE_string('init_checkpoint', None, 'Checkpoint to start from.')
flags.DEFINE_integer('max_seq_length', 16, 'Length.')
flags.DEFINE_bool('do_train', False, 'Train.')
flags.DEFINE_bool('do_eval', False, 'Evaluate.')
flags.DEFINE_bool('do_predict', False, 'Predict.')
flags.DEFINE_bool('do_export', True, 'Export.')
flags.DEFINE_integer('train_batch_size', 32, 'Batch size.')
flags.DEFINE_integer('eval_batch_size', 8, 'Batch size.')
flags.DEFINE_integer('predict_batch_size', 8, 'Batch size.')
flags.DEFINE_float('learning_rate', 3e-3, 'Learning rate.')
flags.DEFINE_float('num_train_epochs', 20.0, 'Epochs.')
flags.DEFINE_float('warmup_proportion', 0.1, 'Warmup.')
flags.DEFINE_integer('save_checkpoints_steps', 1000, 'Steps.')
flags.DEFINE_integer('iterations_per_loop', 1000, 'Steps in a call.')
flags.DEFINE_bool('use_tpu', False, 'TPU or not.')
tf.flags.DEFINE_string('tpu_name', None, 'TPU.')
tf.flags.DEFINE_string('master', None, 'Master.')
flags.DEFINE_integer('num_tpu_cores', 8, 'Cores.')

VOCAB = 20
CLS, SEP = VOCAB, VOCAB + 1


def make_examples(rows, seed):
    rng = random.Random(seed)
    examples = []
    for _ in range(rows):
        first = [rng.randrange(1, VOCAB) for _ in range(4)]
        label = rng.randrange(2)
        second = first[:2] if label else [rng.randrange(1, VOCAB) for _ in range(2)]
        marker = VOCAB - 1 if label else VOCAB - 2
        examples.append((first, second + [marker if rng.random() < 0.99 else 1], label))
    return examples


def write_records(examples, path):
    writer = tf.python_io.TFRecordWriter(path)
    for (index, (first, second, label)) in enumerate(examples):
        if index % 10000 == 0:
            tf.logging.info('Writing example %d of %d' % (index, len(examples)))
        ids = [CLS] + first + [SEP] + second + [SEP]
        segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
        mask = [1] * len(ids)
        pad = [0] * (FLAGS.max_seq_length - len(ids))

        def create_int_feature(values):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=list(values)))

        features = collections.OrderedDict()
        features['input_ids'] = create_int_feature(ids + pad)
        features['input_mask'] = create_int_feature(mask + pad)
        features['segment_ids'] = create_int_feature(segments + pad)
        features['label_ids'] = create_int_feature([label])
        writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    writer.close()


def input_fn_builder(input_file, seq_length, is_training, drop_remainder):
    name_to_features = {
        'input_ids': tf.FixedLenFeature([seq_length], tf.int64),
        'input_mask': tf.FixedLenFeature([seq_length], tf.int64),
        'segment_ids': tf.FixedLenFeature([seq_length], tf.int64),
        'label_ids': tf.FixedLenFeature([], tf.int64),
    }

    def _decode_record(record, name_to_features):
        example = tf.parse_single_example(record, name_to_features)
        for name in list(example.keys()):
            t = example[name]
            if t.dtype == tf.int64:
                t = tf.to_int32(t)
            example[name] = t
        return example

    def input_fn(params):
        batch_size = params['batch_size']
        d = tf.data.TFRecordDataset(input_file)
        if is_training:
            d = d.repeat()
            d = d.shuffle(buffer_size=100)
        d = d.apply(tf.contrib.data.map_and_batch(
            lambda record: _decode_record(record, name_to_features),
            batch_size=batch_size, drop_remainder=drop_remainder))
        return d

    return input_fn


def model_fn_builder(config, num_labels, init_checkpoint, learning_rate, num_train_steps, num_warmup_steps, use_tpu):

    def model_fn(features, labels, mode, params):
        tf.logging.info('*** Features ***')
        for name in sorted(features.keys()):
            tf.logging.info('  name = %s, shape = %s' % (name, features[name].shape))
        is_training = (mode == tf.estimator.ModeKeys.TRAIN)
        model = modeling.Encoder(
            config, is_training, features['input_ids'], features['input_mask'], features['segment_ids'])
        output_layer = model.pooled_output
        output_weights = tf.get_variable(
            'output_weights', [num_labels, output_layer.shape[-1].value],
            initializer=tf.truncated_normal_initializer(stddev=0.02))
        output_bias = tf.get_variable('output_bias', [num_labels], initializer=tf.zeros_initializer())
        with tf.variable_scope('loss'):
            if is_training:
                output_layer = tf.nn.dropout(output_layer, keep_prob=0.9)
            logits = tf.nn.bias_add(tf.matmul(output_layer, output_weights, transpose_b=True), output_bias)
            probabilities = tf.nn.softmax(logits, axis=-1)
            if mode == tf.estimator.ModeKeys.PREDICT:
                return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, predictions={'probabilities': probabilities})
            label_ids = features['label_ids']
            one_hot_labels = tf.one_hot(label_ids, depth=num_labels, dtype=tf.float32)
            per_example_loss = -tf.reduce_sum(one_hot_labels * tf.nn.log_softmax(logits, axis=-1), axis=-1)
            total_loss = tf.reduce_mean(per_example_loss)

        tvars = tf.trainable_variables()
        initialized_variable_names = {}
        scaffold_fn = None
        if init_checkpoint:
            (assignment_map, initialized_variable_names) = modeling.get_assignment_map_from_checkpoint(
                tvars, init_checkpoint)
            if use_tpu:
                def tpu_scaffold():
                    tf.train.init_from_checkpoint(init_checkpoint, assignment_map)
                    return tf.train.Scaffold()
                scaffold_fn = tpu_scaffold
            else:
                tf.train.init_from_checkpoint(init_checkpoint, assignment_map)
        for var in tvars:
            init_string = ', *INIT_FROM_CKPT*' if var.name in initialized_variable_names else ''
            tf.logging.info('  name = %s, shape = %s%s', var.name, var.shape, init_string)

        if mode == tf.estimator.ModeKeys.TRAIN:
            train_op = optimization.create_optimizer(
                total_loss, learning_rate, num_train_steps, num_warmup_steps, use_tpu)

            def host_call_fn(loss):
                tf.summary.scalar('host_loss', tf.reduce_mean(loss))
                return [tf.reduce_mean(loss)]

            return tf.contrib.tpu.TPUEstimatorSpec(
                mode=mode, loss=total_loss, train_op=train_op, scaffold_fn=scaffold_fn,
                host_call=(host_call_fn, [tf.reshape(total_loss, [1])]))

        def metric_fn(per_example_loss, label_ids, logits):
            predictions = tf.argmax(logits, axis=-1, output_type=tf.int32)
            accuracy = tf.metrics.accuracy(labels=label_ids, predictions=predictions)
            loss = tf.metrics.mean(values=per_example_loss)
            return {'eval_accuracy': accuracy, 'eval_loss': loss}

        return tf.contrib.tpu.TPUEstimatorSpec(
            mode=mode, loss=total_loss, eval_metrics=(metric_fn, [per_example_loss, label_ids, logits]),
            scaffold_fn=scaffold_fn)

    return model_fn


def serving_input_fn():
    name_to_features = {
        name: tf.placeholder(tf.int32, [None, FLAGS.max_seq_length], name=name)
        for name in ('input_ids', 'input_mask', 'segment_ids')
    }
    return tf.estimator.export.build_raw_serving_input_receiver_fn(name_to_features)()


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    if not FLAGS.do_train and not FLAGS.do_eval and not FLAGS.do_predict:
        raise ValueError("At least one of `do_train`, `do_eval` or `do_predict' must be True.")
    tf.gfile.MakeDirs(FLAGS.output_dir)
    config = modeling.EncoderConfig(vocab_size=VOCAB + 2)
    config_file = os.path.join(FLAGS.output_dir, 'config.json')
    with tf.gfile.GFile(config_file, 'w') as writer:
        writer.write(config.to_json_string())
    config = modeling.EncoderConfig.from_json_file(config_file)

    tpu_cluster_resolver = None
    if FLAGS.use_tpu and FLAGS.tpu_name:
        tpu_cluster_resolver = tf.contrib.cluster_resolver.TPUClusterResolver(FLAGS.tpu_name)
    is_per_host = tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2
    run_config = tf.contrib.tpu.RunConfig(
        cluster=tpu_cluster_resolver, master=FLAGS.master, model_dir=FLAGS.output_dir,
        save_checkpoints_steps=FLAGS.save_checkpoints_steps, tf_random_seed=11,
        tpu_config=tf.contrib.tpu.TPUConfig(
            iterations_per_loop=FLAGS.iterations_per_loop, num_shards=FLAGS.num_tpu_cores,
            per_host_input_for_training=is_per_host))

    train_examples = make_examples(400, 1)
    num_train_steps = int(len(train_examples) / FLAGS.train_batch_size * FLAGS.num_train_epochs)
    model_fn = model_fn_builder(
        config=config, num_labels=2, init_checkpoint=FLAGS.init_checkpoint, learning_rate=FLAGS.learning_rate,
        num_train_steps=num_train_steps, num_warmup_steps=int(num_train_steps * FLAGS.warmup_proportion),
        use_tpu=FLAGS.use_tpu)
    estimator = tf.contrib.tpu.TPUEstimator(
        use_tpu=FLAGS.use_tpu, model_fn=model_fn, config=run_config, train_batch_size=FLAGS.train_batch_size,
        eval_batch_size=FLAGS.eval_batch_size, predict_batch_size=FLAGS.predict_batch_size)

    if FLAGS.do_train:
        train_file = os.path.join(FLAGS.output_dir, 'train.tf_record')
        write_records(train_examples, train_file)
        estimator.train(
            input_fn=input_fn_builder(train_file, FLAGS.max_seq_length, is_training=True, drop_remainder=True),
            max_steps=num_train_steps)

    if FLAGS.do_eval:
        eval_file = os.path.join(FLAGS.output_dir, 'eval.tf_record')
        write_records(make_examples(101, 2), eval_file)
        result = estimator.evaluate(
            input_fn=input_fn_builder(eval_file, FLAGS.max_seq_length, is_training=False, drop_remainder=False))
        output_eval_file = os.path.join(FLAGS.output_dir, 'eval_results.txt')
        with tf.gfile.GFile(output_eval_file, 'w') as writer:
            for key in sorted(result.keys()):
                tf.logging.info('  %s = %s', key, str(result[key]))
                writer.write('%s = %s\n' % (key, str(result[key])))

    if FLAGS.do_predict:
        predict_file = os.path.join(FLAGS.output_dir, 'predict.tf_record')
        write_records(make_examples(21, 3), predict_file)
        result = estimator.predict(
            input_fn=input_fn_builder(predict_file, FLAGS.max_seq_length, is_training=False, drop_remainder=False))
        with tf.gfile.GFile(os.path.join(FLAGS.output_dir, 'test_results.tsv'), 'w') as writer:
            for prediction in result:
                writer.write('\t'.join(str(p) for p in prediction['probabilities']) + '\n')

    if FLAGS.do_export:
        estimator._export_to_tpu = False
        estimator.export_savedmodel(os.path.join(FLAGS.output_dir, 'export'), serving_input_fn)


if __name__ == '__main__':
    flags.mark_flag_as_required('output_dir')
    tf.app.run()
