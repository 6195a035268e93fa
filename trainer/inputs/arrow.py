"""Prevents pyarrow from importing pandas before other code imports it.

Before pyarrow creates its first scalar, it imports pandas if pandas is installed. The import only
serves to recognise pandas objects, but needs 75 MiB and some tenths of a second.
"""

import contextlib
from collections.abc import Iterator

import pyarrow as pa

from estimator_bridge.process.fast_import import block_import
from estimator_bridge.process.importing import around_import


def defer_pandas() -> None:
    """Makes pyarrow search for pandas only after other code has imported it.

    pyarrow's to_pandas counts as other code: it imports pandas itself. Nothing changes if pandas
    has been imported already.
    """
    # A private attribute. Without it, pyarrow searches for pandas as usual.
    api = getattr(pa.lib, "_pandas_api", None)
    with block_import("pandas") as is_blocked:
        # The first scalar makes pyarrow search for pandas. If it finds none, it does not search
        # again until its version is read (below).
        pa.scalar(0)
    if api is None or not is_blocked:
        return

    @contextlib.contextmanager
    def look_again_afterwards() -> Iterator[None]:
        yield
        # Reading the version makes pyarrow search for pandas again.
        _ = api.loose_version

    around_import("pandas", look_again_afterwards)
