"""`tf.contrib.cloud`: programs configured with it how TensorFlow reads gs:// paths."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        "BigQueryReader": "use the packages google-cloud-bigquery or tensorflow-io",
        "BigtableClient": "use the packages google-cloud-bigtable or tensorflow-io",
        "BigtableTable": "use the packages google-cloud-bigtable or tensorflow-io",
    },
)


def _log(name):
    tf.logging.info(
        "tf.contrib.cloud.%s has no effect. gs:// paths are read with the credentials of the "
        "environment: GOOGLE_APPLICATION_CREDENTIALS, or the account of the machine.",
        name,
    )


class BlockCacheParams:
    """The cache of the file system of 1.x; it has no effect.

    Args:
      block_size: bytes of a block, or None.
      max_bytes: bytes of the cache, or None.
      max_staleness: seconds for which a file is cached, or None.
    """

    def __init__(self, block_size=None, max_bytes=None, max_staleness=None):
        self.block_size = block_size or 128 * 1024 * 1024
        self.max_bytes = max_bytes or 2 * self.block_size
        self.max_staleness = max_staleness or 0


def configure_gcs(session, credentials=None, block_cache=None, device=None):
    """Does nothing but log: credentials come from the environment.

    Args:
      session: not used.
      credentials: not used.
      block_cache: not used.
      device: not used.
    """
    del session, credentials, block_cache, device
    _log("configure_gcs")


def configure_colab_session(session):
    """Does nothing but log, as `configure_gcs`.

    Args:
      session: not used.
    """
    del session
    _log("configure_colab_session")


class ConfigureGcsHook(tf.train.SessionRunHook):
    """A hook that does nothing but log, as `configure_gcs`.

    Args:
      credentials: not used.
      block_cache: not used.
    """

    def __init__(self, credentials=None, block_cache=None):
        del credentials, block_cache
        _log("ConfigureGcsHook")
