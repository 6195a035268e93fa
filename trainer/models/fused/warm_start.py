"""Warm start of the fused engine: it takes over the initial values of a canned model."""

import tempfile
from pathlib import Path
from typing import Any, Callable

from estimator_bridge import estimator, tf


def start_like(built: Any, canned: Any, make_input: Callable[[], Any]) -> Any:
    """Wraps an Estimator of the fused engine so that it starts as the canned model would.

    Args:
        built: the Estimator of the fused engine.
        canned: the Estimator of the same model and configuration, with a warm start.
        make_input: input_fn of `canned`; its rows are not read.

    Returns:
        An Estimator of the same model_dir and configuration.
    """

    def model_fn(features: dict[str, Any], labels: Any, mode: str, config: Any) -> Any:
        spec = built.model_fn(features, labels, mode, config)
        if mode != estimator.ModeKeys.TRAIN:
            return spec
        saver = spec.scaffold.saver
        # Removed with the last reference, if training never starts.
        folder = tempfile.TemporaryDirectory(prefix="warm-start-")
        values = str(Path(folder.name, "model.ckpt"))
        _write_initial_values(canned, make_input, config, values)

        def restore(scaffold: Any, session: Any) -> None:
            saver.restore(session, values)
            folder.cleanup()

        scaffold = tf.compat.v1.train.Scaffold(
            saver=saver, init_fn=restore, copy_from_scaffold=spec.scaffold
        )
        return spec._replace(scaffold=scaffold)

    return estimator.Estimator(model_fn=model_fn, config=built.config)


def _write_initial_values(
    canned: Any, make_input: Callable[[], Any], config: Any, path: str
) -> None:
    """Writes a checkpoint of a model as it is before the first step."""
    with tf.Graph().as_default():
        tf.compat.v1.set_random_seed(config.tf_random_seed)
        tf.compat.v1.train.create_global_step()
        rows = tf.compat.v1.data.make_initializable_iterator(make_input()).get_next()
        canned.model_fn(*rows, estimator.ModeKeys.TRAIN, config)
        saver = tf.compat.v1.train.Saver(sharded=False)
        with tf.compat.v1.Session(config=config.session_config) as session:
            session.run(tf.compat.v1.global_variables_initializer())
            saver.save(session, path, write_meta_graph=False, write_state=False)
