"""The loaded versions of a model, exchanged without a gap while requests run."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.export.fingerprint import EXTRA, WARM_UP_REQUESTS
from trainer.export.serving_session import ServingSession, describe_error
from trainer.serving.failures import Code, RequestError
from trainer.serving.sources import Source, Target

# As often as TensorFlow Serving tries to load a version.
MAX_TRIES = 5
# States of a version, as in GetModelStatusResponse.
LOADING, AVAILABLE, UNLOADING, END = "LOADING", "AVAILABLE", "UNLOADING", "END"


class Servable:
    """A loaded version.

    Args:
        version: its number.
        session: runs it.

    Attributes:
        version: as given.
        session: as given.
        users: number of requests that use it now.
        is_retired: whether it gets no new requests.
    """

    def __init__(self, version: int, session: ServingSession):
        self.version = version
        self.session = session
        self.users = 0
        self.is_retired = False


class Model:
    """A model whose versions and labels follow a source.

    A new version is loaded while the others answer. Then the versions and labels are exchanged at
    once. A version that is no longer wanted is closed when its last request has ended. A version
    that cannot be loaded takes nothing away: its label stays where it was.

    Args:
        source: what is to be served.
        log: writes one line for people.

    Raises:
        UserError: the source cannot be read, or no version of it can be loaded.
    """

    def __init__(self, source: Source, log: Callable[[str], None]):
        self._source = source
        self._log = log
        self._lock = threading.Lock()
        self._servables: dict[int, Servable] = {}
        self._labels: dict[str, int] = {}
        self._states: dict[int, tuple[str, str]] = {}
        self._tries: dict[int, int] = {}
        self._last_problem = ""
        target = source.read()
        self.name = target.name
        # If nothing can be loaded, that is an error, and one line is enough.
        failures: list[str] = []
        self._log_failure = failures.append
        self._apply(target)
        self._log_failure = log
        if target.versions and not self._servables:
            raise UserError(self._states[max(target.versions)][1])
        for line in failures:
            log(line)

    def refresh(self) -> None:
        """Follows the source; whatever goes wrong, what is served stays."""
        try:
            target = self._source.read()
        except UserError as error:
            if str(error) != self._last_problem:
                self._log(f"still serving what is loaded: {error}")
            self._last_problem = str(error)
            return
        self._last_problem = ""
        self._apply(target)

    def _apply(self, target: Target) -> None:
        for version in sorted(target.versions):
            if version not in self._servables and self._tries.get(version, 0) < MAX_TRIES:
                self._load(version)
        with self._lock:
            if target.versions:
                self.name = target.name
            labels = {
                label: version if version in self._servables else self._labels.get(label)
                for label, version in target.labels.items()
            }
            before, self._labels = (
                self._labels,
                {label: version for label, version in labels.items() if version is not None},
            )
            kept = {*target.versions, *self._labels.values()}
            if target.versions and not kept & set(self._servables):
                kept = set(self._servables)
            unused = [self._servables.pop(one) for one in set(self._servables) - kept]
            for servable in unused:
                servable.is_retired = True
                self._states[servable.version] = (UNLOADING, "")
        for servable in unused:
            self._log(f"version {servable.version}: unloaded")
            self._close_if_unused(servable)
        if before != self._labels:
            shown = ", ".join(f"{label} {number}" for label, number in sorted(self._labels.items()))
            self._log(f"labels: {shown or 'none'}")

    def _load(self, version: int) -> None:
        self._states[version] = (LOADING, "")
        self._tries[version] = self._tries.get(version, 0) + 1
        try:
            folder = self._source.fetch(version)
            session = ServingSession(folder)
            try:
                _warm_up(session, folder)
            except BaseException:
                session.close()
                raise
        except (UserError, tf.errors.OpError, OSError, ValueError, TypeError) as error:
            text = describe_error(error) if isinstance(error, tf.errors.OpError) else str(error)
            self._states[version] = (END, f"version {version}: {' '.join(text.split())}")
            tried = self._tries[version]
            self._log_failure(f"version {version}: not loaded (try {tried}): {text}")
            return
        with self._lock:
            self._tries.pop(version)
            self._servables[version] = Servable(version, session)
            self._states[version] = (AVAILABLE, "")
        self._log(f"version {version}: loaded from {folder}")

    def _close_if_unused(self, servable: Servable) -> None:
        with self._lock:
            if not servable.is_retired or servable.users:
                return
            self._states[servable.version] = (END, "")
        servable.session.close()

    @contextmanager
    def use(self, spec: Any) -> Iterator[Servable]:
        """Chooses a loaded version, which stays loaded while the `with` statement runs.

        Args:
            spec: a ModelSpec: the name, and a version or label; without both, the newest version.

        Yields:
            The version.

        Raises:
            RequestError: there is no such model, version or label.
        """
        with self._lock:
            servable = self._find(spec)
            servable.users += 1
        try:
            yield servable
        finally:
            with self._lock:
                servable.users -= 1
            self._close_if_unused(servable)

    def _find(self, spec: Any) -> Servable:
        self.check_name(spec.name)
        choice = spec.WhichOneof("version_choice")
        version: Optional[int] = max(self._servables, default=None)
        if choice == "version_label":
            version = self._labels.get(spec.version_label)
            if version is None:
                raise RequestError(
                    Code.NOT_FOUND, f"no label {spec.version_label!r} of {self.name}"
                )
        elif choice == "version":
            version = spec.version.value
        if version is None or version not in self._servables:
            named = "" if version is None else f" {version}"
            raise RequestError(Code.NOT_FOUND, f"no loaded version{named} of {self.name}")
        return self._servables[version]

    def check_name(self, name: str) -> None:
        """Raises RequestError if this is not the name of the model.

        Args:
            name: of a request.
        """
        if name != self.name:
            raise RequestError(Code.NOT_FOUND, f"no model {name!r}; {self.name!r} is served")

    def list_states(self, spec: Any) -> list[tuple[int, str, str]]:
        """Returns (version, state, error message) of the versions, the newest first.

        Args:
            spec: a ModelSpec: the name, and the version or label if only one is wanted.

        Raises:
            RequestError: there is no such model, version or label.
        """
        choice = spec.WhichOneof("version_choice")
        with self._lock:
            self.check_name(spec.name)
            states = dict(self._states)
            if choice == "version_label":
                version = self._find(spec).version
                states = {version: states[version]}
        if choice == "version":
            if spec.version.value not in states:
                raise RequestError(
                    Code.NOT_FOUND, f"no version {spec.version.value} of {spec.name}"
                )
            states = {spec.version.value: states[spec.version.value]}
        return [(version, *states[version]) for version in sorted(states, reverse=True)]

    def close(self) -> None:
        """Frees the memory of all versions."""
        for servable in self._servables.values():
            servable.session.close()


def read_warm_up(folder: str) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Returns signature and inputs of the requests that an export contains for warming up.

    Args:
        folder: of the export.

    Raises:
        UserError: the file of the requests is damaged.
    """
    path = Path(folder, EXTRA, WARM_UP_REQUESTS)
    if not path.is_file():
        return []
    from google.protobuf.message import DecodeError
    from tensorflow_serving.apis import prediction_log_pb2

    found = []
    try:
        for record in tf.compat.v1.io.tf_record_iterator(str(path)):
            request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
            inputs = {each: tf.make_ndarray(one) for each, one in request.inputs.items()}
            found.append((request.model_spec.signature_name, inputs))
    except (DecodeError, tf.errors.DataLossError, TypeError, ValueError) as error:
        raise UserError(f"{path}: damaged; copy the whole export again, or export anew") from error
    return found


def _warm_up(session: ServingSession, folder: str) -> None:
    """Sends the requests that the export contains for this purpose, as TensorFlow Serving does."""
    for name, inputs in read_warm_up(folder):
        if name in session.signatures:
            unknown = inputs.keys() - session.signatures[name].inputs.keys()
            if unknown:
                raise UserError(f"warm-up requests: no input {min(unknown)!r} of {name}")
            session.run(name, inputs)
