"""What programs called in scikit-learn 0.17 to 0.19; native: 0.19.2 with NumPy 1.19."""

import numpy as np
from sklearn import cross_validation, grid_search
from sklearn.cross_validation import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.grid_search import GridSearchCV, ParameterGrid, RandomizedSearchCV
from sklearn.learning_curve import learning_curve, validation_curve
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.metrics import make_scorer
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV as NewGridSearchCV
from sklearn.neighbors import KNeighborsClassifier

X = np.random.RandomState(0).randn(31, 3)
Y = (np.arange(31) * 7) % 3
VALUE = X @ [1.0, 2.0, -1.0]
GROUPS = np.arange(31) // 8


def rounded(value, digits=6):
    return np.round(value, digits)


def list_splits(splits):
    return [len(splits)] + [[list(train), list(test)] for train, test in splits]


def case_folds():
    return [
        list_splits(KFold(10, 3)),
        list_splits(KFold(10, n_folds=4, shuffle=True, random_state=1)),
        list_splits(KFold(7)),
        KFold(10, 5).n_folds,
    ]


def case_folds_twice():
    folds = KFold(10, n_folds=4, shuffle=True, random_state=1)
    return list_splits(folds) == list_splits(folds)


def case_folds_error():
    return KFold(3, 4)


def case_stratified_folds():
    return [
        list_splits(StratifiedKFold(Y, 3)),
        list_splits(StratifiedKFold(Y[:17], n_folds=4)),
        list_splits(StratifiedKFold(Y, n_folds=3, shuffle=True, random_state=5)),
        list_splits(StratifiedKFold(["b", "a", "b", "a", "b"], 2)),
    ]


def case_stratified_folds_error():
    return StratifiedKFold([0, 1, 2], 2)


def case_other_splits():
    labels = GROUPS[:12] // 1
    return [
        list_splits(ShuffleSplit(10, 2, 0.3, random_state=0)),
        list_splits(ShuffleSplit(10, n_iter=2, test_size=2, train_size=3, random_state=4)),
        list_splits(cross_validation.LeaveOneOut(4)),
        list_splits(cross_validation.LeavePOut(4, 2)),
        list_splits(cross_validation.LeaveOneLabelOut(labels)),
        list_splits(cross_validation.LeavePLabelOut(GROUPS, 2)),
        list_splits(cross_validation.LabelKFold(GROUPS, 2)),
        list_splits(cross_validation.PredefinedSplit([0, 1, -1, 1])),
        list_splits(cross_validation.LabelShuffleSplit(GROUPS, 2, 0.3, random_state=0)),
    ]


def case_stratified_shuffle():
    splits = cross_validation.StratifiedShuffleSplit(Y, 3, test_size=0.3, random_state=0)
    return [[len(train), np.bincount(Y[test])] for train, test in splits]


def case_train_test_split():
    return [
        [part.tolist() for part in train_test_split(Y, random_state=3)],
        [part.tolist() for part in train_test_split(Y, GROUPS, test_size=5, random_state=0)],
        [np.bincount(part) for part in train_test_split(Y, stratify=Y, random_state=0)],
    ]


def case_cross_val_score():
    model = KNeighborsClassifier(3)
    return [
        rounded(cross_val_score(model, X, Y)),
        rounded(cross_val_score(model, X, Y, "accuracy", 4)),
        rounded(cross_val_score(model, X, Y, cv=KFold(31, 4), scoring="f1_macro")),
        rounded(cross_val_score(model, X, Y, cv=StratifiedKFold(Y, 3, True, 1), n_jobs=1)),
        cross_val_predict(model, X, Y, cv=3),
        cross_val_predict(model, X, Y, KFold(31, 3)),
    ]


def describe_scores(search):
    return [
        [one.parameters, rounded(one.mean_validation_score), rounded(one.cv_validation_scores)]
        for one in search.grid_scores_
    ]


def case_grid_search():
    found = []
    for options in [{}, {"iid": False}, {"cv": KFold(31, 4)}, {"cv": 4, "scoring": "f1_macro"}]:
        search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 7]}, **options)
        search.fit(X, Y)
        found.append([describe_scores(search), search.best_params_, rounded(search.best_score_)])
        found.append(search.predict(X[:5]))
        found.append(search.best_estimator_.n_neighbors)
    return found + [repr(search.grid_scores_[0]), list(ParameterGrid({"a": [1, 2]}))]


def case_randomized_search():
    search = RandomizedSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 7]}, n_iter=3, random_state=0
    )
    search.fit(X, Y)
    return [len(search.grid_scores_), search.best_score_ > 0, type(search.best_params_).__name__]


def case_search_of_regressor():
    from sklearn.linear_model import Ridge

    search = grid_search.GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, scoring="r2", cv=3)
    return [describe_scores(search.fit(X, VALUE)), search.best_params_]


def case_new_search():
    search = NewGridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [1, 3]}, fit_params={}, iid=False, cv=3
    )
    search.fit(X[:30], Y[:30])
    return [search.cv, [one.parameters for one in search.grid_scores_]]


def case_curves():
    sizes, train, test = learning_curve(KNeighborsClassifier(1), X, Y, train_sizes=[8, 16])
    _, other = validation_curve(KNeighborsClassifier(), X, Y, "n_neighbors", [1, 3])
    return [sizes, rounded(train), rounded(test), rounded(other)]


def case_epochs():
    return [
        SGDClassifier(n_iter=3, random_state=0).fit(X, Y).predict(X[:4]).shape,
        Perceptron(n_iter=2, random_state=0).fit(X, Y).coef_.shape,
        SGDClassifier(loss="log", n_iter=2, random_state=0).fit(X, Y).predict_proba(X).shape,
    ]


def case_old_values():
    forest = RandomForestClassifier(n_estimators=2, class_weight="auto", random_state=0)
    model = LogisticRegression(max_iter=1e3, class_weight="balanced")
    return [model.fit(X, Y).coef_.shape, forest.n_estimators]


def case_discriminants():
    data = load_iris()
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    found = LinearDiscriminantAnalysis("svd", None, None, 2).fit(data.data, data.target)
    return found.transform(data.data).shape


def case_mixture():
    from sklearn.mixture import GMM

    table = np.concatenate([X * 0.1, X * 0.1 + 5])
    model = GMM(n_components=2, covariance_type="diag", random_state=0, n_iter=50).fit(table)
    log_density, shares = model.score_samples(table)
    same = GaussianMixture(2, "diag", random_state=0).fit(table)
    labels = model.predict(table)
    return [
        rounded(np.sort(model.means_[:, 0]), 2),
        model.covars_.shape,
        log_density.shape,
        shares.shape,
        model.score(table).shape,
        len(set(labels[:31])),
        len(set(same.predict(table)[:31])),
    ]


def case_randomized_pca():
    from sklearn.decomposition import RandomizedPCA

    found = RandomizedPCA(n_components=2, random_state=0).fit(X)
    return [np.abs(rounded(found.components_, 4)), list(found.transform(X).shape)]


def case_scorer():
    scorer = make_scorer(lambda true, said: float(np.mean(true == said)))
    return rounded(cross_val_score(KNeighborsClassifier(1), X, Y, scorer, 3))
