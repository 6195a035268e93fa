"""The fused training step, and several of them in one run of the session."""

from typing import Any, NamedTuple

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.models.fused.layout import Deep, Layout, Table
from trainer.models.fused.network import Pass, make_dropout, run_forward
from trainer.models.fused.rows import LABEL, WEIGHT, Preparation, rows_touched
from trainer.models.fused.updates import Optimizer, name_scopes
from trainer.models.fused.variables import Stored, build_saver, create_variables
from trainer.models.heads import build_head
from trainer.models.optimizers import build_rate
from trainer.schema import Schema


class Model(NamedTuple):
    """What a fused model is made of.

    Attributes:
        config: model and optimizers.
        preparation: schema, and what rows become.
        units: number of logits.
        max_steps: length of the run, for decaying rates.
    """

    config: config_lib.Config
    preparation: Preparation
    units: int
    max_steps: int

    @property
    def schema(self) -> Schema:
        """Labels, weight."""
        return self.preparation.schema

    @property
    def layout(self) -> Layout:
        """Of the variables."""
        return self.preparation.layout

    @property
    def activation(self):
        """Of the hidden layers."""
        return getattr(tf.nn, self.config.model.activation)


def build_training(model: Model, features: dict[str, Any], labels: Any, run_config: Any) -> Any:
    """Builds the training graph.

    Args:
        model: what is trained.
        features: name → tensor [batch], raw, or encoded as features.encoding says; or all of them
            [steps, batch], for so many steps in one run of the session; these also prepared as
            Preparation says.
        labels: as the features.
        run_config: an estimator.RunConfig.

    Returns:
        an EstimatorSpec. A run of several steps ends early at a step whose loss is NaN; its loss is
        that of its last step.
    """
    batches = _prepare(model.preparation, features, labels)
    head = build_head(_without_vocabularies(model.schema), model.config.train.loss_reduction)
    step = tf.compat.v1.train.get_or_create_global_step()
    dropout = model.config.model.dropout
    stored, seeds = create_variables(
        model.layout, model.config.model.hidden_units, model.units, dropout > 0
    )
    dropouts = [make_dropout(dropout, *seed) for seed in seeds]
    variables = stored.map(lambda one: one.variable)
    optimizers = _build_optimizers(model, stored, step)

    def run_step(index, rows):
        """Updates every variable; returns the loss."""
        # Each once: what is read is what is differentiated by.
        values = variables._replace(
            wide_numbers=_read(variables.wide_numbers),
            kernels=tuple(map(_read, variables.kernels)),
            biases=tuple(map(_read, variables.biases)),
        )
        done = run_forward(model.layout, rows, values, model.activation, dropouts)
        loss = _compute_loss(head, done.logits, rows, model.schema)
        for optimizer in optimizers.values():
            optimizer.begin(index)
        updates = _update(model.layout, stored, values, done, rows, loss, optimizers)
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
    train_op = tf.group(*counted, name="training")
    kept = [
        Stored(step, "global_step"),
        *(one for one in _list(stored)),
        *(one for optimizer in optimizers.values() for one in optimizer.stored),
    ]
    saver = build_saver(kept, run_config)
    # Where the hooks that save look for it.
    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.SAVERS, saver)
    with tf.control_dependencies([train_op]):
        last = batches.rows if batches.num_steps is None else _take(batches.rows, num_steps - 1)
        _add_summaries(model, variables, last)
    return estimator.EstimatorSpec(
        estimator.ModeKeys.TRAIN,
        loss=loss,
        train_op=train_op,
        scaffold=tf.compat.v1.train.Scaffold(saver=saver),
    )


class _Batches(NamedTuple):
    """Rows ready for the steps.

    Attributes:
        rows: name → tensor of a batch, or of one for each step, [steps, ...].
        num_steps: how many, int64; None where there is no such dimension.
    """

    rows: dict[str, Any]
    num_steps: Any


def _prepare(preparation: Preparation, features: dict[str, Any], labels: Any) -> _Batches:
    rows, is_stacked = features, True
    if not preparation.is_prepared(features):
        rows, is_stacked = preparation.begin()(features, labels), labels.shape.rank == 2
    some = rows[LABEL + preparation.schema.label.column]
    return _Batches(rows, tf.shape(some, tf.int64)[0] if is_stacked else None)


def _without_vocabularies(schema: Schema) -> Schema:
    def strip(label):
        if label.vocabulary is None:
            return label
        return label.model_copy(update={"vocabulary": None, "num_classes": len(label.vocabulary)})

    return schema.model_copy(
        update={"label": strip(schema.label), "more_labels": tuple(map(strip, schema.more_labels))}
    )


def _build_optimizers(model: Model, stored: Any, step: Any) -> dict[str, Optimizer]:
    """part → optimizer; the first one counts by the global step, a second one by itself."""
    train, layout = model.config.train, model.layout
    first = step.read_value()
    deep = None if layout.deep is None else train.optimizer
    deep_scope, linear_scope = name_scopes(deep, train.linear_optimizer)
    optimizers = {}
    if layout.deep is not None:
        rate = build_rate(train, model.max_steps, linear=False)
        optimizers["deep"] = Optimizer(
            train, train.optimizer, rate, stored.of_deep, first, deep_scope
        )
    if layout.wide:
        rate = build_rate(train, model.max_steps, linear=True)
        counter = first if layout.deep is None else None
        optimizers["linear"] = Optimizer(
            train, train.linear_optimizer, rate, stored.of_linear, counter, linear_scope
        )
    return optimizers


def _read(variable):
    return None if variable is None else variable.read_value()


def _list(stored) -> list:
    return [*stored.of_deep, *stored.of_linear]


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


def _run_steps(batches: _Batches, run_step: Any) -> tuple[Any, Any]:
    """Runs the steps one after another; returns how many were run and the last loss."""

    def goes_on(index, loss):
        return tf.logical_and(index < batches.num_steps, tf.logical_not(tf.math.is_nan(loss)))

    def run(index, _):
        rows = _take(batches.rows, index)
        loss = run_step(index, rows)
        with tf.control_dependencies([loss]):
            return index + 1, loss

    return tf.while_loop(
        goes_on, run, (tf.constant(0, tf.int64), tf.constant(0.0)), parallel_iterations=1
    )


def _take(rows: dict[str, Any], index: Any) -> dict[str, Any]:
    """The batch of an index, int64, out of tensors [steps, ...]."""
    begin = tf.reshape(index, [1])
    end, strides = begin + 1, tf.ones([1], tf.int64)
    taken = {}
    for name, tensor in rows.items():
        # Of one index along the first dimension this is a view; a gather would copy.
        taken[name] = tf.raw_ops.StridedSlice(
            input=tensor, begin=begin, end=end, strides=strides, shrink_axis_mask=1
        )
        taken[name].set_shape(tensor.shape[1:])
    return taken


def _update(
    layout: Layout,
    stored: Any,
    values: Any,
    done: Pass,
    rows: dict[str, Any],
    loss: Any,
    optimizers: dict[str, Optimizer],
) -> list:
    """The operations that update every variable."""
    deep = layout.deep
    dense = [] if deep is None else [done.product, *values.kernels[1:], *values.biases]
    wide = [] if done.wide_logits is None else [done.wide_logits]
    numbers = [] if values.wide_numbers is None else [values.wide_numbers]
    grads = iter(tf.gradients(loss, [*dense, *wide, *numbers]))
    updates = []
    if deep is not None:
        product = next(grads)
        first = tf.matmul(done.net, product, transpose_a=True)
        updates.append(optimizers["deep"].apply(stored.kernels[0], first))
        updates += [
            optimizers["deep"].apply(one, next(grads))
            for one in [*stored.kernels[1:], *stored.biases]
        ]
    for grad in [next(grads) for _ in wide]:
        for table, one in zip(layout.wide, stored.wide):
            # Every row that was added up has the sum's gradient.
            spread = tf.tile(grad[None], [rows[table.name].shape[0], 1, 1])
            updates += _update_table(table, one, spread, rows, optimizers["linear"])
    updates += [optimizers["linear"].apply(stored.wide_numbers, next(grads)) for _ in numbers]
    if deep is not None and deep.tables:
        looked_up = _spread_to_tables(deep, values.kernels[0], product)
        for table, one, grad in zip(deep.tables, stored.embeddings, looked_up):
            updates += _update_table(table, one, grad, rows, optimizers["deep"])
    return updates


def _spread_to_tables(deep: Deep, kernel: Any, product: Any) -> list:
    """The gradient of what was looked up in each table, [fields, batch, dimension].

    Of the input's other parts, which are most of it, nobody wants one.
    """
    counts = [len(table.fields) for table in deep.tables]
    widths = [table.dimension for table, count in zip(deep.tables, counts) for _ in range(count)]
    start = sum(deep.hot_sizes)
    grad = tf.matmul(product, kernel[start : start + sum(widths)], transpose_b=True)
    parts = iter(tf.split(grad, widths, axis=1))
    return [tf.stack([next(parts) for _ in range(count)]) for count in counts]


def _update_table(
    table: Table, stored: Stored, grad: Any, rows: dict[str, Any], optimizer: Optimizer
) -> list:
    """Updates a table by the gradient of what was looked up, [fields, batch, dimension].

    A row's gradients are summed first; those of no value, -1, are in no sum.
    """
    there = rows[table.name]
    if optimizer.needs_all or not (table.is_large or optimizer.moves_all):
        summed = tf.math.unsorted_segment_sum(grad, there, table.num_rows)
        return [optimizer.apply(stored, summed)]
    found = rows_touched(table, rows)
    if table.is_large:
        touched, places = tf.unique(tf.reshape(found, [-1]))
        if table.may_lack:
            places = tf.where(tf.reshape(there, [-1]) < 0, -1, places)
        grad = tf.reshape(grad, [-1, table.dimension])
        summed = tf.math.unsorted_segment_sum(grad, places, tf.size(touched))
        return [optimizer.apply(stored, summed, touched)]
    ones = tf.ones_like(found, tf.float32)
    counts = tf.math.unsorted_segment_sum(ones, found, table.num_rows)
    touched = tf.reshape(tf.where(counts), [-1])
    summed = tf.math.unsorted_segment_sum(grad, there, table.num_rows)
    return [optimizer.apply(stored, tf.gather(summed, touched), touched)]


def _add_summaries(model: Model, variables: Any, rows: dict[str, Any]) -> None:
    """What the canned models show in TensorBoard, of a run's last batch after its update."""
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
    # TensorFlow's own zero_fraction is a branch, whose types its optimizer complains about.
    return tf.reduce_mean(tf.cast(tf.equal(values, 0.0), tf.float32))
