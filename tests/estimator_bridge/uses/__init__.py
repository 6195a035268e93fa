"""One real use of each public name of `tf.estimator`: name -> function(api).

A use builds sessions, trains, writes and reads files; it asserts what the name promises. `api` says
in which view (v1 or v2) the name was found.
"""

import importlib

_TOPICS = ("canned", "experimental", "exporters", "heads", "hooks", "specs", "tpu")

USES = {}
for _topic in _TOPICS:
    _module = importlib.import_module(f".{_topic}", __name__)
    USES.update(_module.USES)
