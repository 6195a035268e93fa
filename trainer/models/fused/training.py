"""The training step of the fused engine; one run of the session may contain several steps."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

from estimator_bridge import estimator, tf
from estimator_bridge.model_files.saving_beside import wait_for_checkpoints
from estimator_bridge.processor import has_bfloat16
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.models.fused.exchanging import Exchange, SameStartHook, add_gradients, merge_rows
from trainer.models.fused.gradients import Step, list_gradients
from trainer.models.fused.growing import create_tables, reset_rows
from trainer.models.fused.layout import Layout
from trainer.models.fused.network import Pass, make_dropout, multiply_in_bfloat16, run_forward
from trainer.models.fused.rows import LABEL, WEIGHT, Preparation, take_batch
from trainer.models.fused.sharing import Servers
from trainer.models.fused.updates import build_optimizers, divide_by_part
from trainer.models.fused.variables import Stored, Variables, build_saver, create_variables
from trainer.models.heads import build_head
from trainer.schema import Label, Schema


class FusedModel(NamedTuple):
    """A model that the fused engine supports.

    Attributes:
        options: hidden_units, activation and dropout.
        train: optimizers, learning rates and loss_reduction.
        preparation: of the rows.
        units: number of logits.
        max_steps: length of the run, for learning-rate schedules.
        exchange: connections to the other processes that train in step; None without them.
        servers: connections to parameter servers; None without them.
    """

    options: config_lib.ModelConfig
    train: config_lib.TrainConfig
    preparation: Preparation
    units: int
    max_steps: int
    exchange: Optional[Exchange] = None
    servers: Optional[Servers] = None

    @property
    def schema(self) -> Schema:
        """Labels and weight."""
        return self.preparation.schema

    @property
    def layout(self) -> Layout:
        """Layout of the variables."""
        return self.preparation.layout

    @property
    def activation(self) -> Callable[[Any], Any]:
        """Activation of the hidden layers."""
        function: Callable[[Any], Any] = getattr(tf.nn, self.options.activation)
        return function


class TrainingParts(NamedTuple):
    """What a step computes before its gradients.

    Attributes:
        model: the model.
        head: computes the loss.
        dropouts: one function per hidden layer; empty without dropout.
        multiply: multiplies the matrices of the hidden layers; None: in float32.
    """

    model: FusedModel
    head: Any
    dropouts: Sequence[Callable[[Any], Any]]
    multiply: Optional[Callable[..., Any]]

    def run(self, rows: dict[str, Any], values: Variables) -> Pass:
        """Returns the forward pass of a batch.

        Args:
            rows: the batch.
            values: of the variables.
        """
        model = self.model
        return run_forward(
            model.layout, rows, values, model.activation, self.dropouts, self.multiply
        )

    def compute_loss(self, done: Pass, rows: dict[str, Any]) -> Any:
        """Returns the loss of a batch, a float32 scalar.

        Args:
            done: the forward pass.
            rows: the batch.
        """
        schema = self.model.schema
        labels = {label.column: rows[LABEL + label.column] for label in schema.labels}
        features = {
            name[len(WEIGHT) :]: tensor for name, tensor in rows.items() if name.startswith(WEIGHT)
        }
        return self.head.loss(
            labels=labels if schema.more_labels else labels[schema.label.column],
            logits=done.logits,
            features=features,
            mode=estimator.ModeKeys.TRAIN,
        )


def build_parts(model: FusedModel, seeds: Sequence[tuple[int, int]]) -> TrainingParts:
    """Returns what a step computes before its gradients.

    Args:
        model: the model.
        seeds: the two seeds of the dropout of each hidden layer; empty without dropout.
    """
    return TrainingParts(
        model,
        build_head(_without_vocabularies(model.schema), model.train.loss_reduction),
        [make_dropout(model.options.dropout, *seed) for seed in seeds],
        multiply_in_bfloat16 if model.train.bfloat16 and has_bfloat16() else None,
    )


def build_training(
    model: FusedModel, features: dict[str, Any], labels: Any, run_config: Any
) -> Any:
    """Builds the training graph.

    Args:
        model: the model.
        features: name → tensor [batch], raw or encoded (see features.encoding); or tensors [steps,
            batch] for several steps in one run of the session; or a result of the function that
            Preparation.begin returns.
        labels: of the same shape as the features; not used if the features are prepared.
        run_config: an estimator.RunConfig.

    Returns:
        An EstimatorSpec. A run of several steps ends after a step whose loss is NaN. The loss is
        that of the last step of the run; with several processes, the sum of their losses.
    """
    batches = prepare_batches(model, features, labels)
    step = tf.compat.v1.train.get_or_create_global_step()
    layout, options = model.layout, model.options
    stored, seeds = create_variables(layout, options.hidden_units, model.units, options.dropout > 0)
    parts = build_parts(model, seeds)
    variables = stored.map(lambda one: one.variable)
    first = step.read_value()
    divided = divide_by_part(layout, stored)
    optimizers = build_optimizers(model.train, model.max_steps, first, divided)
    changing = create_tables(model.preparation.encoding)

    def run_step(index: Any, rows: dict[str, Any]) -> Any:
        """Updates every variable; returns the loss."""
        begun = {part: optimizer.begin(index) for part, optimizer in optimizers.items()}
        seed = (run_config.tf_random_seed or 0, first + index)
        with tf.control_dependencies(reset_rows(layout, stored, rows, begun, seed)):
            # Each variable is read once, and the gradients are computed for the values read.
            values = variables._replace(
                wide_numbers=_read(variables.wide_numbers),
                kernels=tuple(map(_read, variables.kernels)),
                biases=tuple(map(_read, variables.biases)),
            )
            done = parts.run(rows, values)
            loss = parts.compute_loss(done, rows)
        share = _share_loss(loss, model)
        gradients = list_gradients(layout, stored, Step(rows, values, done, share), begun)
        if model.exchange is not None:
            gradients, loss = add_gradients(gradients, loss, model.exchange)
        with tf.control_dependencies([each.apply() for each in gradients]):
            return tf.identity(loss)

    if batches.num_steps is None:
        num_steps, loss = tf.constant(1, tf.int64), run_step(tf.constant(0, tf.int64), batches.rows)
    else:
        num_steps, loss = _run_steps(batches, run_step)
    with tf.control_dependencies([loss]):
        counted = [step.assign_add(num_steps, read_value=False)]
        for optimizer in optimizers.values():
            counted += optimizer.finish(num_steps)
        counted += [one.update(batches.rows) for one in changing]
    train_op = tf.group(*counted, name="training")
    saved = [
        Stored(step, "global_step"),
        *stored.of_deep,
        *stored.of_linear,
        *(one for optimizer in optimizers.values() for one in optimizer.stored),
        *(one.stored for one in changing),
    ]
    saver = build_saver(saved, run_config)
    # Hooks that save checkpoints look for the saver in this collection.
    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.SAVERS, saver)
    with tf.control_dependencies([train_op]):
        last = (
            batches.rows if batches.num_steps is None else take_batch(batches.rows, num_steps - 1)
        )
        done = run_forward(layout, last, variables, model.activation)
        add_summaries(model, done, variables)
    hooks: list[Any] = [LastCheckpointHook()]
    if model.exchange is not None:
        hooks.append(SameStartHook(saved, model.exchange))
    return estimator.EstimatorSpec(
        estimator.ModeKeys.TRAIN,
        loss=loss,
        train_op=train_op,
        scaffold=tf.compat.v1.train.Scaffold(saver=saver),
        training_hooks=hooks,
    )


class LastCheckpointHook(estimator.SessionRunHook):
    """Waits at the end of training until the last checkpoint is written."""

    def end(self, session: Any) -> None:
        """Waits; the hook that saves has begun before."""
        wait_for_checkpoints()


class Batches(NamedTuple):
    """Prepared rows.

    Attributes:
        rows: name → tensor of a batch, or [steps, ...] of several.
        num_steps: int64 scalar; None without a dimension of steps.
    """

    rows: dict[str, Any]
    num_steps: Any


def prepare_batches(model: FusedModel, features: dict[str, Any], labels: Any) -> Batches:
    """Returns prepared rows.

    Args:
        model: the model.
        features: as those of build_training.
        labels: as those of build_training.
    """
    preparation = model.preparation
    rows, is_stacked = features, True
    if not preparation.is_prepared(features):
        if preparation.schema.growing:
            raise UserError(
                f"columns.{preparation.schema.growing[0]}.growing: only the input of a job has it; "
                "use hash_buckets"
            )
        rows, is_stacked = preparation.begin()(features, labels), labels.shape.rank == 2
    assert is_stacked or (model.exchange is None and model.servers is None)
    if model.exchange is not None:
        rows = {**rows, **merge_rows(rows, preparation.distinct, model.exchange)}
    some = rows[LABEL + preparation.schema.label.column]
    return Batches(rows, tf.shape(some, tf.int64)[0] if is_stacked else None)


def _without_vocabularies(schema: Schema) -> Schema:
    """Returns the schema with labels that are class ids."""

    def strip(label: Label) -> Label:
        if label.vocabulary is None:
            return label
        return label.model_copy(update={"vocabulary": None, "num_classes": len(label.vocabulary)})

    return schema.model_copy(
        update={"label": strip(schema.label), "more_labels": tuple(map(strip, schema.more_labels))}
    )


def _read(variable: Optional[Any]) -> Optional[Any]:
    return None if variable is None else variable.read_value()


class _Ran(NamedTuple):
    """The result of a run of several steps.

    Attributes:
        num_steps: int64 scalar, steps that were run.
        loss: float32 scalar, of the last step.
    """

    num_steps: Any
    loss: Any


def _run_steps(batches: Batches, run_step: Callable[[Any, dict[str, Any]], Any]) -> _Ran:
    """Runs the steps one after another."""

    def continues(index: Any, loss: Any) -> Any:
        return tf.logical_and(index < batches.num_steps, tf.logical_not(tf.math.is_nan(loss)))

    def run(index: Any, _: Any) -> tuple[Any, Any]:
        rows = take_batch(batches.rows, index)
        loss = run_step(index, rows)
        with tf.control_dependencies([loss]):
            return index + 1, loss

    begin = tf.constant(0, tf.int64), tf.constant(0.0)
    with loops_of_tf1():
        return _Ran(*tf.while_loop(continues, run, begin, parallel_iterations=1))


# Held while the kind of loops, which all threads share, is another.
_CHANGED = threading.Lock()


@contextlib.contextmanager
def loops_of_tf1() -> Iterator[None]:
    """Within the block, tf.while_loop builds loops of TensorFlow 1.

    What all steps read enters such a loop once. A loop of TensorFlow 2 hands each tensor and each
    variable on from step to step, and runs its constants again: two fifths of all operations.
    """
    with _CHANGED:
        was_new = tf.compat.v1.control_flow_v2_enabled()
        tf.compat.v1.disable_control_flow_v2()
        try:
            yield
        finally:
            if was_new:
                tf.compat.v1.enable_control_flow_v2()


def _share_loss(loss: Any, model: FusedModel) -> Any:
    """Returns what this process contributes to the loss of a step."""
    if model.exchange is None or model.train.loss_reduction == "sum":
        return loss
    return loss * (1.0 / model.exchange.count)


def add_summaries(model: FusedModel, done: Pass, variables: Variables) -> None:
    """Adds the summaries of the canned models, for a batch after its update.

    Args:
        model: the model.
        done: forward pass of the batch.
        variables: those of the linear part are shown.
    """
    scalar, histogram = tf.compat.v1.summary.scalar, tf.compat.v1.summary.histogram
    shown = {f"dnn/{name}": values for name, values in done.hidden.items()}
    if done.wide_logits is not None:
        if model.layout.deep is not None:
            shown["linear"] = done.wide_logits
        weights, biases = [], []
        for table, variable in zip(model.layout.wide, variables.wide):
            end = table.num_rows - len(table.blocks) + len(table.fields)
            weights.append(variable[1:end])
            biases.append(variable[end:])
        if variables.wide_numbers is not None:
            weights.append(variables.wide_numbers[1:])
        share = _share_of_zeros(tf.concat(weights, axis=0))
        scalar("fraction_of_zero_weights", share)
        bias = tf.concat(biases, axis=0)
        scalar("bias", bias[0, 0]) if model.units == 1 else histogram("bias", bias)
    for name, values in shown.items():
        scalar(f"{name}/fraction_of_zero_values", _share_of_zeros(values))
        histogram(f"{name}/activation", values)


def _share_of_zeros(values: Any) -> Any:
    # tf.math.zero_fraction contains a branch. TensorFlow's graph optimizer warns about its types.
    return tf.reduce_mean(tf.cast(tf.equal(values, 0.0), tf.float32))
