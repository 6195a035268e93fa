"""What a canned model computes, as plain values: the middle between an Estimator and its Keras
model.

Whoever describes an Estimator (a job_dir, feature column objects) makes a Plan; whoever writes
Keras code, or builds
the Estimator anew for a comparison, reads one. Nothing here imports TensorFlow.
"""

from typing import Any, NamedTuple, Optional, Union

from .columns import (
    HASH_KEY,
    Bucketized,
    Crossed,
    Embedding,
    Hashed,
    Identity,
    Indicator,
    Input,
    Normalizer,
    Numeric,
    Raw,
    SequenceNumeric,
    SharedTable,
    Vocabulary,
    Weighted,
    dtypes_of,
    hashing_order,
    inputs_of,
    layer_name,
    name_of,
    num_ids,
    quoted,
    safe_name,
)
from .derived import Derived

__all__ = [
    "HASH_KEY",
    "Bucketized",
    "Cell",
    "Crossed",
    "Data",
    "Embedding",
    "Hashed",
    "Head",
    "Identity",
    "Indicator",
    "Input",
    "Network",
    "Normalizer",
    "Numeric",
    "Optimizer",
    "Plan",
    "Raw",
    "Recurrent",
    "SequenceNumeric",
    "SharedTable",
    "Vocabulary",
    "Weighted",
    "drops_units",
    "dtypes_of",
    "hashing_order",
    "inputs_of",
    "is_lazy",
    "model_inputs",
    "layer_name",
    "name_of",
    "num_ids",
    "quoted",
    "safe_name",
    "without_dropout",
]


class Network(NamedTuple):
    """The deep part.

    Attributes:
      hidden_units: of each layer.
      activation: Keras' name of it, or Keras code of it, of one variable `x`.
      dropout: share of units dropped in training, 0 for none.
      batch_norm: after each hidden layer.
    """

    hidden_units: tuple[int, ...]
    activation: str
    dropout: float
    batch_norm: bool


class Cell(NamedTuple):
    """One layer of a recurrent part.

    Attributes:
      kind: LSTM, GRU or SimpleRNN.
      name: the cell's in the checkpoint.
      units: size of its state.
      options: other arguments of the Keras 3 class.
    """

    kind: str
    name: str
    units: int
    options: dict[str, Any]


class Recurrent(NamedTuple):
    """Cells on top of each other that go through a sequence; the last state makes the logits."""

    cells: tuple[Cell, ...]


class Head(NamedTuple):
    """From logits to answers and loss.

    Attributes:
      task: binary, multiclass, regression, poisson, logistic, multilabel, or multihead.
      units: number of logits.
      classes: label vocabulary; None: classes are numbers.
      reduction: Keras' name of the loss reduction: sum, sum_over_batch_size or
        mean_with_sample_weight.
      weight: feature with a row's weight.
      name: of one of several heads: what its outputs begin with.
      importance: of one of several heads: factor on its loss in the sum.
      class_weights: of each class the factor on the weight of its rows, in training; empty for 1.
      parts: the heads of a multihead, which share its logits in their order.
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

    @property
    def single(self) -> tuple["Head", ...]:
        """The heads of which each has one loss: its parts, or itself."""
        return self.parts or (self,)

    def output(self, name: str) -> str:
        """What the model calls an output of this head."""
        return f"{self.name}/{name}" if self.name else name

    @property
    def target(self) -> str:
        """The output that its loss is of."""
        return self.output("predictions" if self.task in ("regression", "poisson") else "logits")


class Optimizer(NamedTuple):
    """An optimizer whose state can be carried over.

    Attributes:
      kind: adagrad, adam, ftrl, momentum, rmsprop or sgd.
      rate: learning rate: a number, or Keras code of a schedule.
      options: arguments of the Keras 3 class.
      version: 1 for tf.compat.v1.train, 2 for Keras 2: their slots have other names.
    """

    kind: str
    rate: Union[float, str]
    options: dict[str, Any]
    version: int


class Data(NamedTuple):
    """The files that the model was trained on.

    Attributes:
      columns: names in the order of a file without a header; None: files have one.
      labels: names of the label columns of each head.
      delimiter: of CSV.
      missing: CSV text that means no value.
      defaults: feature -> what stands for a missing value.
      several: feature of several values in one text -> (their type, what is between them).
    """

    columns: Optional[tuple[str, ...]]
    labels: tuple[tuple[str, ...], ...]
    delimiter: str
    missing: tuple[str, ...]
    defaults: dict[str, Any]
    several: dict[str, tuple[str, str]]

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Names of all label columns."""
        return tuple(name for names in self.labels for name in names)


def is_lazy(optimizer: Optional[Optimizer], from_zero: bool) -> bool:
    """Whether it leaves rows of a table alone, and their state, that a batch does not look up.

    Keras 3 has no such optimizers. Where a row without a gradient neither moves nor changes state,
    or the Estimator's optimizer treats all rows alike, there is no difference.

    Args:
      optimizer: None if it is not carried over.
      from_zero: whether tables start as zeros, as those of the linear part do.
    """
    if optimizer is not None and optimizer.kind == "ftrl":
        # Ftrl makes a weight anew from its state at every step: a row without a gradient stays only
        # if it is what its state says, and the rate is what it was.
        return not from_zero or isinstance(optimizer.rate, str)
    if optimizer is None or optimizer.kind not in ("momentum", "rmsprop"):
        return False
    if optimizer.kind == "momentum" or optimizer.version == 1:
        return True
    return bool(optimizer.options["momentum"])


class Plan(NamedTuple):
    """A canned Estimator.

    Attributes:
      kind: baseline, linear, dnn, wide_deep or rnn.
      inputs: raw features, in the order in which they were named.
      wide: columns of the linear part.
      wide_combiner: how the linear part combines the values of a row: sum, mean or sqrtn.
      deep: dense columns of the deep part; of a recurrent one those of its steps.
      network: the deep part; None without one.
      head: answers and loss.
      wide_optimizer, deep_optimizer: None where there is no such part, or it is not carried over.
      key: a feature handed on to the answers, None for none.
      data: the files it was trained on, None where that is not known.
      training_notes: what acts on the Estimator's training and has no counterpart in the Keras
        model, a line each.
      recurrent: cells in place of a network; None without.
      context: dense columns that go with every step of a recurrent part.
      derived: features that are made of the inputs before the columns see them.
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
    key: Optional[str]
    data: Optional[Data]
    training_notes: tuple[str, ...] = ()
    recurrent: Optional[Recurrent] = None
    context: tuple[Any, ...] = ()
    derived: tuple[Derived, ...] = ()


def drops_units(plan: Plan) -> bool:
    """Whether anything is dropped at random in training."""
    cells = plan.recurrent.cells if plan.recurrent else ()
    shares = [cell.options.get(name) for cell in cells for name in ("dropout", "recurrent_dropout")]
    return any(shares) or bool(plan.network and plan.network.dropout)


def without_dropout(plan: Plan) -> Plan:
    """The same model with nothing dropped."""
    if plan.network is not None:
        plan = plan._replace(network=plan.network._replace(dropout=0.0))
    if plan.recurrent is not None:
        none = {"dropout": 0.0, "recurrent_dropout": 0.0}
        cells = (cell._replace(options={**cell.options, **none}) for cell in plan.recurrent.cells)
        plan = plan._replace(recurrent=Recurrent(tuple(cells)))
    return plan


def model_inputs(plan: Plan) -> tuple[Input, ...]:
    """Everything that the Keras model takes: the raw features and the key."""
    if plan.key is None or plan.key in {feature.name for feature in plan.inputs}:
        return plan.inputs
    return (*plan.inputs, Input(plan.key, "string", 1))
