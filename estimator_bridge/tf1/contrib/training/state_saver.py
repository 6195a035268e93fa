"""Sequences in segments of equal length, with a state that goes on from segment to segment.

A TensorFlow barrier joins each segment with its state: the first one has the initial state, the
next ones are ready when the state of the segment before has been saved.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import data_flow_ops
from estimator_bridge.tf1.contrib.training import sequence_inputs as _inputs
from estimator_bridge.tf1.contrib.training.sequence_batch import NextQueuedSequenceBatch

__all__ = [
    "NextQueuedSequenceBatch",
    "SequenceQueueingStateSaver",
    "batch_sequences_with_states",
]

# What a segment has beside the sequences, the context and the states of its example.
_FIELDS = {
    "next_key": tf.string,
    "sequence": tf.int32,
    "sequence_count": tf.int32,
    "total_length": tf.int32,
}
# Random numbers that make keys unique are below it.
_MOST_KEYS = 100000000
_STOP = "STOP:"


class SequenceQueueingStateSaver:
    """Takes one example at a time, and gives its segments in batches with those of others.

    Args:
      batch_size: int, or scalar int32 tensor, the number of segments of a batch.
      num_unroll: int, the length of a segment.
      input_length: scalar int32 tensor, the length of the example without padding.
      input_key: scalar string tensor, unlike that of every other example.
      input_sequences: {name: tensor [padded length, ...]}; the length is a multiple of num_unroll.
      input_context: {name: tensor}, which is the same in all segments.
      initial_states: {name: tensor or array}.
      capacity: int, the number of examples that are kept at most; None for any number.
      allow_small_batch: whether batches become smaller when the input has ended.
      name: name of the scope of the operations.

    Attributes:
      prefetch_op: the operation that adds an example.
      next_batch: NextQueuedSequenceBatch.

    Raises:
      TypeError: an argument has another type.
      ValueError: a shape is not known, a name has a colon, or the capacity is below the batch size.
    """

    def __init__(
        self,
        batch_size,
        num_unroll,
        input_length,
        input_key,
        input_sequences,
        input_context,
        initial_states,
        capacity=None,
        allow_small_batch=False,
        name=None,
    ):
        _inputs.check_names("sequence", input_sequences)
        _inputs.check_names("context", input_context)
        _inputs.check_names("state", initial_states)
        with tf.name_scope(name, "InputQueueingStateSaver") as scope:
            self._name = scope
            self._length = _inputs.scalar(input_length, tf.int32, "length")
            self._key = _inputs.scalar(input_key, tf.string, "key")
            self._sequences = _inputs.as_tensors("sequence", input_sequences, known_from=1)
            self._context = _inputs.as_tensors("context", input_context)
            self._states = _inputs.as_tensors("state", initial_states)
            _inputs.check_counts(batch_size, num_unroll, capacity)
            self._batch_size = tf.convert_to_tensor(batch_size, tf.int32, name="batch_size")
            self._num_unroll, self._allow_small_batch = num_unroll, allow_small_batch
            self._parts = self._list_parts()
            dtypes, shapes = zip(*self._parts.values())
            self._barrier = data_flow_ops.Barrier(dtypes, shapes, name="barrier")
            # It has an element for each example that is kept.
            self._places = tf.FIFOQueue(-1 if capacity is None else capacity, tf.bool, [[]])
            # Closed when the input has ended, under a lock that every close takes.
            self._ended = tf.FIFOQueue(1, tf.bool, [[]], name="ended")
            self._lock = tf.raw_ops.MutexV2(container="", shared_name="", name="lock")
        self._prefetch_op = self._next_batch = None

    def _list_parts(self):
        """Returns (kind, name) -> dtype and shape of each component of the barrier, in order."""
        found = {("field", name): (dtype, []) for name, dtype in _FIELDS.items()}
        for kind, tensors in (
            ("sequences", self._sequences),
            ("context", self._context),
            ("states", self._states),
        ):
            for name, one in tensors.items():
                shape = one.shape.as_list()
                shape = [self._num_unroll, *shape[1:]] if kind == "sequences" else shape
                found[kind, name] = (one.dtype, shape)
        return found

    @property
    def name(self):
        return self._name

    @property
    def barrier(self):
        return self._barrier

    @property
    def batch_size(self):
        return self._batch_size

    @property
    def num_unroll(self):
        return self._num_unroll

    @property
    def prefetch_op(self):
        if self._prefetch_op is None:
            with tf.name_scope(self._name):
                self._prefetch_op = self._prefetch()
        return self._prefetch_op

    @property
    def next_batch(self):
        if self._next_batch is None:
            self._next_batch = NextQueuedSequenceBatch(self)
        return self._next_batch

    def close(self, cancel_pending_enqueues=False, name=None):
        """Returns the operation after which no more examples are added.

        Args:
          cancel_pending_enqueues: whether those that wait are given up, and so are their segments.
          name: name of the scope of the operations.
        """
        with tf.name_scope(name, "SQSSClose") as scope:
            lock = tf.raw_ops.MutexLock(mutex=self._lock)
            with tf.control_dependencies([lock]):
                closed = self._cancel() if cancel_pending_enqueues else self._end()
            with tf.control_dependencies([closed]):
                unlocked = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
            return tf.group(unlocked, self._places.close(cancel_pending_enqueues), name=scope)

    def _end(self):
        with tf.control_dependencies([self._ended.close()]):
            return self._barrier.close()

    def _cancel(self):
        # A barrier that has ended and given its last element never answers when it is closed again.
        may_give = ~self._ended.is_closed() | (self._barrier.incomplete_size() > 0)
        return tf.cond(
            may_give,
            lambda: tf.group(self._barrier.close(cancel_pending_enqueues=True)),
            tf.no_op,
        )

    def _prefetch(self):
        sequences, padded = _inputs.check_lengths(self._sequences, self._length, self._num_unroll)
        count = padded // self._num_unroll
        numbers_of = tf.range(count)
        keys = self._name_segments(numbers_of, count)
        fields = {
            "next_key": tf.concat([keys[1:], tf.expand_dims(_STOP + self._key, 0)], 0),
            "sequence": numbers_of,
            "sequence_count": tf.fill([count], count),
            "total_length": tf.fill([count], self._length),
        }
        values = {("field", name): one for name, one in fields.items()}
        for name, one in sequences.items():
            shape = tf.concat([[count, self._num_unroll], tf.shape(one)[1:]], 0)
            values["sequences", name] = tf.reshape(one, shape)
        for name, one in self._context.items():
            values["context", name] = tf.broadcast_to(one, tf.concat([[count], tf.shape(one)], 0))
        for name, one in self._states.items():
            values["states", name] = tf.expand_dims(one, 0)
        before = self._places.enqueue(True)
        inserted = []
        for place, part in enumerate(self._parts):
            # Only the first segment has its state from the beginning.
            of = keys[:1] if part[0] == "states" else keys
            with tf.control_dependencies([before]):
                inserted.append(self._barrier.insert_many(place, of, values[part]))
            # All segments get the index of the example, by the first of their parts.
            before = inserted[0]
        return tf.group(*inserted, name="prefetch")

    def _name_segments(self, numbers_of, count):
        """Returns string [count], the keys of the segments of an example."""
        texts = [tf.as_string(one, width=5, fill="0") for one in (numbers_of, count)]
        return tf.string_join([texts[0], "_of_", texts[1], ":", self._key])

    def _take(self):
        """Returns what a batch has, by name."""
        with tf.name_scope(self._name):
            index, keys, *values = _take_many(
                self._barrier, self._batch_size, self._allow_small_batch
            )
            values = dict(zip(self._parts, values))
            size = None if self._allow_small_batch else tf.get_static_value(self._batch_size)
            ended = tf.strings.substr(values["field", "next_key"], 0, len(_STOP))
            ended = tf.reduce_sum(tf.cast(tf.equal(ended, _STOP), tf.int32))
            with tf.control_dependencies([self._places.dequeue_many(ended)]):
                found = {"insertion_index": tf.identity(index), "key": tf.identity(keys)}
                for (kind, name), one in values.items():
                    one.set_shape([size, *self._parts[kind, name][1]])
                    home = found if kind == "field" else found.setdefault(kind, {})
                    home[name] = tf.identity(one)
            found.setdefault("context", {})
            for name in ("insertion_index", "key"):
                found[name].set_shape([size])
            before = found["sequence"] * self._num_unroll
            found["length"] = tf.clip_by_value(found["total_length"] - before, 0, self._num_unroll)
            found["batch_size"] = tf.shape(found["key"])[0]
            return found

    def _save(self, state_name, value, next_key):
        dtype, shape = self._parts["states", state_name]
        value = tf.convert_to_tensor(value, name=f"state_{state_name}")
        size = tf.shape(next_key)
        same = tf.reduce_all(tf.equal(tf.shape(value), tf.concat([size, shape], 0)))
        message = f"state {state_name}: [batch, {', '.join(map(str, shape))}] expected, got shape"
        with tf.control_dependencies([tf.Assert(same, [message, tf.shape(value)])]):
            goes_on = tf.not_equal(tf.strings.substr(next_key, 0, len(_STOP)), _STOP)
        place = list(self._parts).index(("states", state_name))
        return self._barrier.insert_many(
            place,
            tf.boolean_mask(next_key, goes_on),
            tf.boolean_mask(value, goes_on),
            name=f"BarrierInsertState_{state_name}",
        )


def _take_many(barrier, size, allow_small_batch):
    """Returns indices, keys and values of the complete elements of a barrier."""
    index, keys, values = barrier.take_many(size, allow_small_batch)
    return [index, keys, *(values if isinstance(values, (list, tuple)) else [values])]


def batch_sequences_with_states(
    input_key,
    input_sequences,
    input_context,
    input_length,
    initial_states,
    num_unroll,
    batch_size,
    num_threads=3,
    capacity=1000,
    allow_small_batch=True,
    pad=True,
    make_keys_unique=False,
    make_keys_unique_seed=None,
    name=None,
):
    """Returns the segments of sequences, which queue runners read, with their states.

    Args:
      input_key: scalar string tensor, unlike that of every other example.
      input_sequences: {name: tensor or SparseTensor [length, ...]}.
      input_context: {name: tensor or SparseTensor}, which is the same in all segments.
      input_length: scalar int32 tensor; with pad, None for the length of the sequences.
      initial_states: {name: tensor or array}.
      num_unroll: int, the length of a segment.
      batch_size: int, or scalar int32 tensor, the number of segments of a batch.
      num_threads: int, the number of threads that read examples.
      capacity: int, the number of examples that are kept at most, not less than batch_size.
      allow_small_batch: whether batches become smaller when the input has ended.
      pad: whether sequences are padded to a multiple of num_unroll.
      make_keys_unique: whether a random number is added to each key.
      make_keys_unique_seed: its seed.
      name: name of the scope of the operations.

    Returns:
      NextQueuedSequenceBatch.

    Raises:
      TypeError: an argument has another type.
      ValueError: a shape is not known, a name has a colon, or num_unroll, input_length or capacity
        cannot be used.
    """
    tensors = [*input_sequences.values(), *input_context.values(), *initial_states.values()]
    with tf.name_scope(name, "batch_sequences_with_states", tensors):
        if make_keys_unique:
            number = tf.random_uniform(
                [], minval=0, maxval=_MOST_KEYS, dtype=tf.int32, seed=make_keys_unique_seed
            )
            input_key = tf.string_join([input_key, tf.as_string(number)])
        length, sequences = input_length, input_sequences
        if pad:
            length, sequences = _inputs.pad(sequences, num_unroll)
            length = length if input_length is None else input_length
        sparse = _inputs.SparseParts(sequences, input_context)
        saver = SequenceQueueingStateSaver(
            batch_size=batch_size,
            num_unroll=num_unroll,
            input_length=length,
            input_key=input_key,
            input_sequences=sparse.sequences,
            input_context=sparse.context,
            initial_states=initial_states,
            capacity=capacity,
            allow_small_batch=allow_small_batch,
        )
        barrier = saver.barrier
        tf.summary.scalar(
            f"queue/{barrier.name}/ready_segment_batches_",
            tf.cast(barrier.ready_size(), tf.float32),
        )
        runner = tf.train.QueueRunner(
            saver,
            [saver.prefetch_op] * num_threads,
            queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
        )
        tf.train.add_queue_runner(runner)
        sparse.restore(saver.next_batch)
        return saver.next_batch
