"""One use of each public name of `tf.estimator`: name -> function(api).

A use runs real code: it builds sessions, trains, writes and reads files, and asserts the results.
`api` selects the view (v1 or v2) that has the name.
"""

import importlib

_TOPICS = ("canned", "experimental", "exporters", "heads", "hooks", "specs", "tpu")

USES = {}
for _topic in _TOPICS:
    _module = importlib.import_module(f".{_topic}", __name__)
    USES.update(_module.USES)
