"""pyarrow without pandas, for as long as nothing else imports pandas.

pyarrow imports pandas, where it is installed, before it makes its first scalar: 75 MiB and tenths
of a second, only to know whether it has been given something of it.
"""

import contextlib
from collections.abc import Iterator

import pyarrow as pa

from estimator_bridge.process.fast_import import hidden
from estimator_bridge.process.importing import around_import


def defer_pandas() -> None:
    """Has pyarrow know of pandas once something else has imported it, and not before.

    Its own to_pandas imports it too. Where pandas is there already nothing changes.
    """
    # No part of what pyarrow promises: one without it looks for pandas as it likes.
    known = getattr(pa.lib, "_pandas_api", None)
    with hidden("pandas") as is_hidden:
        # It looks for pandas now, and what it does not find it does not look for again ...
        pa.scalar(0)
    if known is None or not is_hidden:
        return

    @contextlib.contextmanager
    def then_look_again() -> Iterator[None]:
        yield
        # ... but where it is asked for the version.
        _ = known.loose_version

    around_import("pandas", then_look_again)
