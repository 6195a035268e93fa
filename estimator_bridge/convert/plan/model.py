"""Describes a canned model as plain values, between an Estimator and its Keras model.

The readers of job_dirs and of Estimators return a Plan. The writers of Keras code use the Plan; so
does verify, which rebuilds an Estimator from it. This module does not import TensorFlow.
"""

from typing import Any, NamedTuple, Optional, Union

from .columns import Input
from .derived import Derived
from .trees import Trees

__all__ = [
    "BASELINE_INPUT",
    "Cell",
    "Data",
    "Head",
    "Network",
    "Optimizer",
    "Plan",
    "Recurrent",
    "Schedule",
    "drops_units",
    "is_lazy",
    "model_inputs",
    "without_dropout",
]

# A baseline reads no feature. This input gives its Keras model the number of rows.
BASELINE_INPUT = "rows"


class Network(NamedTuple):
    """The deep part of a model.

    Attributes:
      hidden_units: size of each hidden layer.
      activation: name of a Keras activation, or Keras code of one variable `x`.
      dropout: share of the units dropped in training; 0 for none.
      batch_norm: whether each hidden layer is followed by batch normalization.
    """

    hidden_units: tuple[int, ...]
    activation: str
    dropout: float
    batch_norm: bool


class Cell(NamedTuple):
    """One layer of a recurrent part.

    Attributes:
      kind: LSTM, GRU or SimpleRNN.
      name: name of the cell in the checkpoint.
      units: size of the state.
      options: other arguments of the Keras 3 class.
    """

    kind: str
    name: str
    units: int
    options: dict[str, Any]


class Recurrent(NamedTuple):
    """Stacked cells that process a sequence; the logits are computed from the last state."""

    cells: tuple[Cell, ...]


# A loss reduction that Keras lacks: the sum, divided by the number of rows with a weight other
# than 0.
BY_USED_ROWS = "sum_by_used_rows"


class Head(NamedTuple):
    """Computes predictions and loss from logits.

    Attributes:
      task: binary, multiclass, regression, poisson, logistic, multilabel, or multihead.
      units: number of logits.
      classes: label vocabulary; None if classes are numbers.
      reduction: Keras name of the loss reduction (sum, sum_over_batch_size or
        mean_with_sample_weight), or BY_USED_ROWS.
      weight: feature with the weight of a row; None without one.
      name: prefix of the outputs of one head of a multihead; else "".
      importance: factor on the loss of one head of a multihead.
      class_weights: factor on the weight of the rows of each class, in training; () for all 1.
      parts: the heads of a multihead, which share its logits in this order.
      moments: mean and standard deviation of the labels of a regression whose logits are
        normalised; None if the logits are in the label's unit.
    """

    task: str
    units: int
    classes: Optional[tuple[str, ...]]
    reduction: str
    weight: Optional[str]
    name: str = ""
    importance: float = 1.0
    class_weights: tuple[float, ...] = ()
    parts: tuple[Any, ...] = ()
    moments: Optional[tuple[float, float]] = None

    @property
    def single(self) -> tuple["Head", ...]:
        """The heads with one loss each: the parts of a multihead, or this head alone."""
        return self.parts or (self,)

    @property
    def weights(self) -> frozenset[str]:
        """The features with weights of rows that this head or its parts read."""
        return frozenset(one.weight for one in (self, *self.parts) if one.weight is not None)

    def output(self, name: str) -> str:
        """Returns the name of an output of this head in the model.

        Args:
          name: name of the output without a head's name.
        """
        return f"{self.name}/{name}" if self.name else name

    @property
    def target(self) -> str:
        """The name of the output from which the loss is computed."""
        return self.output("predictions" if self.task in ("regression", "poisson") else "logits")


class Schedule(NamedTuple):
    """A learning rate that changes with the step: a schedule class of Keras and its arguments.

    Attributes:
      name: class of keras.optimizers.schedules.
      arguments: positional arguments: numbers, or lists of numbers.
      options: keyword arguments: numbers or bools.
    """

    name: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def build(self, schedules: Any) -> Any:
        """Returns the schedule as an object.

        Args:
          schedules: keras.optimizers.schedules of Keras 3, or the same module of Keras 2.
        """
        return getattr(schedules, self.name)(*self.arguments, **self.options)

    @property
    def code(self) -> str:
        """Keras code of the schedule."""
        options = (f"{name}={value!r}" for name, value in self.options.items())
        given = ", ".join((*map(repr, self.arguments), *options))
        return f"keras.optimizers.schedules.{self.name}({given})"


class Optimizer(NamedTuple):
    """An optimizer whose state can be converted.

    Attributes:
      kind: adagrad, adam, ftrl, momentum, rmsprop or sgd.
      rate: learning rate.
      options: other arguments of the Keras 3 class.
      version: 1 for tf.compat.v1.train, 2 for Keras 2; their slot variables have different names.
    """

    kind: str
    rate: Union[float, Schedule]
    options: dict[str, Any]
    version: int


class Data(NamedTuple):
    """The files that the model was trained on.

    Attributes:
      columns: names in the order of a file without a header; None if files have one.
      labels: names of the label columns of each head.
      delimiter: delimiter of CSV files.
      missing: CSV texts that mean a missing value.
      defaults: feature -> replacement of a missing value.
      multivalent: feature whose values are joined in one text -> (dtype of a value, separator).
      encoding: of CSV files.
    """

    columns: Optional[tuple[str, ...]]
    labels: tuple[tuple[str, ...], ...]
    delimiter: str
    missing: tuple[str, ...]
    defaults: dict[str, Any]
    multivalent: dict[str, tuple[str, str]]
    encoding: str = "utf-8"

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Names of all label columns."""
        return tuple(name for names in self.labels for name in names)


def is_lazy(optimizer: Optional[Optimizer], from_zero: bool) -> bool:
    """Returns whether the optimizer skips the table rows that a batch does not look up.

    The optimizers of Keras 3 update all rows. The result is the same if a row without a gradient
    keeps its weights and its state, or if the Estimator's optimizer also updates all rows.

    Args:
      optimizer: None if its state is not converted.
      from_zero: whether tables are initialized with zeros, as in the linear part.
    """
    if optimizer is not None and optimizer.kind == "ftrl":
        # Ftrl recomputes a weight from its state at every step. A row without a gradient keeps its
        # weight only if the weight matches the state, the rate is constant and nothing shrinks it.
        shrinks = bool(optimizer.options["l2_shrinkage_regularization_strength"])
        return not from_zero or shrinks or isinstance(optimizer.rate, Schedule)
    if optimizer is None or optimizer.kind not in ("momentum", "rmsprop"):
        return False
    if optimizer.kind == "momentum" or optimizer.version == 1:
        return True
    return bool(optimizer.options["momentum"])


class Plan(NamedTuple):
    """A canned Estimator.

    Attributes:
      kind: baseline, linear, dnn, wide_deep, rnn or boosted_trees.
      inputs: raw features, in the order of their definition.
      wide: columns of the linear part.
      wide_combiner: how the linear part combines the values of a row: sum, mean or sqrtn.
      deep: dense columns of the deep part, or sequence columns of a recurrent part.
      network: the deep part; None without one.
      head: predictions and loss.
      wide_optimizer: None without a linear part, or if its state is not converted.
      deep_optimizer: None without a deep part, or if its state is not converted.
      keys: features that are copied to the predictions.
      data: the files that the model was trained on; None if unknown.
      training_notes: settings that affect the training of the Estimator but have no counterpart in
        the Keras model, one line each.
      recurrent: cells of a recurrent part, in place of a network; None without one.
      context: dense columns that are joined to every step of a recurrent part.
      derived: features computed from the inputs before the columns read them.
      left_out: predictions of the Estimator that the Keras model does not have, one line each.
      trees: boosted trees, with the values of their checkpoint; None without them.
    """

    kind: str
    inputs: tuple[Input, ...]
    wide: tuple[Any, ...]
    wide_combiner: str
    deep: tuple[Any, ...]
    network: Optional[Network]
    head: Head
    wide_optimizer: Optional[Optimizer]
    deep_optimizer: Optional[Optimizer]
    keys: tuple[Input, ...]
    data: Optional[Data]
    training_notes: tuple[str, ...] = ()
    recurrent: Optional[Recurrent] = None
    context: tuple[Any, ...] = ()
    derived: tuple[Derived, ...] = ()
    left_out: tuple[str, ...] = ()
    trees: Optional[Trees] = None


def drops_units(plan: Plan) -> bool:
    """Returns whether training uses dropout.

    Args:
      plan: the model.
    """
    cells = plan.recurrent.cells if plan.recurrent else ()
    shares = [cell.options.get(name) for cell in cells for name in ("dropout", "recurrent_dropout")]
    return any(shares) or bool(plan.network and plan.network.dropout)


def without_dropout(plan: Plan) -> Plan:
    """Returns the same model without dropout.

    Args:
      plan: the model.
    """
    if plan.network is not None:
        plan = plan._replace(network=plan.network._replace(dropout=0.0))
    if plan.recurrent is not None:
        none = {"dropout": 0.0, "recurrent_dropout": 0.0}
        cells = (cell._replace(options={**cell.options, **none}) for cell in plan.recurrent.cells)
        plan = plan._replace(recurrent=Recurrent(tuple(cells)))
    return plan


def model_inputs(plan: Plan) -> tuple[Input, ...]:
    """Returns the inputs of the Keras model: the raw features and the keys.

    Args:
      plan: the model.
    """
    read = {feature.name for feature in plan.inputs}
    return (*plan.inputs, *(key for key in plan.keys if key.name not in read))
