"""Every public name of `tf.estimator`, in the v1 and the v2 view, used for real.

The names are taken from the package itself: a name without a use fails. An object that both views
share is used once, with the Estimators of v2.
"""

import functools
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


VIEWS = {"v1": tf.compat.v1.estimator, "v2": tf.estimator}
NAMES = {view: list(public_names(module)) for view, module in VIEWS.items()}


def _find(view, name):
    return functools.reduce(getattr, name.split("."), VIEWS[view])


SHARED = [n for n in NAMES["v1"] if n in NAMES["v2"] and _find("v1", n) is _find("v2", n)]


def list_uses():
    for view, names in NAMES.items():
        for name in [*names, *EXTRA]:
            if view == "v2" or name.split(", ")[0] not in SHARED:
                yield view, name


def test_the_package_has_the_names_that_it_had():
    assert (len(NAMES["v1"]), len(NAMES["v2"]), len(SHARED)) == (86, 77, 60)


# Some names have one use: a use that has passed in a view is not run again for another name.
_PASSED = set()


@pytest.mark.parametrize(("view", "name"), list(list_uses()))
def test_public_name(view, name, tmp_path):
    use = uses.USES[name]
    if (view, use) not in _PASSED:
        use(Api(view, tmp_path))
        _PASSED.add((view, use))
