"""`tf.contrib.constrained_optimization` (Cotter, Jiang and Sridharan, 2018)."""

from estimator_bridge.tf1.contrib.constrained_optimization import candidates as _candidates
from estimator_bridge.tf1.contrib.constrained_optimization import external_regret as _external
from estimator_bridge.tf1.contrib.constrained_optimization import problems as _problems
from estimator_bridge.tf1.contrib.constrained_optimization import swap_regret as _swap
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(), default_advice="it became the package tensorflow-constrained-optimization"
)

find_best_candidate_distribution = _candidates.find_best_candidate_distribution
find_best_candidate_index = _candidates.find_best_candidate_index
AdditiveExternalRegretOptimizer = _external.AdditiveExternalRegretOptimizer
ConstrainedMinimizationProblem = _problems.ConstrainedMinimizationProblem
ConstrainedOptimizer = _problems.ConstrainedOptimizer
AdditiveSwapRegretOptimizer = _swap.AdditiveSwapRegretOptimizer
MultiplicativeSwapRegretOptimizer = _swap.MultiplicativeSwapRegretOptimizer
