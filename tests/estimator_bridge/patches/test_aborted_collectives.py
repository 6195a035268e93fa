"""Sessions that cannot be created: after the end of a peer, and after a brief error."""

import pytest

from estimator_bridge import tf
from estimator_bridge.patches.aborted_collectives import CollectivesAbortedError
from trainer.errors import JobEnded
from trainer.roles.lost_step import translate_lost_step

pytestmark = pytest.mark.versions

LOST = "Collective ops is aborted by: Socket closed"


class Creator(tf.compat.v1.train.SessionCreator):
    """Fails with each of some errors, then creates a session."""

    def __init__(self, *errors):
        self.errors = list(errors)

    def create_session(self):
        if self.errors:
            raise self.errors.pop(0)
        return tf.compat.v1.Session()


class Losing(tf.estimator.SessionRunHook):
    """Fails in each step."""

    def __init__(self, error):
        self.error = error

    def before_run(self, run_context):
        raise self.error(None, None, LOST)


@pytest.mark.parametrize("error", [tf.errors.UnavailableError, tf.errors.AbortedError])
def test_a_session_is_created_again_only_where_that_can_succeed(error):
    with tf.Graph().as_default():
        brief = Creator(*[error(None, None, "Socket closed")] * 2)
        with tf.compat.v1.train.MonitoredSession(brief) as session:
            assert session.run(tf.constant(3)) == 3
        lost = Creator(*[error(None, None, LOST)] * 2)
        with pytest.raises(CollectivesAbortedError, match="Start all training .*Socket closed"):
            tf.compat.v1.train.MonitoredSession(lost)
        assert len(lost.errors) == 1
        losing = tf.compat.v1.train.MonitoredSession(Creator(), [Losing(error)])
        with pytest.raises(CollectivesAbortedError), losing as session:
            session.run(tf.constant(3))
        # The trainer ends with the reason, as after every lost step.
        told = pytest.raises(JobEnded, match="does not respond: Socket closed")
        with told, translate_lost_step(synchronous=True):
            tf.compat.v1.train.MonitoredSession(Creator(error(None, None, LOST)))
