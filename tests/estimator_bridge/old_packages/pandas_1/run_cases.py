"""Runs the cases of a file and prints what they return, as JSON: with pandas 1.1.5, or bridged.

    PYTHON_OF_1.1.5 run_cases.py values_cases.py > native/values_cases.json
    python run_cases.py values_cases.py --bridge

A case is a function `case_...` without arguments. It runs on Python 3.7 too.
"""

import json
import runpy
import sys
import warnings


def describe(value):
    """Returns values, types and labels of what a case returned, for JSON."""
    import numpy as np
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        columns = [describe(value.iloc[:, number]) for number in range(value.shape[1])]
        return {
            "columns": describe(list(value.columns)),
            "index": describe(list(value.index)),
            "of each": [{"type": one["type"], "values": one["values"]} for one in columns],
        }
    if isinstance(value, pd.Series):
        return {
            "name": describe(value.name),
            "index": describe(list(value.index)),
            "type": str(value.dtype),
            "values": describe(value.tolist()),
        }
    if isinstance(value, pd.Index):
        return {"type": str(value.dtype), "values": describe(value.tolist())}
    if isinstance(value, np.ndarray):
        return {"type": str(value.dtype), "values": describe(value.tolist())}
    if isinstance(value, (list, tuple)):
        return [describe(one) for one in value]
    if isinstance(value, dict):
        return {str(key): describe(one) for key, one in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return "NaN"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def run(case):
    """Returns the description of what a case returns, or of the error that it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return describe(case())
    except Exception as error:
        return {"error": type(error).__name__}


def main(path, bridge=False):
    """Prints the descriptions of all cases of a file."""
    if bridge:
        from estimator_bridge import old_packages

        old_packages.install()
    cases = runpy.run_path(path)
    found = {
        name[len("case_") :]: run(case) for name, case in cases.items() if name.startswith("case_")
    }
    print(json.dumps(found, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(sys.argv[1], "--bridge" in sys.argv)
