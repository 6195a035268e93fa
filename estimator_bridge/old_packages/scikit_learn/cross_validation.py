"""sklearn.cross_validation: splits of a given number of rows, which 0.20 removed."""

import numpy as np
from sklearn import model_selection
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, indexable
from sklearn.utils.multiclass import type_of_target

__all__ = [
    "KFold",
    "LabelKFold",
    "LabelShuffleSplit",
    "LeaveOneLabelOut",
    "LeaveOneOut",
    "LeavePLabelOut",
    "LeavePOut",
    "PredefinedSplit",
    "ShuffleSplit",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "check_cv",
    "cross_val_predict",
    "cross_val_score",
    "permutation_test_score",
    "train_test_split",
]


class _Splits:
    """Pairs of arrays: the rows to train on, and those to test on.

    Args:
      n: number of rows.
      splitter: of sklearn.model_selection.
      y: label of each row.
      groups: group of each row.
    """

    def __init__(self, n, splitter, y=None, groups=None):
        self.n = n
        self._splitter = splitter
        self._given = (y, groups)

    def __iter__(self):
        y, groups = self._given
        return self._splitter.split(np.zeros((self.n, 1)), y, groups)

    def __len__(self):
        y, groups = self._given
        return self._splitter.get_n_splits(np.zeros((self.n, 1)), y, groups)


class KFold(_Splits):
    """Splits of consecutive rows, or of shuffled ones.

    Args:
      n: number of rows.
      n_folds: number of splits.
      shuffle: whether to shuffle the rows once.
      random_state: seed or generator of the shuffle.

    Raises:
      ValueError: `n_folds` is less than 2, or more than the rows.
    """

    def __init__(self, n, n_folds=3, shuffle=False, random_state=None):
        if not 2 <= n_folds <= n:
            raise ValueError(f"n_folds={n_folds} is not from 2 to the number of rows, {n}.")
        super().__init__(n, model_selection.KFold(n_splits=n_folds))
        self.n_folds = n_folds
        self.shuffle = shuffle
        self.random_state = random_state
        self.idxs = np.arange(n)
        if shuffle:
            check_random_state(random_state).shuffle(self.idxs)

    def __iter__(self):
        for _, test in super().__iter__():
            chosen = np.zeros(self.n, bool)
            chosen[self.idxs[test]] = True
            yield np.flatnonzero(~chosen), np.flatnonzero(chosen)


class StratifiedKFold:
    """Splits in which each class has about the same share.

    Args:
      y: label of each row.
      n_folds: number of splits.
      shuffle: whether to shuffle the rows of each class once.
      random_state: seed or generator of the shuffle.

    Raises:
      ValueError: `n_folds` is less than 2, or more than the rows of each class.
    """

    def __init__(self, y, n_folds=3, shuffle=False, random_state=None):
        self.y = np.asarray(y)
        self.n, self.n_folds = len(self.y), n_folds
        self.shuffle, self.random_state = shuffle, random_state
        labels, counts = np.unique(self.y, return_counts=True)
        if np.all(n_folds > counts):
            raise ValueError(
                f"All the n_labels for individual classes are less than {n_folds} folds."
            )
        generator = check_random_state(random_state) if shuffle else None
        self.test_folds = np.zeros(self.n, int)
        folds = [KFold(max(count, n_folds), n_folds, shuffle, generator) for count in counts]
        for label, count, fold in zip(labels, counts, folds):
            of_label = np.zeros(count, int)
            for number, (_, test) in enumerate(fold):
                of_label[test[test < count]] = number
            self.test_folds[self.y == label] = of_label

    def __iter__(self):
        for number in range(self.n_folds):
            chosen = self.test_folds == number
            yield np.flatnonzero(~chosen), np.flatnonzero(chosen)

    def __len__(self):
        return self.n_folds


def LeaveOneOut(n):
    """Returns splits with one row to test on.

    Args:
      n: number of rows.
    """
    return _Splits(n, model_selection.LeaveOneOut())


def LeavePOut(n, p):
    """Returns splits with all sets of rows to test on.

    Args:
      n: number of rows.
      p: number of rows to test on.
    """
    return _Splits(n, model_selection.LeavePOut(p))


def LeaveOneLabelOut(labels):
    """Returns splits with one group of rows to test on.

    Args:
      labels: group of each row.
    """
    return _Splits(len(labels), model_selection.LeaveOneGroupOut(), groups=labels)


def LeavePLabelOut(labels, p):
    """Returns splits with all sets of groups to test on.

    Args:
      labels: group of each row.
      p: number of groups to test on.
    """
    return _Splits(len(labels), model_selection.LeavePGroupsOut(p), groups=labels)


def LabelKFold(labels, n_folds=3):
    """Returns splits that keep groups together.

    Args:
      labels: group of each row.
      n_folds: number of splits.
    """
    return _Splits(len(labels), model_selection.GroupKFold(n_splits=n_folds), groups=labels)


def PredefinedSplit(test_fold):
    """Returns splits that the program names.

    Args:
      test_fold: number of the split in which each row is tested, -1 for none.
    """
    return _Splits(len(test_fold), model_selection.PredefinedSplit(test_fold))


def ShuffleSplit(n, n_iter=10, test_size=0.1, train_size=None, random_state=None):
    """Returns random splits.

    Args:
      n: number of rows.
      n_iter: number of splits.
      test_size: share or number of rows to test on.
      train_size: share or number of rows to train on; None for the others.
      random_state: seed or generator.
    """
    splitter = model_selection.ShuffleSplit(
        n_splits=n_iter, test_size=test_size, train_size=train_size, random_state=random_state
    )
    return _Splits(n, splitter)


def StratifiedShuffleSplit(y, n_iter=10, test_size=0.1, train_size=None, random_state=None):
    """Returns random splits in which each class has about the same share.

    Args:
      y: label of each row.
      n_iter: number of splits.
      test_size: share or number of rows to test on.
      train_size: share or number of rows to train on; None for the others.
      random_state: seed or generator.
    """
    splitter = model_selection.StratifiedShuffleSplit(
        n_splits=n_iter, test_size=test_size, train_size=train_size, random_state=random_state
    )
    return _Splits(len(y), splitter, np.asarray(y))


def LabelShuffleSplit(labels, n_iter=5, test_size=0.2, train_size=None, random_state=None):
    """Returns random splits that keep groups together.

    Args:
      labels: group of each row.
      n_iter: number of splits.
      test_size: share or number of groups to test on.
      train_size: share or number of groups to train on; None for the others.
      random_state: seed or generator.
    """
    splitter = model_selection.GroupShuffleSplit(
        n_splits=n_iter, test_size=test_size, train_size=train_size, random_state=random_state
    )
    return _Splits(len(labels), splitter, groups=labels)


def check_cv(cv, X=None, y=None, classifier=False):
    """Returns the splits for an argument `cv`.

    Args:
      cv: number of splits, None for 3, or the splits.
      X: the rows; needed for a number of splits.
      y: their labels.
      classifier: whether each class has about the same share in each split.
    """
    cv = 3 if cv is None else cv
    if not isinstance(cv, (int, np.integer)):
        return cv
    if classifier and type_of_target(y) in ("binary", "multiclass"):
        return StratifiedKFold(y, cv)
    return KFold(indexable(X)[0].shape[0] if hasattr(X, "shape") else len(X), cv)


def _with_splits(function):
    """Returns a function of sklearn.model_selection that takes `cv` as of check_cv."""

    def replacing(estimator, X, y=None, scoring=None, cv=None, n_jobs=1, **options):
        options.update(cv=check_cv(cv, X, y, is_classifier(estimator)), n_jobs=n_jobs)
        if scoring is not None:
            options["scoring"] = scoring
        return function(estimator, X, y, **options)

    replacing.__name__ = replacing.__qualname__ = function.__name__
    replacing.__doc__ = function.__doc__
    return replacing


cross_val_score = _with_splits(model_selection.cross_val_score)


def cross_val_predict(estimator, X, y=None, cv=None, n_jobs=1, **options):
    """Returns the prediction of each row by a model that was not trained on it.

    Args:
      estimator: the estimator.
      X: the rows.
      y: their labels.
      cv: as of check_cv.
      n_jobs: number of processes.
      **options: as of sklearn.model_selection.cross_val_predict.
    """
    return _with_splits(model_selection.cross_val_predict)(
        estimator, X, y, cv=cv, n_jobs=n_jobs, **options
    )


def permutation_test_score(estimator, X, y, cv=None, **options):
    """Returns the score, those of permuted labels, and the p-value.

    Args:
      estimator: the estimator.
      X: the rows.
      y: their labels.
      cv: as of check_cv.
      **options: as of sklearn.model_selection.permutation_test_score.
    """
    if "labels" in options:
        options["groups"] = options.pop("labels")
    return _with_splits(model_selection.permutation_test_score)(estimator, X, y, cv=cv, **options)
