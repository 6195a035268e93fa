"""Records the fields of the Kubernetes types that the rendered manifests use.

    pip install kubeflow-trainer-api==2.3.0
    python tools/record_kubernetes_schemas.py

The package contains the types of Kubernetes, JobSet and Kubeflow Trainer, which are generated from
their published OpenAPI schemas. tests/trainer/kubernetes/schemas.json lists the fields of each type
and the kind of each field. A kind is a type, list:KIND or map:KIND; it ends with ! if the field is
required.
"""

import inspect
import json
import typing
from pathlib import Path
from typing import Any

ROOTS = ("JobsetV1alpha2JobSet", "TrainerV1alpha1TrainJob", "TrainerV1alpha1TrainingRuntime")
# What no manifest sets.
UNUSED = ("managedFields",)
OUTPUT = Path(__file__).parents[1] / "tests" / "trainer" / "kubernetes" / "schemas.json"


def _describe(annotation: Any) -> str:
    """Returns the kind of a type annotation."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union:
        return _describe(next(one for one in arguments if one is not type(None)))
    if origin is typing.Annotated:
        return _describe(arguments[0])
    if origin is list:
        return f"list:{_describe(arguments[0])}"
    if origin is dict:
        return f"map:{_describe(arguments[1])}"
    return str(getattr(annotation, "__name__", annotation))


def main() -> None:
    """Writes the file."""
    from kubeflow_trainer_api import models

    types: dict[str, dict[str, str]] = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        found = getattr(models, name, None)
        if name in types or not inspect.isclass(found):
            continue
        types[name] = {}
        if "one_of_schemas" in found.model_fields:
            # A quantity, or a number or text.
            continue
        for field, described in found.model_fields.items():
            key = described.alias or field
            kind = _describe(described.annotation)
            if key in UNUSED or kind.endswith("Status"):
                continue
            types[name][key] = kind + "!" * described.is_required()
            waiting.append(kind.rpartition(":")[2])
    lines = [f"{json.dumps(name)}: {json.dumps(types[name])}" for name in sorted(types)]
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
