"""The training step of the fused engine; one run of the session may contain several steps."""

from collections.abc import Callable
from typing import Any, NamedTuple, Optional

from estimator_bridge import estimator, tf
from estimator_bridge.processor import has_bfloat16
from estimator_bridge.saving_beside import wait_for_checkpoints
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.models.fused.growing import create_tables, reset_rows
from trainer.models.fused.layout import Deep, Layout, Table
from trainer.models.fused.network import Pass, make_dropout, multiply_in_bfloat16, run_forward
from trainer.models.fused.rows import (
    DISTINCT,
    LABEL,
    PLACES,
    WEIGHT,
    Preparation,
    rows_touched,
    take_batch,
)
from trainer.models.fused.updates import Optimizer, OptimizerStep, name_scopes
from trainer.models.fused.variables import Stored, Variables, build_saver, create_variables
from trainer.models.heads import build_head
from trainer.models.optimizers import build_rate
from trainer.schema import Label, Schema


class FusedModel(NamedTuple):
    """A model that the fused engine supports.

    Attributes:
        options: hidden_units, activation and dropout.
        train: optimizers, learning rates and loss_reduction.
        preparation: of the rows.
        units: number of logits.
        max_steps: length of the run, for learning-rate schedules.
    """

    options: config_lib.ModelConfig
    train: config_lib.TrainConfig
    preparation: Preparation
    units: int
    max_steps: int

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
        that of the last step of the run.
    """
    batches = _prepare(model.preparation, features, labels)
    head = build_head(_without_vocabularies(model.schema), model.train.loss_reduction)
    step = tf.compat.v1.train.get_or_create_global_step()
    dropout = model.options.dropout
    stored, seeds = create_variables(
        model.layout, model.options.hidden_units, model.units, dropout > 0
    )
    dropouts = [make_dropout(dropout, *seed) for seed in seeds]
    variables = stored.map(lambda one: one.variable)
    first = step.read_value()
    optimizers = _build_optimizers(model, stored, first)
    changing = create_tables(model.preparation.encoding)
    multiply = multiply_in_bfloat16 if model.train.bfloat16 and has_bfloat16() else None

    def run_step(index: Any, rows: dict[str, Any]) -> Any:
        """Updates every variable; returns the loss."""
        begun = {part: optimizer.begin(index) for part, optimizer in optimizers.items()}
        seed = (run_config.tf_random_seed or 0, first + index)
        with tf.control_dependencies(reset_rows(model.layout, stored, rows, begun, seed)):
            # Each variable is read once, and the gradients are computed for the values read.
            values = variables._replace(
                wide_numbers=_read(variables.wide_numbers),
                kernels=tuple(map(_read, variables.kernels)),
                biases=tuple(map(_read, variables.biases)),
            )
            done = run_forward(model.layout, rows, values, model.activation, dropouts, multiply)
            loss = _compute_loss(head, done.logits, rows, model.schema)
        updates = _update(model.layout, stored, _Step(rows, values, done, loss), begun)
        with tf.control_dependencies(updates):
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
        _add_summaries(model, variables, last)
    return estimator.EstimatorSpec(
        estimator.ModeKeys.TRAIN,
        loss=loss,
        train_op=train_op,
        scaffold=tf.compat.v1.train.Scaffold(saver=saver),
        training_hooks=[_LastCheckpointHook()],
    )


class _LastCheckpointHook(estimator.SessionRunHook):
    """Waits at the end of training until the last checkpoint is written."""

    def end(self, session: Any) -> None:
        """Waits; the hook that saves has begun before."""
        wait_for_checkpoints()


class _Batches(NamedTuple):
    """Prepared rows.

    Attributes:
        rows: name → tensor of a batch, or [steps, ...] of several.
        num_steps: int64 scalar; None without a dimension of steps.
    """

    rows: dict[str, Any]
    num_steps: Any


class _Step(NamedTuple):
    """A step before its update.

    Attributes:
        rows: name → tensor of the batch.
        values: of the variables, as they were read.
        forward: the forward pass.
        loss: float32 scalar.
    """

    rows: dict[str, Any]
    values: Variables
    forward: Pass
    loss: Any


def _prepare(preparation: Preparation, features: dict[str, Any], labels: Any) -> _Batches:
    rows, is_stacked = features, True
    if not preparation.is_prepared(features):
        if preparation.schema.growing:
            raise UserError(
                f"columns.{preparation.schema.growing[0]}.growing: only the input of a job has it; "
                "use hash_buckets"
            )
        rows, is_stacked = preparation.begin()(features, labels), labels.shape.rank == 2
    some = rows[LABEL + preparation.schema.label.column]
    return _Batches(rows, tf.shape(some, tf.int64)[0] if is_stacked else None)


def _without_vocabularies(schema: Schema) -> Schema:
    """Returns the schema with labels that are class ids."""

    def strip(label: Label) -> Label:
        if label.vocabulary is None:
            return label
        return label.model_copy(update={"vocabulary": None, "num_classes": len(label.vocabulary)})

    return schema.model_copy(
        update={"label": strip(schema.label), "more_labels": tuple(map(strip, schema.more_labels))}
    )


def _build_optimizers(model: FusedModel, stored: Variables, first: Any) -> dict[str, Optimizer]:
    """Returns part → optimizer.

    The first optimizer counts steps by the global step, which is `first` before the run, and the
    second by a counter of its own.
    """
    train, layout = model.train, model.layout
    deep = None if layout.deep is None else train.optimizer
    deep_scope, linear_scope = name_scopes(deep, train.linear_optimizer)
    optimizers = {}
    if layout.deep is not None:
        optimizers["deep"] = Optimizer(
            train.optimizer,
            stored.of_deep,
            train=train,
            rate=build_rate(train, model.max_steps, linear=False),
            step=first,
            scope=deep_scope,
        )
    if layout.wide:
        optimizers["linear"] = Optimizer(
            train.linear_optimizer,
            stored.of_linear,
            train=train,
            rate=build_rate(train, model.max_steps, linear=True),
            step=first if layout.deep is None else None,
            scope=linear_scope,
        )
    return optimizers


def _read(variable: Optional[Any]) -> Optional[Any]:
    return None if variable is None else variable.read_value()


def _compute_loss(head: Any, logits: Any, rows: dict[str, Any], schema: Schema) -> Any:
    labels = {label.column: rows[LABEL + label.column] for label in schema.labels}
    features = {
        name[len(WEIGHT) :]: tensor for name, tensor in rows.items() if name.startswith(WEIGHT)
    }
    return head.loss(
        labels=labels if schema.more_labels else labels[schema.label.column],
        logits=logits,
        features=features,
        mode=estimator.ModeKeys.TRAIN,
    )


class _Ran(NamedTuple):
    """The result of a run of several steps.

    Attributes:
        num_steps: int64 scalar, steps that were run.
        loss: float32 scalar, of the last step.
    """

    num_steps: Any
    loss: Any


def _run_steps(batches: _Batches, run_step: Callable[[Any, dict[str, Any]], Any]) -> _Ran:
    """Runs the steps one after another."""

    def continues(index: Any, loss: Any) -> Any:
        return tf.logical_and(index < batches.num_steps, tf.logical_not(tf.math.is_nan(loss)))

    def run(index: Any, _: Any) -> tuple[Any, Any]:
        rows = take_batch(batches.rows, index)
        loss = run_step(index, rows)
        with tf.control_dependencies([loss]):
            return index + 1, loss

    return _Ran(
        *tf.while_loop(
            continues, run, (tf.constant(0, tf.int64), tf.constant(0.0)), parallel_iterations=1
        )
    )


def _update(
    layout: Layout, stored: Variables, step: _Step, optimizers: dict[str, OptimizerStep]
) -> list[Any]:
    """Returns the operations that update every variable."""
    rows, values, done, loss = step
    deep = layout.deep
    dense = [] if deep is None else [done.product, *values.kernels[1:], *values.biases]
    wide = [] if done.wide_logits is None else [done.wide_logits]
    numbers = [] if values.wide_numbers is None else [values.wide_numbers]
    grads = iter(tf.gradients(loss, [*dense, *wide, *numbers]))
    updates: list[Any] = []
    product = None
    if deep is not None:
        product = next(grads)
        first = done.multiply(done.net, product, transpose_a=True)
        updates.append(optimizers["deep"].apply(stored.kernels[0], first))
        updates += [
            optimizers["deep"].apply(one, next(grads))
            for one in [*stored.kernels[1:], *stored.biases]
        ]
    for grad in [next(grads) for _ in wide]:
        for table, one in zip(layout.wide, stored.wide):
            # The gradient of a sum is also the gradient of each of its terms.
            spread = tf.tile(grad[None], [rows[table.name].shape[0], 1, 1])
            updates += _update_table(table, one, spread, rows, optimizers["linear"])
    updates += [optimizers["linear"].apply(stored.wide_numbers, next(grads)) for _ in numbers]
    if deep is not None and deep.tables:
        looked_up = _spread_to_tables(deep, values.kernels[0], product, done.multiply)
        for table, one, grad in zip(deep.tables, stored.embeddings, looked_up):
            updates += _update_table(table, one, grad, rows, optimizers["deep"])
    return updates


def _spread_to_tables(
    deep: Deep, kernel: Any, product: Any, multiply: Callable[..., Any]
) -> list[Any]:
    """Returns the gradients of each table's looked-up values, [fields, batch, dimension].

    Most of the input consists of other parts, which need no gradient.
    """
    counts = [len(table.fields) for table in deep.tables]
    widths = [table.dimension for table, count in zip(deep.tables, counts) for _ in range(count)]
    start = sum(deep.hot_sizes)
    grad = multiply(product, kernel[start : start + sum(widths)], transpose_b=True)
    parts = iter(tf.split(grad, widths, axis=1))
    return [tf.stack([next(parts) for _ in range(count)]) for count in counts]


def _update_table(
    table: Table, stored: Stored, grad: Any, rows: dict[str, Any], optimizer: OptimizerStep
) -> list[Any]:
    """Returns the update of a table by the gradient of its looked-up values.

    The gradient is float32 [fields, batch, dimension]. The gradients of a row are summed first.
    Missing values have the segment -1, which the sums ignore.
    """
    segments = rows[table.name]
    kind = optimizer.kind
    if kind.needs_all or not (table.is_large or kind.moves_all):
        summed = tf.math.unsorted_segment_sum(grad, segments, table.num_rows)
        return [optimizer.apply(stored, summed)]
    if table.is_large:
        touched = rows[DISTINCT + table.name]
        grad = tf.reshape(grad, [-1, table.dimension])
        summed = tf.math.unsorted_segment_sum(grad, rows[PLACES + table.name], tf.size(touched))
        return [optimizer.apply(stored, summed, touched)]
    found = rows_touched(table, rows)
    ones = tf.ones_like(found, tf.float32)
    counts = tf.math.unsorted_segment_sum(ones, found, table.num_rows)
    touched = tf.reshape(tf.where(counts), [-1])
    summed = tf.math.unsorted_segment_sum(grad, segments, table.num_rows)
    return [optimizer.apply(stored, tf.gather(summed, touched), touched)]


def _add_summaries(model: FusedModel, variables: Variables, rows: dict[str, Any]) -> None:
    """Adds the summaries of the canned models, for the last batch of a run after its update."""
    scalar, histogram = tf.compat.v1.summary.scalar, tf.compat.v1.summary.histogram
    done = run_forward(model.layout, rows, variables, model.activation)
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
