"""Keeps pyarrow from importing pandas before something else does.

pyarrow imports an installed pandas before it makes its first scalar, which takes 75 MiB and tenths
of a second, only to recognise pandas objects.
"""

import contextlib
from collections.abc import Iterator

import pyarrow as pa

from estimator_bridge.process.fast_import import block_import
from estimator_bridge.process.importing import around_import


def defer_pandas() -> None:
    """Makes pyarrow look for pandas only once something else imports it.

    pyarrow's own to_pandas imports pandas as well. Nothing changes if pandas is loaded already.
    """
    # Private: a pyarrow without this attribute looks for pandas as it always does.
    api = getattr(pa.lib, "_pandas_api", None)
    with block_import("pandas") as is_blocked:
        # The first scalar makes pyarrow look for pandas; what it does not find it does not look
        # for again ...
        pa.scalar(0)
    if api is None or not is_blocked:
        return

    @contextlib.contextmanager
    def look_again_afterwards() -> Iterator[None]:
        yield
        # ... except when the version is read.
        _ = api.loose_version

    around_import("pandas", look_again_afterwards)
