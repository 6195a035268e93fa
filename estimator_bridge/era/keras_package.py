"""`import keras` gives Keras 2, as it did beside TensorFlow 2.0 to 2.15."""

import sys

from .. import versions
from ..errors import BridgeError
from ..process.importing import ModuleSupplier
from ..shims import keras2

__all__ = ["find", "supply"]


def find(tensorflow: tuple[int, ...]) -> str:
    """Returns the package that `tf.keras` comes from: 'keras' or 'tf_keras'.

    Args:
      tensorflow: the installed version.
    """
    if tensorflow < versions.ESTIMATOR_REMOVED_IN and not keras2.is_asked_for():
        return "keras"
    return "tf_keras"


def supply(package: str) -> None:
    """Makes `import keras` import another package.

    Args:
      package: the package with Keras 2.

    Raises:
      BridgeError: `keras` has been imported already.
    """
    if package != "keras" and "keras" in sys.modules:
        raise BridgeError(
            "keras was imported before estimator_bridge was installed, and is another Keras in "
            "this process than tf.keras. Call estimator_bridge.install(as_version=...) in the "
            "program's first lines, or start it with `python -m estimator_bridge run --as=VERSION`"
        )
    supplier = ModuleSupplier()
    # The private folder of the optimizers, until Keras 2.10.
    supplier.supply_tree("keras.optimizer_v2", f"{package}.src.optimizers.legacy")
    supplier.supply_tree("keras.optimizers.optimizer_v2", f"{package}.src.optimizers.legacy")
    if package != "keras":
        supplier.supply_tree("keras", package)
    sys.meta_path.insert(0, supplier)
