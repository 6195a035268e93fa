"""What programs called in scikit-learn 0.20 and 0.21; native: 0.21.3 with NumPy 1.21."""

import io
import pickle

import numpy as np
import sklearn.externals
import sklearn.metrics
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs, make_classification
from sklearn.datasets.base import Bunch
from sklearn.datasets.samples_generator import make_moons
from sklearn.decomposition.pca import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.ensemble.forest import ExtraTreesClassifier
from sklearn.externals import joblib, six
from sklearn.externals.joblib import Parallel, delayed
from sklearn.externals.six.moves import zip as zip_moved
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.stop_words import ENGLISH_STOP_WORDS
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    Lasso,
    LinearRegression,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.linear_model.logistic import LogisticRegression
from sklearn.metrics.classification import accuracy_score, f1_score
from sklearn.metrics.ranking import roc_auc_score
from sklearn.metrics.scorer import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network.multilayer_perceptron import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Imputer,
    LabelEncoder,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.preprocessing.data import normalize
from sklearn.preprocessing.label import LabelBinarizer
from sklearn.svm.classes import SVC
from sklearn.tree.tree import DecisionTreeClassifier
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.linear_assignment_ import linear_assignment
from sklearn.utils.testing import assert_array_equal

X = np.random.RandomState(0).randn(30, 3)
Y = (np.arange(30) * 7) % 3
TWO = (X[:, 0] > 0).astype(int)
VALUE = X @ [1.0, 2.0, -1.0] + 0.5
TRUE, SAID = [0, 1, 2, 2, 1, 0], [0, 2, 1, 2, 1, 0]
TWICE = np.array([[[1, 1], [0, 1]], [[1, 0], [0, 1]]])
TEXTS = ["one two two", "two three", "one four four"]


def rounded(value, digits=6):
    return np.round(value, digits)


def case_modules():
    assert_array_equal(normalize([[3.0, 4.0]]), [[0.6, 0.8]])
    return [
        Bunch(a=1).a,
        six.PY3,
        list(zip_moved([1], [2])),
        Parallel(n_jobs=1)(delayed(abs)(value) for value in (-1, 2)),
        "the" in ENGLISH_STOP_WORDS,
        make_moons(10)[0].shape,
        LabelBinarizer().fit_transform([1, 2, 3]),
        linear_assignment(np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])),
        [kind.__name__ for kind in (PCA, ExtraTreesClassifier, MLPClassifier, SVC)],
    ]


def case_joblib():
    file = io.BytesIO()
    joblib.dump({"a": np.arange(3)}, file)
    file.seek(0)
    return joblib.load(file)


def case_missing_module():
    pass


def case_missing_module_of_package():
    pass


def case_imputer():
    table = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan], [np.nan, 7.0, 9.0], [1.0, 1.0, 1.0]])
    found = [Imputer().fit_transform(table), Imputer("NaN", "median", 1).fit_transform(table)]
    found.append(Imputer(3, "most_frequent").fit_transform([[3, 1], [2, 1], [2, 3]]))
    imputer = Imputer(strategy="mean", axis=0, verbose=0).fit(table)
    found.append(imputer.statistics_)
    found.append(imputer.transform(table[:1]))
    found.append(Imputer(missing_values=0).fit_transform([[0, 2], [4, 6]]))
    found.append(SimpleImputer(np.nan, "median", None, 0).fit_transform(table))
    found.append(clone(Imputer(strategy="median")).strategy)
    return found


def case_imputer_axis():
    return Imputer(axis=2).fit([[1.0]])


def case_positional_metrics():
    return [
        sklearn.metrics.confusion_matrix(TRUE, SAID, [2, 1, 0]),
        rounded(f1_score(TRUE, SAID, None, 1, "macro")),
        rounded(sklearn.metrics.precision_score(TRUE, SAID, [0, 1], 1, "weighted")),
        rounded(sklearn.metrics.fbeta_score(TRUE, SAID, 2.0, None, 1, "micro")),
        float(accuracy_score(TRUE, SAID, False)),
        sklearn.metrics.classification_report(TRUE, SAID, [0, 1, 2], ["a", "b", "c"]).split(),
        rounded(roc_auc_score(TWO, X[:, 0], "macro")),
        rounded(sklearn.metrics.mean_squared_error(VALUE, X[:, 0], None, "uniform_average")),
        rounded(sklearn.metrics.log_loss(TWO, np.full(30, 0.25), 1e-7)),
        rounded(sklearn.metrics.log_loss(y_true=TWO, y_pred=np.full(30, 0.25), eps=1e-15)),
        [part[1:] for part in sklearn.metrics.roc_curve([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8], 1)],
        rounded(sklearn.metrics.cohen_kappa_score(TRUE, SAID, None, "linear")),
        rounded(sklearn.metrics.jaccard_similarity_score(TRUE, SAID)),
        rounded(sklearn.metrics.jaccard_similarity_score(TWICE[0], TWICE[1])),
        rounded(sklearn.metrics.calinski_harabaz_score(X, Y)),
        rounded(sklearn.metrics.pairwise.euclidean_distances(X[:2], X[2:4], None, True)),
        sklearn.metrics.hamming_loss(TRUE, SAID, [0, 1, 2]),
        rounded(sklearn.metrics.precision_recall_fscore_support(TRUE, SAID, 1.0)[2]),
    ]


def case_metric_names():
    sure = np.array([0.0, 1.0, 0.5])
    return [
        rounded(sklearn.metrics.auc([0.5, 0.0, 1.0, 0.5], [0.6, 0.0, 1.0, 0.4], reorder=True)),
        rounded(sklearn.metrics.auc([0.0, 0.5, 1.0], [0.0, 0.6, 1.0], False)),
        rounded(sklearn.metrics.log_loss([1, 1, 0], sure, eps=1e-3)),
        rounded(sklearn.metrics.log_loss([1, 1, 0], y_pred=sure, eps=1e-9, labels=[0, 1])),
        rounded(sklearn.metrics.brier_score_loss([1, 1, 0], y_prob=sure)),
        sklearn.metrics.precision_recall_curve([1, 1, 0], probas_pred=[0.1, 0.9, 0.5])[1][-1],
    ]


def case_metric_mistake():
    return sklearn.metrics.f1_score(TRUE, SAID, no_such_argument=1)


def case_metric_too_many():
    return sklearn.metrics.accuracy_score(TRUE, SAID, True, None, 1)


def case_metric_twice():
    return sklearn.metrics.accuracy_score(TRUE, SAID, True, normalize=True)


def case_positional_constructors():
    scaler = StandardScaler(True, False).fit(X)
    return [
        scaler.with_mean,
        scaler.with_std,
        MinMaxScaler((0, 2)).fit_transform(X[:3]),
        KFold(5, True, 1).get_n_splits(),
        LogisticRegression("l2", False, 1e-3, 2.0).C,
        PolynomialFeatures(2, True).fit_transform([[2, 3]]),
        SVC(2.0, "linear").kernel,
        KNeighborsClassifier(3, "distance").fit(X, TWO).predict(X[:3]),
        RandomForestClassifier(7, "entropy", 3).max_depth,
        DecisionTreeClassifier("entropy", "best", 2).max_depth,
        Ridge(0.5, False).fit_intercept,
        Lasso(0.1, True).alpha,
        KMeans(4, "random").n_clusters,
        CountVectorizer("content", "utf-8").encoding,
        Pipeline([("a", StandardScaler())], None).steps[0][0],
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), 5, 0.5).n_estimators,
        make_classification(20, 4, 2, 0, random_state=0)[1].tolist(),
        make_blobs(4, 2, 2, random_state=0)[1].tolist(),
        compute_class_weight("balanced", np.array([0, 1, 2]), Y),
        [len(part) for part in train_test_split(X, Y, test_size=0.2, random_state=0)],
        check_array([[1.0, 2.0]], False, True, "numeric", None, False, force_all_finite=True),
    ]


def case_constructor_mistake():
    return StandardScaler(no_such_argument=True)


def case_constructor_too_many():
    return StandardScaler(True, True, True, True, True)


def case_splits():
    return [
        [[train, test] for train, test in KFold(4, False).split(X)],
        [[train, test] for train, test in KFold(3, True, 7).split(X)],
        [part[:3].tolist() for part in train_test_split(Y, random_state=3)],
    ]


def case_one_hot():
    table = np.array([[0, 2, 1], [1, 0, 1], [2, 2, 3]])
    encoder = OneHotEncoder(sparse=False)
    found = [encoder.fit_transform(table), encoder.transform([[1, 2, 3]])]
    encoder = OneHotEncoder(n_values=[4, 3, 5]).fit(table)
    found += [encoder.transform(table).toarray(), encoder.n_values_, encoder.feature_indices_]
    encoder = OneHotEncoder(n_values=4, sparse=False, categorical_features=[0, 2])
    found += [encoder.fit_transform(table)]
    encoder = OneHotEncoder(categorical_features=[1]).fit(table)
    found += [encoder.transform(table).toarray(), encoder.active_features_]
    encoder = clone(OneHotEncoder(n_values="auto", handle_unknown="ignore")).fit(table)
    found += [encoder.transform([[0, 1, 9]]).toarray()]
    encoder = OneHotEncoder(categories="auto").fit([["a", "x"], ["b", "y"]])
    found += [encoder.get_feature_names(), encoder.get_feature_names(["one", "two"])]
    return found


def case_feature_names():
    counts = CountVectorizer().fit(TEXTS)
    texts = TfidfVectorizer(stop_words=None).fit(TEXTS)
    dicts = DictVectorizer(sparse=False).fit([{"a": 1, "b": "x"}, {"b": "y"}])
    powers = PolynomialFeatures(2).fit(X[:, :2])
    names = [counts.get_feature_names(), texts.get_feature_names(), dicts.get_feature_names()]
    return names + [powers.get_feature_names(), powers.get_feature_names(["p", "q"])]


def case_linear():
    targets = np.stack([VALUE, -VALUE], 1)
    found = []
    for model in [
        LinearRegression(normalize=True),
        LinearRegression(True, False),
        Ridge(alpha=0.5, normalize=True),
        Lasso(alpha=0.01, normalize=True),
        ElasticNet(alpha=0.01, normalize=True),
        Lasso(alpha=0.01, normalize=False),
    ]:
        fitted = clone(model).fit(X, VALUE)
        found.append([rounded(fitted.coef_, 4), rounded(fitted.intercept_, 4)])
    several = Ridge(normalize=True).fit(X, targets)
    found.append([rounded(several.coef_, 6), rounded(several.intercept_, 6)])
    found.append(rounded(BayesianRidge(n_iter=50).fit(X, VALUE).coef_, 3))
    return found


def case_linear_parameters():
    model = Ridge(normalize=True)
    again = clone(model)
    copied = pickle.loads(pickle.dumps(model))
    return [again.get_params()["normalize"], copied.normalize, "normalize" in repr(model)]


def case_logistic():
    found = []
    for options in [
        {"solver": "liblinear"},
        {"solver": "lbfgs", "multi_class": "ovr"},
        {"solver": "lbfgs", "multi_class": "multinomial"},
        {"solver": "liblinear", "multi_class": "ovr", "class_weight": "balanced"},
        {"solver": "liblinear", "class_weight": {0: 1.0, 1: 2.0, 2: 0.5}},
    ]:
        model = clone(LogisticRegression(tol=1e-8, max_iter=1000, **options)).fit(X, Y)
        found.append([rounded(model.coef_, 3), rounded(model.intercept_, 3)])
        found.append([rounded(model.predict_proba(X[:3]), 3), model.predict(X[:9])])
    names = np.array(["a", "b", "c"])[Y]
    model = LogisticRegression(solver="liblinear", multi_class="ovr").fit(X, names)
    return found + [model.predict(X[:5]).tolist(), model.classes_.tolist()]


def case_renamed_arguments():
    stump = DecisionTreeClassifier(max_depth=1)
    models = [
        RandomForestClassifier(n_estimators=3, max_features="auto", min_impurity_split=None),
        RandomForestRegressor(n_estimators=3, criterion="mse", max_features="auto"),
        GradientBoostingClassifier(loss="deviance", n_estimators=3, presort="auto"),
        GradientBoostingRegressor(loss="ls", n_estimators=3),
        AdaBoostClassifier(base_estimator=stump, n_estimators=2, algorithm="SAMME"),
        BaggingClassifier(base_estimator=stump, n_estimators=2),
        SGDClassifier(loss="log", penalty="none", max_iter=5, tol=None),
        SGDRegressor(loss="squared_loss", max_iter=5, tol=None),
        CalibratedClassifierCV(base_estimator=stump, method="sigmoid", cv=3),
        IsolationForest(behaviour="new", n_estimators=3, contamination="auto"),
        KMeans(2, n_init=2, precompute_distances="auto", n_jobs=1, algorithm="full"),
        AgglomerativeClustering(2, affinity="euclidean", linkage="complete"),
    ]
    return [type(clone(model).fit(X, TWO)).__name__ for model in models]


def case_renamed_values_in_grid():
    search = GridSearchCV(
        AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=2, random_state=0),
        {"base_estimator__max_depth": [1, 2], "n_estimators": [2]},
        cv=3,
        iid=False,
    )
    best = search.fit(X, TWO).best_params_
    model = SGDClassifier(tol=None, max_iter=5).set_params(loss="log")
    steps = Pipeline([("one", StandardScaler()), ("two", model)])
    steps.set_params(two__loss="log", two__penalty="none").fit(X, TWO)
    return [sorted(best), hasattr(model, "predict_proba")]


def case_attributes():
    bayes = MultinomialNB().fit(np.abs(np.round(X * 3)), TWO)
    forest = RandomForestClassifier(3, random_state=0).fit(X, TWO)
    return [
        rounded(GaussianNB().fit(X, TWO).sigma_),
        rounded(bayes.coef_),
        rounded(bayes.intercept_),
        forest.n_features_,
        forest.estimators_[0].n_features_,
        type(forest.base_estimator_).__name__,
    ]


def case_scorers():
    def error(true, said):
        return float(np.mean(true != said))

    scorer = make_scorer(error, False, False)
    model = LogisticRegression(solver="liblinear")
    return [
        rounded(cross_val_score(model, X, TWO, None, scorer, KFold(3))),
        rounded(cross_val_score(model, X, TWO, scoring="neg_log_loss", cv=KFold(3)), 3),
        rounded(cross_val_score(model, X, TWO, cv=KFold(3), fit_params={"sample_weight": None})),
        rounded(
            cross_val_score(
                model, X, TWO, scoring=make_scorer(roc_auc_score, needs_threshold=True), cv=KFold(3)
            ),
            3,
        ),
        cross_val_predict(model, X, TWO, cv=KFold(3)),
    ]


class Majority(BaseEstimator, ClassifierMixin):
    def fit(self, X, y):
        self.value = np.bincount(y).argmax()
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


class Duck:
    _estimator_type = "classifier"

    def __init__(self, value=0):
        self.value = value

    def get_params(self, deep=True):
        return {"value": self.value}

    def set_params(self, **params):
        vars(self).update(params)
        return self

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.value)

    def score(self, X, y):
        return float(np.mean(self.predict(X) == y))


class Selector(BaseEstimator, TransformerMixin):
    def __init__(self, columns):
        self.columns = columns

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, self.columns]


def case_own_estimators():
    found = [rounded(cross_val_score(Majority(), X, Y, cv=KFold(3)))]
    found.append(rounded(cross_val_score(Duck(), X, TWO, cv=KFold(3))))
    grid = GridSearchCV(Duck(), {"value": [0, 1]}, cv=KFold(3), iid=True)
    found.append(grid.fit(X, Y).best_params_)
    steps = make_pipeline(Selector([0, 2]), StandardScaler(), Majority())
    found.append(steps.fit(X, Y).predict(X[:3]))
    steps = make_pipeline(Selector([0]), Duck(1))
    found.append(steps.fit(X, Y).predict(X[:3]))
    columns = ColumnTransformer([("a", StandardScaler(), [0]), ("b", Selector([0, 1]), [1, 2])])
    found.append(list(columns.fit_transform(X).shape))
    return found


def case_subclass():
    class Own(LogisticRegression):
        def __init__(self, C=1.0):
            super().__init__(C=C, solver="liblinear", multi_class="ovr")

    model = clone(Own(2.0)).fit(X, Y)
    return [sorted(model.get_params()), model.C, list(model.coef_.shape)]


def case_pickle():
    values = [StandardScaler().fit(X), f1_score, SVC(C=2.0)]
    scorer = pickle.loads(pickle.dumps(make_scorer(f1_score)))
    names = [type(pickle.loads(pickle.dumps(value))).__name__ for value in values]
    return [names, scorer(SVC(gamma=1.0).fit(X, TWO), X, TWO)]


def case_removed_data():
    from sklearn.datasets import load_iris, load_wine

    return [list(load_iris().data.shape), list(load_wine(True)[0].shape)]


def case_labels():
    encoder = LabelEncoder().fit(np.array(["b", "a", "b"], object))
    return [encoder.transform(["a", "b"]), list(encoder.classes_)]
