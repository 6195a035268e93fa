"""`tf.contrib.quantize`: rewrites graphs to train and evaluate with simulated quantization."""

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.quantize.rewriting import (
    create_eval_graph as create_eval_graph,
)
from estimator_bridge.tf1.contrib.quantize.rewriting import (
    create_training_graph as create_training_graph,
)
from estimator_bridge.tf1.contrib.quantize.rewriting import (
    experimental_create_eval_graph as experimental_create_eval_graph,
)
from estimator_bridge.tf1.contrib.quantize.rewriting import (
    experimental_create_training_graph as experimental_create_training_graph,
)

__getattr__, _advice_for = _unsupported_names(
    globals(), default_advice="use tf.contrib.quantize.experimental_create_training_graph"
)
