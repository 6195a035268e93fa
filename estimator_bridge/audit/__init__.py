"""Finds the uses of tf.estimator, tf.contrib and TensorFlow 1 in a code base without running it.

The audit does not need TensorFlow.

    python -m estimator_bridge audit PATH [--format=text|json|html]

The modules, in the order in which they run:

  files.py        chooses the files to parse; sources.py finds and parses scripts and notebooks
  scan.py         reads one file: imports, exports, uses (with expressions.py and refs.py;
                  outdated.py: Python 2; pipelines.py: slow input)
  resolve.py      finds the module of the code base that defines a name; follows re-exports
  table.py        looks symbols up in symbols/*.json (private.py: private modules; supplied.py: what
                  the bridge supplies)
  findings.py     lists the uses of known symbols
  obstacles.py    finds what in the files themselves prevents a program from running
  verdict.py      computes the verdict of each program, the effort and the order of a migration
  report.py       collects the result and renders JSON; text.py and html.py render it for people
  command.py      the command line
"""

from .report import Report, audit, to_json

__all__ = ["Report", "audit", "to_json"]
