"""`tf.contrib.bayesflow`."""

from estimator_bridge.tf1.contrib.bayesflow import monte_carlo  # noqa: F401 (a public name)
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(), default_advice="use the package tensorflow-probability"
)
