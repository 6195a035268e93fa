"""Every public name of `tf.estimator`, in the v1 and the v2 view, used for real.

The names are taken from the package itself: a name without a use fails.
"""

import importlib.util
import sys
import types
from pathlib import Path

import pytest

import estimator_bridge
from estimator_bridge import tf

pytestmark = [pytest.mark.versions, pytest.mark.newest]

estimator_bridge.set_verbosity("error")

# The test folders are no packages, and the uses import each other.
_FOLDER = Path(__file__).parent / "uses"
_SPEC = importlib.util.spec_from_file_location(
    "estimator_uses", _FOLDER / "__init__.py", submodule_search_locations=[str(_FOLDER)]
)
uses = importlib.util.module_from_spec(_SPEC)
sys.modules["estimator_uses"] = uses
_SPEC.loader.exec_module(uses)
Api = sys.modules["estimator_uses.api"].Api

# Uses that are no names: another use of the name before the comma.
EXTRA = [name for name in uses.USES if ", " in name]


def public_names(module, prefix=""):
    """Yields the dotted names below a module of the package, its public modules' included."""
    for name in sorted(dir(module)):
        if name.startswith("_"):
            continue
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            if value.__name__.startswith("tensorflow_estimator."):
                yield from public_names(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def all_names():
    found = {
        "v1": list(public_names(tf.compat.v1.estimator)),
        "v2": list(public_names(tf.estimator)),
    }
    return [(view, name) for view, names in found.items() for name in [*names, *EXTRA]]


def test_the_package_has_the_names_that_it_had():
    views = [view for view, name in all_names() if name not in EXTRA]
    assert (views.count("v1"), views.count("v2")) == (83, 74)


@pytest.mark.parametrize(("view", "name"), all_names())
def test_public_name(view, name, tmp_path):
    uses.USES[name](Api(view, tmp_path))
