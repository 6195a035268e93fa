"""Cases of tf.contrib.constrained_optimization."""

import functools

import tensorflow as tf
import values

CASES = {}
constrained = tf.contrib.constrained_optimization


class Problem(constrained.ConstrainedMinimizationProblem):
    """A quadratic loss with two constraints."""

    def __init__(self, proxies=False, before=None):
        self.weights = tf.get_variable("w", initializer=tf.constant([1.0, -2.0]))
        self.proxies, self.before = proxies, before

    @property
    def objective(self):
        return tf.reduce_sum(tf.square(self.weights))

    @property
    def constraints(self):
        return tf.stack([1.5 - self.weights[0], self.weights[1] + 0.5])

    @property
    def proxy_constraints(self):
        if not self.proxies:
            return None
        return tf.stack([2.0 - self.weights[0] * 2.0, self.weights[1] * 3.0])

    @property
    def pre_train_ops(self):
        return None if self.before is None else [self.before.assign_add(1.0)]


def descent():
    return tf.train.GradientDescentOptimizer(0.1)


def adam():
    return tf.train.AdamOptimizer(0.2)


OPTIMIZERS = {
    "AdditiveExternalRegretOptimizer": lambda: constrained.AdditiveExternalRegretOptimizer(
        descent()
    ),
    "AdditiveExternalRegretOptimizer, two": lambda: constrained.AdditiveExternalRegretOptimizer(
        descent(), adam()
    ),
    "AdditiveExternalRegretOptimizer, radius": lambda: constrained.AdditiveExternalRegretOptimizer(
        descent(), tf.train.GradientDescentOptimizer(2.0), maximum_multiplier_radius=0.5
    ),
    "AdditiveSwapRegretOptimizer": lambda: constrained.AdditiveSwapRegretOptimizer(descent()),
    "AdditiveSwapRegretOptimizer, two": lambda: constrained.AdditiveSwapRegretOptimizer(
        descent(), tf.train.GradientDescentOptimizer(1.0)
    ),
    "MultiplicativeSwapRegretOptimizer": lambda: constrained.MultiplicativeSwapRegretOptimizer(
        descent()
    ),
    "MultiplicativeSwapRegretOptimizer, two": (
        lambda: constrained.MultiplicativeSwapRegretOptimizer(
            descent(), adam(), minimum_multiplier_radius=0.1, initial_multiplier_radius=0.6
        )
    ),
}


def stepped(name, method="minimize", proxies=False, **options):
    before = tf.get_variable("before", [], initializer=tf.zeros_initializer(), trainable=False)
    problem = Problem(proxies, before)
    optimizer = OPTIMIZERS[name]()
    step = tf.train.get_or_create_global_step()
    train = getattr(optimizer, method)(problem, global_step=step, **options)
    outputs = {
        "objective": problem.objective,
        "constraints": problem.constraints,
        "number": problem.num_constraints,
        "before": before,
        "same": optimizer.constraint_optimizer is None,
        "kind": type(optimizer.optimizer).__name__,
    }
    return outputs, [train]


for _name in OPTIMIZERS:
    CASES[_name] = functools.partial(stepped, _name)
    CASES[_name + ", proxies"] = functools.partial(stepped, _name, proxies=True)
_name = "AdditiveExternalRegretOptimizer"
CASES[_name + ".minimize_constrained"] = functools.partial(stepped, _name, "minimize_constrained")
CASES[_name + ".minimize_unconstrained"] = functools.partial(
    stepped, _name, "minimize_unconstrained"
)
CASES[_name + ".minimize, unconstrained_steps"] = functools.partial(
    stepped, _name, unconstrained_steps=1
)


class Unknown(Problem):
    @property
    def constraints(self):
        return tf.placeholder(tf.float32, [None])


class Double(Problem):
    @property
    def constraints(self):
        return tf.constant([1.0, 2.0], tf.float64)


def minimized(problem, **options):
    optimizer = OPTIMIZERS["AdditiveExternalRegretOptimizer"]()
    return optimizer.minimize(problem(), **options)


CASES["minimize, no global step"] = lambda: minimized(Problem, unconstrained_steps=2)
CASES["minimize, unknown number"] = lambda: minimized(Unknown)
CASES["minimize, float64"] = lambda: minimized(Double)
CASES["num_constraints, unknown"] = lambda: {"number": Unknown().num_constraints}
CASES["ConstrainedOptimizer"] = lambda: constrained.ConstrainedOptimizer(descent())
CASES["ConstrainedMinimizationProblem"] = lambda: constrained.ConstrainedMinimizationProblem()
CASES["AdditiveExternalRegretOptimizer, negative"] = lambda: (
    constrained.AdditiveExternalRegretOptimizer(descent(), None, -1.0)
)
for _text, _options in {
    "no minimum": {"minimum_multiplier_radius": 0.0},
    "large minimum": {"minimum_multiplier_radius": 1.0},
    "small initial": {"minimum_multiplier_radius": 0.1, "initial_multiplier_radius": 0.01},
    "large initial": {"initial_multiplier_radius": 1.5},
}.items():
    CASES["MultiplicativeSwapRegretOptimizer, " + _text] = functools.partial(
        constrained.MultiplicativeSwapRegretOptimizer, descent(), **_options
    )

np = values.np
OBJECTIVES = np.array([3.0, 1.0, 2.0, 0.5, 2.5])
CONSTRAINTS = np.array([[-1.0, 0.5, -0.25, 2.0, 0.0], [-0.5, 0.25, 0.5, 1.0, -2.0]])


def indexed(*arguments, **options):
    return {"found": int(constrained.find_best_candidate_index(*arguments, **options))}


CASES["find_best_candidate_index"] = lambda: indexed(OBJECTIVES, CONSTRAINTS)
CASES["find_best_candidate_index, ranked"] = lambda: indexed(OBJECTIVES, CONSTRAINTS, True)
CASES["find_best_candidate_index, violated"] = lambda: indexed(OBJECTIVES, CONSTRAINTS + 2.0)
CASES["find_best_candidate_index, violated, ranked"] = lambda: indexed(
    OBJECTIVES, CONSTRAINTS + 2.0, rank_objectives=True
)
CASES["find_best_candidate_index, shapes"] = lambda: indexed(OBJECTIVES[:3], CONSTRAINTS)


def mixed(*arguments, **options):
    found = constrained.find_best_candidate_distribution(*arguments, **options)
    # SciPy has another solver today.
    return {"found": np.float32(np.round(found, 4) + 0.0)}


CASES["find_best_candidate_distribution"] = lambda: mixed(OBJECTIVES, CONSTRAINTS)
CASES["find_best_candidate_distribution, violated"] = lambda: mixed(OBJECTIVES, CONSTRAINTS + 2.0)
CASES["find_best_candidate_distribution, epsilon"] = lambda: mixed(
    OBJECTIVES, CONSTRAINTS, epsilon=1e-6
)
CASES["find_best_candidate_distribution, negative"] = lambda: mixed(
    OBJECTIVES, CONSTRAINTS, epsilon=-1.0
)
CASES["find_best_candidate_distribution, shapes"] = lambda: mixed(OBJECTIVES[:3], CONSTRAINTS)
