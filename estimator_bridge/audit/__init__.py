"""What a code base uses of tf.estimator, tf.contrib and TensorFlow 1, read without running it.

No TensorFlow is needed for it.

    python -m estimator_bridge audit PATH [--format=text|json|html]

The rooms, in the order of the work:

  files.py     which files matter; sources.py parses them, Python and notebooks
  scan.py      one file: imports, exports, uses; expressions.py; refs.py: what one stands for
  resolve.py   which module of the code base a name means, and what that module re-exports
  table.py     what is known of each symbol, from symbols/*.json; supplied.py: what the bridge
  itself supplies findings.py  the uses that matter verdict.py   what follows for each program, the
  work, the order report.py    the result, and JSON; text.py and html.py: for people command.py
  the command line
"""

from .report import Report, audit, to_json

__all__ = ["Report", "audit", "to_json"]
