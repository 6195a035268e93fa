"""The best of several solutions of a problem with constraints, or of their mixtures."""

import numpy as np

__all__ = ["find_best_candidate_distribution", "find_best_candidate_index"]


def _check(objective_vector, constraints_matrix):
    objectives, constraints = np.asarray(objective_vector), np.asarray(constraints_matrix)
    if objectives.ndim != 1 or constraints.ndim != 2 or constraints.shape[1] != len(objectives):
        raise ValueError(
            "constraints_matrix: expected a column for each objective, got the shapes "
            f"{objectives.shape} and {constraints.shape}"
        )
    return objectives, constraints


def find_best_candidate_distribution(objective_vector, constraints_matrix, epsilon=0.0):
    """Returns the mixture of candidates that violates constraints least, with the least objective.

    Two linear programs find it. The source is Cotter, Jiang and Sridharan (2018), lemma 3.

    Args:
      objective_vector: array [n] of the objectives of n candidates.
      constraints_matrix: array [m, n] of their constraints, which are to be at most 0.
      epsilon: number, not negative, by which the violation may be larger than the least one.

    Returns:
      Array [n] of probabilities.

    Raises:
      ValueError: the shapes do not fit, or epsilon is negative.
    """
    from scipy.optimize import linprog

    objectives, constraints = _check(objective_vector, constraints_matrix)
    if epsilon < 0.0:
        raise ValueError(f"epsilon: {epsilon} is negative")
    count, size = constraints.shape
    # The last unknown of the first program is the violation.
    limits = np.hstack([constraints, -np.ones([count, 1])])
    total = np.append(np.ones(size), 0.0)[None]
    least = linprog(1.0 - total[0], limits, np.zeros(count), total, [1.0])
    allowed = np.full(count, max(0.0, least.fun) + epsilon)
    return linprog(objectives, constraints, allowed, total[:, :-1], [1.0]).x


def find_best_candidate_index(objective_vector, constraints_matrix, rank_objectives=False):
    """Returns the index of the candidate whose largest rank is least; ties go by the objective.

    The source is Cotter, Jiang and Sridharan (2018), section 5.2.

    Args:
      objective_vector: array [n] of the objectives of n candidates.
      constraints_matrix: array [m, n] of their constraints, which are to be at most 0.
      rank_objectives: whether the objectives are ranked like the violations of constraints.

    Returns:
      int.

    Raises:
      ValueError: the shapes do not fit.
    """
    from scipy.stats import rankdata

    objectives, constraints = _check(objective_vector, constraints_matrix)
    ranked = list(np.maximum(0.0, constraints))
    if rank_objectives:
        ranked.append(objectives)
    ranks = np.max([rankdata(one, method="min") for one in ranked], axis=0)
    return int(min(range(len(objectives)), key=lambda i: (ranks[i], objectives[i])))
