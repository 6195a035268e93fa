"""Predicts with the files that convert wrote of boosted trees for other libraries."""

from typing import Any, Callable

import numpy as np

__all__ = ["predict_trees"]


def predict_trees(
    kind: str, path: str, numbers: dict[str, np.ndarray], task: str
) -> dict[str, np.ndarray]:
    """Returns the outputs of a file, by the names of the Estimator's predictions.

    Args:
      kind: lightgbm, xgboost or ydf.
      path: the file or folder.
      numbers: what the trees read: name -> float32 [rows].
      task: binary, multiclass or regression.

    Raises:
      ImportError: the library is not installed.
    """
    scores, probabilities = _PREDICT[kind](path, numbers)
    rows = len(next(iter(numbers.values())))
    if task == "regression":
        return {"predictions": scores.reshape(rows, -1)}
    name = "logistic" if task == "binary" else "probabilities"
    return {"logits": scores.reshape(rows, -1), name: probabilities.reshape(rows, -1)}


_Scores = tuple[np.ndarray, np.ndarray]


def _stack(numbers: dict[str, np.ndarray]) -> np.ndarray:
    return np.stack(list(numbers.values()), axis=1)


def _predict_lightgbm(path: str, numbers: dict[str, np.ndarray]) -> _Scores:
    import lightgbm

    model, table = lightgbm.Booster(model_file=path), _stack(numbers)
    return model.predict(table, raw_score=True), model.predict(table)


def _predict_xgboost(path: str, numbers: dict[str, np.ndarray]) -> _Scores:
    import xgboost

    model, table = xgboost.Booster(model_file=path), _stack(numbers)
    options: dict[str, Any] = {"validate_features": False}
    scores = model.inplace_predict(table, predict_type="margin", **options)
    return scores, model.inplace_predict(table, **options)


def _predict_ydf(path: str, numbers: dict[str, np.ndarray]) -> _Scores:
    import ydf

    ydf.verbose(0)
    model = ydf.load_model(path)
    found = model.predict(numbers)
    if model.task() == ydf.Task.REGRESSION:
        return found, found
    model.set_output_logits(True)
    return model.predict(numbers), found


_PREDICT: dict[str, Callable[[str, dict[str, np.ndarray]], _Scores]] = {
    "lightgbm": _predict_lightgbm,
    "xgboost": _predict_xgboost,
    "ydf": _predict_ydf,
}
