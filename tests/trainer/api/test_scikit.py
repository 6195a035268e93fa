"""The estimators for scikit-learn: its own checks, text columns, copies."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import trainer

pytestmark = pytest.mark.newest

# Checks that fit at most once; `make test-matrix` runs the others.
FEW = {
    "check_dict_unchanged",
    "check_get_params_invariance",
    "check_n_features_in",
    "check_no_attributes_set_in_init",
    "check_set_params",
}


def _list_checks(few):
    for kind in (trainer.EstimatorClassifier, trainer.EstimatorRegressor):
        for estimator, check in estimator_checks_generator(kind(max_steps=150), mark="skip"):
            name = check.func.__name__
            if (name in FEW) == few and (not few or kind is trainer.EstimatorClassifier):
                yield pytest.param(estimator, check, id=f"{kind.__name__}-{name}")


@pytest.mark.parametrize(("estimator", "check"), _list_checks(few=True))
def test_the_first_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.matrix
@pytest.mark.parametrize(("estimator", "check"), _list_checks(few=False))
def test_the_other_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_frame_with_text_and_missing_values():
    random = np.random.default_rng(0)
    city, age = random.choice(["Ulm", "Bonn", "Rom"], 300), random.uniform(18, 80, 300)
    frame = pd.DataFrame({"city": city, "age": np.where(age > 75, np.nan, age)})
    wanted = np.where(city == "Ulm", "south", "north")
    options = {"model.type": "linear"}
    model = clone(trainer.EstimatorClassifier(max_steps=200, options=options)).fit(frame, wanted)
    assert model.score(frame, wanted) > 0.99
    shares = model.predict_proba(frame)
    assert shares.sum(axis=1) == pytest.approx(1) and list(model.classes_) == ["north", "south"]
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(frame), shares)
    with pytest.raises(ValueError, match="single class"):
        model.fit(frame, np.full(300, "south"))
