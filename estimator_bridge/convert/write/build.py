"""Builds the Keras model with the weights and the optimizer state of the checkpoint."""

import types
from typing import Any, NamedTuple

from estimator_bridge.errors import BridgeError
from estimator_bridge.process.fast_import import import_keras_3

from ..plan.model import Plan
from ..plan.optimizers import describe_epsilon, find_other_state, iterations_name, slots_of
from ..read.checkpoint import Checkpoint, rate_at, shape_problem
from .module import Module
from .trees import NODES

__all__ = ["Built", "build_model", "find_variable", "run_module"]


class Built(NamedTuple):
    """A converted model.

    Attributes:
      model: Keras 3 model; compiled if the plan has optimizers.
      module: the executed module.
      names: checkpoint variable -> Keras variable.
      notes: the parts that were not converted, one line each.
    """

    model: Any
    module: types.ModuleType
    names: dict[str, Any]
    notes: list[str]


def run_module(code: str, name: str = "converted_model") -> types.ModuleType:
    """Executes a written module, which imports Keras; returns it.

    Args:
      code: source of the module.
      name: name of the module.
    """
    import_keras_3()
    module = types.ModuleType(name)
    exec(compile(code, f"<{name}>", "exec"), module.__dict__)  # noqa: S102 - our own text
    return module


def build_model(
    plan: Plan, written: Module, checkpoint: Checkpoint, other_optimizer: bool = False
) -> Built:
    """Builds the model with its weights and optimizer state.

    Args:
      plan: the model.
      written: the module written from the plan.
      checkpoint: checkpoint of the Estimator.
      other_optimizer: accepts the state of another optimizer in the checkpoint, and leaves it out.

    Raises:
      BridgeError: the checkpoint belongs to another model or to another optimizer.
    """
    module = run_module(written.code)
    model = module.build_model()
    names: dict[str, Any] = {}
    for table in written.tables:
        name = checkpoint.find(table.names)
        variable = find_variable(model.get_layer(table.layer), table.attribute)
        value = checkpoint.get(name)
        if table.layer.endswith("_bias"):
            value = value.reshape(1, -1)
        elif (problem := shape_problem(checkpoint, name, tuple(variable.shape))) is not None:
            raise BridgeError(problem)
        variable.assign(value)
        names[name] = variable
    if plan.trees is not None:
        layer = model.get_layer(NODES)
        layer.set_weights([plan.trees.nodes])
        return Built(model, module, {NODES: layer.embeddings}, [])
    if plan.wide_optimizer is None and plan.deep_optimizer is None:
        note = "the model is not compiled; call compile() with an optimizer before fit()"
        return Built(model, module, names, [note])
    module.compile_model(model)
    notes = _restore_optimizers(plan, model, checkpoint, names, other_optimizer)
    return Built(model, module, names, notes)


def _refuse_state_of_tf1(plan: Plan, checkpoint: Checkpoint, variable: str) -> None:
    """Refuses a checkpoint of 1.x for an Estimator of TensorFlow 2.

    Its optimizer state would be left behind, and the loss would be a mean in place of a sum.

    Raises:
      BridgeError: the optimizer is one of Keras 2, but the variable has slots of tf.train.
    """
    for optimizer in (plan.wide_optimizer, plan.deep_optimizer):
        if optimizer is None or optimizer.version == 1:
            continue
        for slot in slots_of(optimizer._replace(version=1), None):
            if slot.stored in checkpoint.find_slots(variable, 1):
                raise BridgeError(
                    f"checkpoint {checkpoint.path}: the optimizer state of {variable} is that of "
                    f"TensorFlow 1.x ({slot.stored}), but the Estimator is one of TensorFlow 2: "
                    "their losses and optimizers differ; add --tf1, or build the Estimator with "
                    "tf.compat.v1.estimator"
                )


def find_variable(layer: Any, attribute: str) -> Any:
    """Returns the variable at a path below a layer.

    Args:
      layer: the layer.
      attribute: names separated by dots: kernel, cell.cells.0.bias.
    """
    found = layer
    for part in attribute.split("."):
        found = found[int(part)] if part.isdigit() else getattr(found, part)
    return found


def _restore_optimizers(
    plan: Plan, model: Any, checkpoint: Checkpoint, names: dict[str, Any], other_optimizer: bool
) -> list[str]:
    """Assigns the slot variables and step counts; returns notes on missing slots."""
    notes: list[str] = []
    model.optimizer.build(model.trainable_variables)
    optimizers = getattr(model.optimizer, "optimizers", [model.optimizer])
    slots = {variable.name: variable for one in optimizers for variable in one.variables}
    trainable = {variable.path for variable in model.trainable_variables}
    for name, variable in names.items():
        if variable.path not in trainable:
            continue
        wide = variable.path.startswith("linear_") or plan.deep_optimizer is None
        optimizer = plan.wide_optimizer if wide else plan.deep_optimizer
        if optimizer is None:
            continue
        rate = rate_at(optimizer.rate, checkpoint.step) if optimizer.kind == "momentum" else None
        described = slots_of(optimizer, rate)
        stored = checkpoint.find_slots(name, optimizer.version)
        stored = {slot: one for slot, one in stored.items() if one not in names}
        other = find_other_state(optimizer, described, stored)
        if other is not None:
            other = (
                f"{name} was trained with {other}, but the described Estimator has {optimizer.kind}"
            )
        if other is not None and not other_optimizer:
            raise BridgeError(
                f"checkpoint {checkpoint.path}: {other}; describe the Estimator with the optimizer "
                "that wrote the checkpoint, or add --other_optimizer to leave its state behind"
            )
        if other is not None:
            notes.append(f"optimizer state: {other}; it starts without state")
            continue
        for slot in described:
            found = stored.get(slot.stored)
            if found is None:
                _refuse_state_of_tf1(plan, checkpoint, name)
                notes.append(
                    f"optimizer state: the checkpoint has no {slot.stored} of {name}; "
                    "it keeps its initial value"
                )
                continue
            target = slots[f"{variable.path.replace('/', '_')}_{slot.name}"]
            target.assign(slot.convert(checkpoint.get_slot(found)).reshape(tuple(target.shape)))
    parts = [part for part in (plan.wide_optimizer, plan.deep_optimizer) if part is not None]
    # A MultiOptimizer lists the optimizer of its map (wide) before the default (deep).
    for one, part in zip(optimizers, parts):
        one.iterations.assign(int(checkpoint.get(iterations_name(part, checkpoint.names))))
    model.optimizer.iterations.assign(checkpoint.step)
    return [*notes, *filter(None, map(describe_epsilon, parts))]
