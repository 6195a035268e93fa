"""`grid_scores_` of a search, which 0.20 removed."""

import collections

__all__ = ["grid_scores"]


class Score(
    collections.namedtuple("Score", ("parameters", "mean_validation_score", "cv_validation_scores"))
):
    """Scores of one combination of parameters."""

    def __repr__(self):
        mean, deviation = self.mean_validation_score, self.cv_validation_scores.std()
        return f"mean: {mean:.5f}, std: {deviation:.5f}, params: {self.parameters}"


def grid_scores(search, weights=None):
    """Returns the scores of the combinations, in the order in which they were tried.

    Args:
      search: fitted GridSearchCV or RandomizedSearchCV.
      weights: weight of each split, such as its number of rows; None for equal weights.

    Returns:
      List of (parameters, mean_validation_score, cv_validation_scores).
    """
    import numpy as np

    results = search.cv_results_
    splits = [results[f"split{number}_test_score"] for number in range(search.n_splits_)]
    return [
        Score(parameters, np.average(scores, weights=weights), np.array(scores))
        for parameters, scores in zip(results["params"], zip(*splits))
    ]
