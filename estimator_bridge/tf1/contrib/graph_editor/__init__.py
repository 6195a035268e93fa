"""`tf.contrib.graph_editor`: finds, copies and connects operations of a graph."""

from estimator_bridge.tf1.contrib.graph_editor import copying as _copying
from estimator_bridge.tf1.contrib.graph_editor import lists as _lists
from estimator_bridge.tf1.contrib.graph_editor import rewiring as _rewiring
from estimator_bridge.tf1.contrib.graph_editor import selecting as _selecting
from estimator_bridge.tf1.contrib.graph_editor import views as _views
from estimator_bridge.tf1.contrib.graph_editor import walking as _walking
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

_REROUTE = "use tf.contrib.graph_editor.reroute_ts with the tensors that the views have"
_PARTS = ("inputs", "outputs", "ios")

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        **{f"{verb}_{part}": _REROUTE for verb in ("reroute", "swap") for part in _PARTS},
        "Transformer": "use tf.contrib.graph_editor.copy_with_input_replacements",
    },
    default_advice=_REROUTE,
)

for _module in (_copying, _lists, _rewiring, _selecting, _views, _walking):
    for _name in _module.__all__:
        globals()[_name] = getattr(_module, _name)
