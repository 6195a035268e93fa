"""`trainer.EstimatorClassifier`, `trainer.EstimatorRegressor`: jobs for scikit-learn."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from trainer import schema as schema_lib
from trainer.api import tables
from trainer.api.models import LoadedModel, load
from trainer.api.schemas import infer_schema
from trainer.api.training import train
from trainer.errors import UserError

# The column of the label, which no column of X may be called.
LABEL = "label of trainer"
# Fewer rows are filled up. Products of matrices of few rows are added up in another order, so that
# the last bits of a row's prediction would depend on the rows beside it.
LEAST_ROWS = 64
# Estimator → its model, which predict loads when it is first needed. Not an attribute: predict must
# not change what is pickled and copied.
_loaded: "weakref.WeakKeyDictionary[Any, LoadedModel]" = weakref.WeakKeyDictionary()


class _JobEstimator(BaseEstimator):
    """The base of both estimators: a job in a temporary folder, whose export is kept."""

    def __init__(
        self,
        max_steps: int = 1000,
        options: Optional[Mapping[str, Any]] = None,
        random_state: Optional[int] = None,
    ):
        self.max_steps = max_steps
        self.options = options
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def _check_rows(self, X: Any, *targets: Any) -> Any:
        """Returns X as scikit-learn checks it, and with a target, to fit to it, both."""
        given: dict[str, Any] = {"reset": bool(targets)}
        if hasattr(X, "dtypes") and not all(
            getattr(kind, "kind", "O") in "biuf" for kind in X.dtypes
        ):
            # Text stays as it is; the schema describes it.
            given["skip_check_array"] = True
        else:
            given.update(dtype=np.float64, ensure_all_finite="allow-nan")
            if targets:
                given["ensure_min_samples"] = 2
                given["y_numeric"] = isinstance(self, RegressorMixin)
        return validate_data(self, X, *targets, **given)

    def _to_table(self, X: Any) -> pa.Table:
        """Returns X as a table; an array's columns are named by their numbers."""
        if not isinstance(X, np.ndarray):
            return tables.to_arrow(X, "X")
        names = getattr(self, "feature_names_in_", [f"x{n}" for n in range(X.shape[1])])
        return pa.table({str(name): X[:, place] for place, name in enumerate(names)})

    def _fit(self, X: Any, labels: np.ndarray, label: Mapping[str, Any], kind: str) -> None:
        """Trains a job on X and its labels."""
        table = self._to_table(X)
        if LABEL in table.column_names:
            raise UserError(f"X: a column is called {LABEL!r}; rename it")
        table = table.append_column(LABEL, pa.array(labels))
        schema = self._describe(X, table, {"column": LABEL, **label}, kind)
        seed = 1 if self.random_state is None else int(self.random_state)
        with tempfile.TemporaryDirectory(prefix="fit-") as folder:
            options = {
                "job_dir": folder,
                "train.max_steps": self.max_steps,
                "train.batch_size": min(128, len(labels)),
                "run.seed": seed,
                "run.report": False,
                "export.exporters": "final",
                "export.verify": False,
                **(self.options or {}),
            }
            run = train(options, table, table, schema=schema, progress=False)
            if run.best_export is None:
                raise UserError("options: export.exporters: name final or best")
            export = Path(run.best_export)
            # The bytes of the export, so that a fitted estimator can be pickled and copied.
            self.export_ = {
                path.relative_to(export).as_posix(): path.read_bytes()
                for path in sorted(export.rglob("*"))
                if path.is_file()
            }
        _loaded.pop(self, None)

    def _describe(
        self, X: Any, table: pa.Table, label: Mapping[str, Any], kind: str
    ) -> schema_lib.Schema:
        if isinstance(X, np.ndarray):
            columns: dict[str, Any] = {
                name: {"type": "float", "default": "mean"} for name in table.column_names
            }
        else:
            found = infer_schema(table, LABEL).schema.model_dump()
            columns = found["columns"]
        columns[LABEL] = {"type": kind}
        return schema_lib.parse_schema({"columns": columns, "label": dict(label)}, "(of X)")

    def _predict(self, X: Any, output: str) -> np.ndarray:
        check_is_fitted(self)
        X = self._check_rows(X)
        if self not in _loaded:
            folder = tempfile.mkdtemp(prefix="predict-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            for name, content in self.export_.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            _loaded[self] = load(folder)
        table = self._to_table(X)
        rows = np.minimum(np.arange(max(len(table), LEAST_ROWS)), len(table) - 1)
        found = _loaded[self].predict(table.take(rows), outputs=[output])[output]
        return np.asarray(found.to_pylist(), np.float64)[: len(table)]


class EstimatorClassifier(ClassifierMixin, _JobEstimator):
    """A classifier of scikit-learn that trains a job of `trainer.train`.

    X may have missing values, and may be a data frame with columns of text. A fitted estimator
    contains its export, and can be pickled and copied.

    Args:
        max_steps: steps of the training.
        options: options of `trainer.train`, such as {"model.type": "dnn", "learning_rate": 0.1}.
        random_state: seed of the job.

    Attributes:
        classes_: the classes, in the order of the columns of `predict_proba`.
        export_: file of the export → its bytes.
    """

    def fit(self, X: Any, y: Any) -> "EstimatorClassifier":
        """Trains.

        Args:
            X: rows of numbers or text, [rows, columns].
            y: their classes, [rows].

        Returns:
            The estimator.

        Raises:
            ValueError: X or y is invalid, or y has a single class.
        """
        X, y = self._check_rows(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("y has a single class; a classifier needs at least two classes")
        label = {"num_classes": len(self.classes_)}
        self._fit(X, labels.astype(np.int64), label, "int")
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Returns the probabilities of the classes, float64 [rows, classes].

        Args:
            X: rows with the columns of `fit`.

        Raises:
            ValueError: X is invalid.
        """
        found = self._predict(X, "probabilities")
        # The export computes in float32, whose rows add up to 1 less exactly.
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> np.ndarray:
        """Returns the most probable class of each row, [rows].

        Args:
            X: rows with the columns of `fit`.

        Raises:
            ValueError: X is invalid.
        """
        found = self.predict_proba(X)
        return np.asarray(self.classes_[found.argmax(axis=1)])


class EstimatorRegressor(RegressorMixin, _JobEstimator):
    """A regressor of scikit-learn that trains a job of `trainer.train`.

    X may have missing values, and may be a data frame with columns of text. A fitted estimator
    contains its export, and can be pickled and copied.

    Args:
        max_steps: steps of the training.
        options: options of `trainer.train`, such as {"model.type": "dnn", "learning_rate": 0.1}.
        random_state: seed of the job.

    Attributes:
        export_: file of the export → its bytes.
    """

    def fit(self, X: Any, y: Any) -> "EstimatorRegressor":
        """Trains.

        Args:
            X: rows of numbers or text, [rows, columns].
            y: numbers, [rows].

        Returns:
            The estimator.

        Raises:
            ValueError: X or y is invalid.
        """
        X, y = self._check_rows(X, y)
        labels = np.asarray(y, np.float32)
        std = float(labels.std())
        moments = {"mean": float(labels.mean()), "std": std if std > 0 else 1.0}
        self._fit(X, labels, {"normalize": moments}, "float")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Returns a number for each row, float64 [rows].

        Args:
            X: rows with the columns of `fit`.

        Raises:
            ValueError: X is invalid.
        """
        return self._predict(X, "predictions").reshape(-1)
