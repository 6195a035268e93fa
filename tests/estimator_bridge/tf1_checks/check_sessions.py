"""Sessions."""

import tensorflow as tf


def test_a_profile_context_goes_on_with_the_next_graph(tmp_path):
    # Training and evaluation of an Estimator are two graphs. The process ended with SIGABRT.
    with tf.contrib.tfprof.ProfileContext(str(tmp_path), range(4), [3]) as context:
        for _ in range(2):
            with tf.Graph().as_default(), tf.Session() as session:
                total = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
                session.run(total)
                session.run(total)
    assert context.profiler is not None and [one.name for one in tmp_path.iterdir()] == [
        "profile_3"
    ]
