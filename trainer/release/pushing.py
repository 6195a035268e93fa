"""Pushes an export as the next version, moves labels, and removes old versions.

The state file records at most one pending push. A push that finds the pending push of another
process, whether that process still runs or not, replaces it and discards its version, unless that
version is already complete. Thus the push that started last succeeds, and no lock, clock or
heartbeat is needed.
"""

from pathlib import Path
from typing import Callable, NamedTuple, Optional

from trainer import storage
from trainer.errors import UserError
from trainer.release.state import (
    CANARY,
    LABEL_CONFIGS,
    MODELS_CONFIG,
    STABLE,
    Entry,
    Pending,
    State,
    read_state,
)

# First words of `State.unfinished`.
_PUSH, _ROLLBACK, _PROMOTION = "push", "rollback", "promotion"
# What differs in the entry of the same push that is given again; a job may have ended meanwhile.
_LATER = {"pushed", "inputs"}


class Request(NamedTuple):
    """An export to push, and how.

    Attributes:
        export: folder of the SavedModel on this machine.
        entry: what is recorded about it.
        label: label of the new version; "" for none.
        name: name of the model in TensorFlow Serving; None: the recorded name, otherwise that of
            the folder.
        base_path: path of the folder as TensorFlow Serving sees it; None: the recorded path,
            otherwise that of the folder.
        keep: number of newest versions to keep; None: all.
    """

    export: Path
    entry: Entry
    label: str = STABLE
    name: Optional[str] = None
    base_path: Optional[str] = None
    keep: Optional[int] = None


class Deployment:
    """A folder of versions that TensorFlow Serving serves.

    Args:
        place: path or gs:// address of the folder.
        option: the option that names it, for messages.
    """

    def __init__(self, place: str, option: str = "--to"):
        self._place = place.rstrip("/")
        self._folder = storage.open_versions(place, option)

    def read(self) -> State:
        """Returns the state.

        Raises:
            UserError: the state file is damaged or cannot be read.
        """
        return self._read()[0]

    def _read(self) -> tuple[State, int]:
        return read_state(self._folder, self._place)

    def list_versions(self) -> dict[int, bool]:
        """Returns the number of each version in the folder → whether it is complete."""
        return self._folder.list_versions()

    def list_lost(self) -> list[int]:
        """Returns the versions with a label whose folders others have removed."""
        state = self.read()
        return sorted({*state.labels.values()} & {*self._list_missing(state)})

    def has_lost_newest(self) -> bool:
        """Returns whether the newest version has a label and its folder has been removed."""
        return max(self.read().versions, default=None) in self.list_lost()

    def _list_missing(self, state: State) -> list[int]:
        present = self.list_versions()
        return [version for version in state.versions if not present.get(version)]

    def _write(self, state: State, generation: int) -> None:
        self._folder.write_state(state.model_dump(mode="json"), generation)

    def push(self, request: Request) -> int:
        """Pushes an export; returns the number of its version.

        If the same push was interrupted after its version was complete, that push is finished, and
        no other version is added. None is added either if the label's version, or without a label
        the newest one, has this export already.

        Args:
            request: the export.

        Raises:
            storage.Superseded: another process pushed or moved a label at the same time.
            UserError: the folder cannot be written, or its models.config is not of a push.
        """
        self._refuse_foreign()
        version = self._find_interrupted(request) or self._find_repeated(request)
        if version is not None:
            self._tidy()
            return version
        token = self._folder.stage(request.export)
        try:
            version = self._begin(token, request)
            self._folder.fill(token, version, request.export)
            self._folder.publish(token, version)
        except BaseException:
            self._folder.discard(token)
            raise
        self._complete(token, version, request.keep)
        self._tidy()
        return version

    def _refuse_foreign(self) -> None:
        """Raises UserError if models.config would replace a file that no push has written."""
        state, _ = self._read()
        if state == State() and self._folder.read_text(MODELS_CONFIG) is not None:
            raise UserError(
                f"{self._place}: contains {MODELS_CONFIG}, but no {storage.VERSIONS_STATE} of a "
                f"push; name another folder, or restore {storage.VERSIONS_STATE} from a copy"
            )

    def _find_interrupted(self, request: Request) -> Optional[int]:
        """Returns the complete version of an interrupted push of this export, and records it.

        Returns:
            The number of the version; None if there is no such push.
        """
        state = self.read()
        pending = state.pending
        if pending is not None and self.list_versions().get(pending.version):
            version, entry, label = pending.version, pending.entry, pending.label
        else:
            pending = None
            recorded = [one for one in state.versions if state.unfinished == _name_push(one)]
            if not recorded:
                return None
            version, entry = recorded[0], state.versions[recorded[0]]
            label = next((name for name, one in state.labels.items() if one == version), "")
        is_same = (
            entry.model_dump(exclude=_LATER) == request.entry.model_dump(exclude=_LATER)
            and label == request.label
            and request.name in (None, state.name)
            and request.base_path in (None, state.base_path)
        )
        if not is_same:
            return None
        if pending is not None:
            self._complete(pending.token, version, request.keep)
        return version

    def _find_repeated(self, request: Request) -> Optional[int]:
        """Returns the version that has this export already, and ends the push of another process.

        Returns:
            The number of the version; None if a version must be added.
        """
        state, generation = self._read()
        if state.find_repeated(request.entry, request.label) is None:
            return None
        before = state.model_copy(deep=True)
        self._end_pending(state)
        # The push that has been ended may have moved the label.
        version = state.find_repeated(request.entry, request.label)
        if version is None or not self.list_versions().get(version):
            return None
        self._set_names(state, request)
        if request.keep is not None:
            self._choose_removed(state, request.keep)
        if state != before:
            self._write(state, generation)
        return version

    def _begin(self, token: str, request: Request) -> int:
        """Records this push as the pending one; returns the number of its version."""
        state, generation = self._read()
        self._end_pending(state)
        self._set_names(state, request)
        known = [*self.list_versions(), *state.versions, *state.abandoned]
        version = max(known, default=0) + 1
        state.pending = Pending(
            version=version, token=token, label=request.label, entry=request.entry
        )
        self._write(state, generation)
        return version

    def _set_names(self, state: State, request: Request) -> None:
        place = self._place
        absolute = place if storage.is_remote(place) else str(Path(place).resolve())
        state.name = request.name or state.name or place.rpartition("/")[2]
        state.base_path = request.base_path or state.base_path or absolute

    def _end_pending(self, state: State) -> None:
        """Records the pending push of another process if it is complete; otherwise discards it."""
        pending, state.pending = state.pending, None
        if pending is None:
            return
        self._folder.discard(pending.token)
        if self.list_versions().get(pending.version):
            _record(state, pending)
        else:
            state.abandoned.append(pending.version)

    def _complete(self, token: str, version: int, keep: Optional[int]) -> None:
        """Records the version of this push, whose files are complete."""
        while True:
            state, generation = self._read()
            pending = state.pending
            if pending is None or pending.token != token:
                # Another push may have found the complete version and recorded it.
                if version in state.versions:
                    return
                raise storage.Superseded(
                    f"{self._place}: another process has removed version {version}"
                )
            state.pending, state.unfinished = None, _name_push(version)
            _record(state, pending)
            if keep is not None:
                self._choose_removed(state, keep)
            try:
                self._write(state, generation)
                return
            except storage.Superseded:
                continue

    def _choose_removed(self, state: State, keep: int) -> None:
        """Marks versions for removal, except the newest ones and those that a server loads.

        Versions whose folders others have removed do not count.
        """
        missing = self._list_missing(state)
        newest = sorted(state.versions.keys() - {*missing})[-keep:]
        removed = state.versions.keys() - {*newest, *state.list_served(missing)}
        for version in removed:
            del state.versions[version]
        state.removing += sorted(removed)

    def _tidy(self) -> None:
        """Writes models.config; removes old versions and the remains of interrupted pushes."""
        state = self.read()
        self._update_models_config()
        for version, complete in self.list_versions().items():
            if version in state.removing or (version in state.abandoned and not complete):
                self._folder.remove(version)
        pending = self.read().pending
        self._folder.sweep(pending.token if pending is not None else None)
        done = set(state.removing)
        if done or state.unfinished:
            # This comes last, so that an interrupted push is continued here.
            self._change(lambda changed: _forget(changed, done, state.unfinished))

    def _update_models_config(self) -> None:
        def render_all() -> str:
            state = self.read()
            return state.render(self._list_missing(state))

        self._folder.update_text(MODELS_CONFIG, render_all)
        for label, name in LABEL_CONFIGS.items():

            def render(label: str = label) -> str:
                return self.read().render_label(label)

            self._folder.update_text(name, render)

    def _change(self, change: Callable[[State], None]) -> None:
        """Changes the state; repeats this if another process changes it at the same time."""
        while True:
            state, generation = self._read()
            change(state)
            try:
                self._write(state, generation)
                return
            except storage.Superseded:
                continue

    def roll_back(self) -> str:
        """Gives the label stable back to the previous stable version; returns what was done.

        If an earlier rollback was interrupted, only that one is completed.

        Raises:
            storage.Superseded: another process changed the folder at the same time.
            UserError: no earlier stable version is left.
        """
        state, generation = self._read()
        if not state.unfinished.startswith(_ROLLBACK):
            current = state.labels.get(STABLE)
            previous = state.find_previous(self._list_missing(state))
            if current is None or previous is None:
                raise UserError(
                    f"{self._place}: no earlier stable version is left; push the export that you "
                    "want to serve"
                )
            place = len(state.stable_before) - 1 - state.stable_before[::-1].index(previous)
            del state.stable_before[place:]
            state.labels[STABLE] = previous
            state.unfinished = f"{_ROLLBACK} from version {current} to {previous}"
            self._write(state, generation)
        return self._finish(state.unfinished)

    def promote(self) -> str:
        """Gives the label stable to the canary version; returns what was done.

        Raises:
            storage.Superseded: another process changed the folder at the same time.
            UserError: there is no canary.
        """
        state, generation = self._read()
        if not state.unfinished.startswith(_PROMOTION):
            canary = state.labels.pop(CANARY, None)
            if canary is None:
                raise UserError(
                    f"{self._place}: no version has the label canary; push one with --label=canary"
                )
            state.set_label(STABLE, canary)
            state.unfinished = f"{_PROMOTION} of version {canary}"
            self._write(state, generation)
        return self._finish(state.unfinished)

    def _finish(self, change: str) -> str:
        self._update_models_config()

        self._change(lambda state: _forget(state, set(), change))
        return change


def _record(state: State, pending: Pending) -> None:
    state.versions[pending.version] = pending.entry
    state.set_label(pending.label, pending.version)


def _name_push(version: int) -> str:
    return f"{_PUSH} of version {version}"


def _forget(state: State, removed: set[int], unfinished: str) -> None:
    """Records that versions were removed and that models.config is up to date."""
    state.removing = [version for version in state.removing if version not in removed]
    state.unfinished = "" if state.unfinished == unfinished else state.unfinished
