"""A small transformer encoder in the manner of BERT."""

from __future__ import absolute_import, division, print_function

import collections
import copy
import json
import math
import re

import six
import tensorflow as tf


class EncoderConfig(object):

    def __init__(self, vocab_size, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                 intermediate_size=64, hidden_act='gelu', dropout_prob=0.1,
                 max_position_embeddings=32, type_vocab_size=2, initializer_range=0.15):
        self.__dict__.update({k: v for k, v in locals().items() if k != 'self'})

    @classmethod
    def from_json_file(cls, json_file):
        with tf.gfile.GFile(json_file, 'r') as reader:
            text = reader.read()
        config = cls(vocab_size=None)
        for (key, value) in six.iteritems(json.loads(text)):
            config.__dict__[key] = value
        return config

    def to_json_string(self):
        return json.dumps(copy.deepcopy(self.__dict__), indent=2, sort_keys=True) + '\n'


def gelu(x):
    cdf = 0.5 * (1.0 + tf.tanh((math.sqrt(2 / math.pi) * (x + 0.044715 * tf.pow(x, 3)))))
    return x * cdf


def create_initializer(initializer_range=0.15):
    return tf.truncated_normal_initializer(stddev=initializer_range)


def dropout(input_tensor, dropout_prob):
    if dropout_prob is None or dropout_prob == 0.0:
        return input_tensor
    return tf.nn.dropout(input_tensor, 1.0 - dropout_prob)


def layer_norm(input_tensor, name=None):
    return tf.contrib.layers.layer_norm(
        inputs=input_tensor, begin_norm_axis=-1, begin_params_axis=-1, scope=name)


def get_shape_list(tensor, expected_rank=None):
    shape = tensor.shape.as_list()
    if expected_rank is not None and tensor.shape.ndims != expected_rank:
        raise ValueError('rank of %s is %s' % (tensor.name, tensor.shape.ndims))
    dynamic = tf.shape(tensor)
    return [dynamic[i] if dim is None else dim for (i, dim) in enumerate(shape)]


def attention(x, mask, config, batch_size, seq_length):
    heads = config.num_attention_heads
    size = config.hidden_size // heads
    init = create_initializer(config.initializer_range)

    def project(name):
        y = tf.layers.dense(x, config.hidden_size, name=name, kernel_initializer=init)
        return tf.transpose(tf.reshape(y, [batch_size, seq_length, heads, size]), [0, 2, 1, 3])

    q, k, v = project('query'), project('key'), project('value')
    scores = tf.multiply(tf.matmul(q, k, transpose_b=True), 1.0 / math.sqrt(float(size)))
    adder = (1.0 - tf.cast(tf.expand_dims(mask, axis=[1]), tf.float32)) * -10000.0
    probs = dropout(tf.nn.softmax(scores + adder), config.dropout_prob)
    context = tf.transpose(tf.matmul(probs, v), [0, 2, 1, 3])
    return tf.reshape(context, [batch_size * seq_length, config.hidden_size])


class Encoder(object):

    def __init__(self, config, is_training, input_ids, input_mask, token_type_ids, scope=None):
        config = copy.deepcopy(config)
        if not is_training:
            config.dropout_prob = 0.0
        batch_size, seq_length = get_shape_list(input_ids, expected_rank=2)
        init = create_initializer(config.initializer_range)
        with tf.variable_scope(scope, default_name='bert'):
            with tf.variable_scope('embeddings'):
                self.embedding_table = tf.get_variable(
                    'word_embeddings', [config.vocab_size, config.hidden_size], initializer=init)
                output = tf.gather(self.embedding_table, input_ids)
                types = tf.get_variable(
                    'token_type_embeddings', [config.type_vocab_size, config.hidden_size], initializer=init)
                one_hot = tf.one_hot(tf.reshape(token_type_ids, [-1]), depth=config.type_vocab_size)
                output += tf.reshape(tf.matmul(one_hot, types), [batch_size, seq_length, config.hidden_size])
                assert_op = tf.assert_less_equal(seq_length, config.max_position_embeddings)
                with tf.control_dependencies([assert_op]):
                    positions = tf.get_variable(
                        'position_embeddings', [config.max_position_embeddings, config.hidden_size], initializer=init)
                    output += tf.expand_dims(tf.slice(positions, [0, 0], [seq_length, -1]), 0)
                output = dropout(layer_norm(output), config.dropout_prob)
            with tf.variable_scope('encoder'):
                mask = tf.tile(tf.expand_dims(input_mask, 1), [1, seq_length, 1])
                x = tf.reshape(output, [-1, config.hidden_size])
                for layer_idx in range(config.num_hidden_layers):
                    with tf.variable_scope('layer_%d' % layer_idx):
                        with tf.variable_scope('attention'):
                            with tf.variable_scope('self'):
                                context = attention(x, mask, config, batch_size, seq_length)
                            with tf.variable_scope('output'):
                                context = tf.layers.dense(context, config.hidden_size, kernel_initializer=init)
                                x = layer_norm(dropout(context, config.dropout_prob) + x)
                        with tf.variable_scope('intermediate'):
                            inner = tf.layers.dense(
                                x, config.intermediate_size, activation=gelu, kernel_initializer=init)
                        with tf.variable_scope('output'):
                            outer = tf.layers.dense(inner, config.hidden_size, kernel_initializer=init)
                            x = layer_norm(dropout(outer, config.dropout_prob) + x)
                self.sequence_output = tf.reshape(x, [batch_size, seq_length, config.hidden_size])
            with tf.variable_scope('pooler'):
                first = tf.squeeze(self.sequence_output[:, 0:1, :], axis=1)
                self.pooled_output = tf.layers.dense(
                    first, config.hidden_size, activation=tf.tanh, kernel_initializer=init)


def get_assignment_map_from_checkpoint(tvars, init_checkpoint):
    initialized_variable_names = {}
    name_to_variable = collections.OrderedDict()
    for var in tvars:
        m = re.match('^(.*):\\d+$', var.name)
        name_to_variable[m.group(1) if m is not None else var.name] = var
    assignment_map = collections.OrderedDict()
    for x in tf.train.list_variables(init_checkpoint):
        (name, var) = (x[0], x[1])
        if name not in name_to_variable:
            continue
        assignment_map[name] = name
        initialized_variable_names[name] = 1
        initialized_variable_names[name + ':0'] = 1
    return (assignment_map, initialized_variable_names)
