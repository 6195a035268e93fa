"""Builds and runs the compiled limit (limit.cc)."""

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Fast arithmetic is fair: no other contender fixes the order of summation either.
COMPILE = ("g++", "-std=c++20", "-O3", "-march=native", "-ffast-math", "-pthread")


def build(folder: Path) -> Path:
    """Compiles the program into a folder and returns its path."""
    program = folder / "limit"
    subprocess.run([*COMPILE, "-o", str(program), str(HERE / "limit.cc")], check=True)
    return program


def write_spec(model_path: str, path: Path, header: bool) -> None:
    """Writes a model's description, see data.describe, as the lines that limit.cc reads."""
    model = json.loads(Path(model_path).read_text())
    names = [column["name"] for column in model["columns"]]
    classes = model["label"]["classes"] or ()
    lines = [
        ["hidden", *model["hidden_units"]],
        ["rates", model["learning_rate"], model["linear_learning_rate"]],
        ["label", names.index(model["label"]["column"]), int(header), *classes[1:2]],
    ]
    lines += [_describe(column) for column in model["columns"]]
    for cross in model["crosses"]:
        lines.append(["cross", cross["size"], *map(names.index, cross["columns"])])
    path.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))


def _describe(column) -> list:
    kind = column["kind"]
    if kind == "unused":
        return [kind]
    line = [kind, column["wide"], column["deep"]]
    if kind == "number":
        scaling = (int(column["log"]), column["shift"], column["scale"])
        return [*line, column["default"] or 0, *scaling, *column["buckets"]]
    return [*line, *(column["vocabulary"] if kind == "words" else [column["size"]])]


def run(program: Path, spec: Path, csv: str, source: str, batch: int, steps: int, threads: int):
    """Returns (examples a second, loss of the last batch)."""
    command = [program, spec, csv, source, batch, steps, threads]
    done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE)
    return tuple(map(float, done.stdout.split()))
