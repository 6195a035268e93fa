"""sklearn.grid_search: searches with `grid_scores_` and `iid`, which 0.20 removed."""

import numpy as np
from sklearn import model_selection
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler

from estimator_bridge.old_packages.scikit_learn.cross_validation import check_cv
from estimator_bridge.old_packages.scikit_learn.grid_scores import grid_scores

__all__ = ["GridSearchCV", "ParameterGrid", "ParameterSampler", "RandomizedSearchCV"]


class _Search:
    """A search whose mean score counts each row once, with `iid`."""

    @property
    def grid_scores_(self):
        """The scores of the combinations, in the order in which they were tried."""
        return self.scores_

    def fit(self, X, y=None):
        """Tries all combinations, and trains with the best one on all rows.

        Args:
          X: the rows.
          y: their labels.

        Returns:
          The search itself.
        """
        cv = self.cv
        splits = self.cv = list(check_cv(cv, X, y, is_classifier(self.estimator)))
        try:
            super().fit(X, y, **(self.fit_params or {}))
        finally:
            self.cv = cv
        weights = [len(test) for _, test in splits] if self.iid else None
        scores = self.scores_ = grid_scores(self, weights)
        best = int(np.argmax([one.mean_validation_score for one in scores]))
        changed, self.best_index_ = best != self.best_index_, best
        self.best_params_ = scores[best].parameters
        self.best_score_ = scores[best].mean_validation_score
        if changed and self.refit:
            self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_)
            self.best_estimator_.fit(X, *(() if y is None else (y,)), **(self.fit_params or {}))
        return self


class GridSearchCV(_Search, model_selection.GridSearchCV):
    """Tries all combinations of parameters.

    Args:
      estimator: the estimator.
      param_grid: name -> values, or a list of such dicts.
      scoring: name or function of the score.
      fit_params: arguments of `fit`.
      n_jobs: number of processes.
      iid: whether the mean score counts each row once, and not each split.
      refit: whether to train with the best combination on all rows.
      cv: number of splits, None for 3, or the splits.
      verbose: how much to print.
      pre_dispatch: number of jobs to start early.
      error_score: score of a combination that fails, or 'raise'.
    """

    def __init__(
        self,
        estimator,
        param_grid,
        scoring=None,
        fit_params=None,
        n_jobs=1,
        iid=True,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        error_score="raise",
    ):
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
        )
        self.fit_params = fit_params
        self.iid = iid


class RandomizedSearchCV(_Search, model_selection.RandomizedSearchCV):
    """Tries random combinations of parameters.

    Args:
      estimator: the estimator.
      param_distributions: name -> values or distribution.
      n_iter: number of combinations.
      scoring: name or function of the score.
      fit_params: arguments of `fit`.
      n_jobs: number of processes.
      iid: whether the mean score counts each row once, and not each split.
      refit: whether to train with the best combination on all rows.
      cv: number of splits, None for 3, or the splits.
      verbose: how much to print.
      pre_dispatch: number of jobs to start early.
      random_state: seed or generator.
      error_score: score of a combination that fails, or 'raise'.
    """

    def __init__(
        self,
        estimator,
        param_distributions,
        n_iter=10,
        scoring=None,
        fit_params=None,
        n_jobs=1,
        iid=True,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        random_state=None,
        error_score="raise",
    ):
        super().__init__(
            estimator,
            param_distributions,
            n_iter=n_iter,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
        )
        self.fit_params = fit_params
        self.iid = iid
