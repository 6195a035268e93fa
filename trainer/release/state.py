"""The state of a folder of versions, and the configuration files of TensorFlow Serving for it."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Optional

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainer import storage

MODELS_CONFIG = "models.config"
STABLE, CANARY = "stable", "canary"
LABELS = (STABLE, CANARY)
# Label → configuration file for servers that load only the version with this label. They are for
# deployments that divide the traffic between servers. If no version is the canary, the canary's
# file names the stable version.
LABEL_CONFIGS = {label: f"models-{label}.config" for label in LABELS}


class Entry(BaseModel):
    """What is recorded about a version.

    Attributes:
        export: folder or gs:// address that was pushed.
        fingerprint: fingerprint of the export.
        verdict: verdict of the gate, or "none".
        reason: value of --reason.
        pushed: time of the push, UTC, ISO 8601.
        inputs: what the run that made the export was made of, as in the job's inputs.json; None if
            it is not known, or an earlier version has pushed the export.
    """

    export: str
    fingerprint: str
    verdict: str
    reason: str = ""
    pushed: str = ""
    inputs: Optional[dict[str, Any]] = None


class Pending(BaseModel):
    """The version of a push that has started.

    Attributes:
        version: its number.
        token: identifies the push; see storage.VersionFolder.
        label: the label that it will get, or "".
        entry: what is recorded about it.
    """

    version: int
    # It becomes a part of a path.
    token: str = Field(pattern=r"^[0-9a-f]{32}(@[0-9]{1,20})?$")
    label: str
    entry: Entry


class State(BaseModel):
    """The content of push.json.

    Attributes:
        name: name of the model in TensorFlow Serving.
        base_path: path of the folder as TensorFlow Serving sees it.
        labels: label → number of the version.
        stable_before: numbers of earlier stable versions, the latest last.
        versions: number → what is recorded about the version.
        pending: the push that started last, if it has not finished.
        removing: numbers of versions to be removed.
        abandoned: numbers of versions whose push started but was never completed.
        unfinished: the last change of labels, if models.config may not reflect it yet.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = ""
    base_path: str = ""
    labels: dict[str, int] = {}
    stable_before: list[int] = []
    versions: dict[int, Entry] = {}
    pending: Optional[Pending] = None
    removing: list[int] = []
    abandoned: list[int] = []
    unfinished: str = ""

    def set_label(self, label: str, version: int) -> None:
        """Moves a label to a version.

        Args:
            label: stable or canary; "" for none.
            version: the version.
        """
        before = self.labels.get(label)
        if not label or before == version:
            return
        if label == STABLE and before is not None:
            self.stable_before.append(before)
        self.labels[label] = version

    def find_previous(self, missing: Collection[int] = ()) -> Optional[int]:
        """Returns the latest earlier stable version that still exists; None if there is none.

        A version with the content of the stable one is none: a rollback to it would change nothing.

        Args:
            missing: numbers of versions whose folders others have removed.
        """
        current = self.labels.get(STABLE)
        stable = self.versions.get(current) if current is not None else None
        known = [
            one
            for one in self.stable_before
            if one in self.versions and one != current and one not in missing
            if stable is None or self.versions[one].fingerprint != stable.fingerprint
        ]
        return known[-1] if known else None

    def find_repeated(self, entry: Entry, label: str) -> Optional[int]:
        """Returns the version that a push of an export would only repeat; None if there is none.

        Args:
            entry: the export.
            label: the label that it would get; "" for none: the newest version is compared.
        """
        version = self.labels.get(label) if label else max(self.versions, default=None)
        known = self.versions.get(version) if version is not None else None
        is_same = known is not None and (known.export, known.fingerprint) == (
            entry.export,
            entry.fingerprint,
        )
        return version if is_same else None

    def list_served(self, missing: Collection[int] = ()) -> list[int]:
        """Returns the versions to load: those with a label, and the previous stable version.

        Args:
            missing: numbers of versions whose folders others have removed.
        """
        served = {*self.labels.values(), self.find_previous(missing)}
        return sorted(version for version in served if version is not None)

    def render(self, missing: Collection[int] = ()) -> str:
        """Returns the models.config of TensorFlow Serving.

        Args:
            missing: numbers of versions whose folders others have removed.
        """
        return self._render(self.labels, self.list_served(missing))

    def render_label(self, label: str) -> str:
        """Returns a TensorFlow Serving configuration with the version of one label.

        Args:
            label: stable or canary; if no version is the canary, the stable version is used.
        """
        chosen = label if label in self.labels else STABLE
        labels = {one: version for one, version in self.labels.items() if one == chosen}
        return self._render(labels, sorted(labels.values()))

    def _render(self, labels: Mapping[str, int], versions: list[int]) -> str:
        lines = ["model_config_list {"]
        # Without labels nothing is served. A server loads only the listed versions, all complete.
        if labels:
            lines += ["  config {", f"    name: {_quote(self.name)}"]
            lines += [f"    base_path: {_quote(self.base_path)}"]
            lines += ['    model_platform: "tensorflow"', "    model_version_policy {"]
            lines += ["      specific {"]
            lines += [f"        versions: {version}" for version in versions]
            lines += ["      }", "    }"]
            for label, version in sorted(labels.items()):
                lines += ["    version_labels {", f"      key: {_quote(label)}"]
                lines += [f"      value: {version}", "    }"]
            lines += ["  }"]
        return "\n".join([*lines, "}"]) + "\n"


def _quote(text: str) -> str:
    """Returns a text as a string of protobuf's text format."""
    # Older versions of protobuf for Python do not know the escapes of JSON.
    return json.dumps(text, ensure_ascii=False)


def read_state(folder: storage.VersionFolder, place: str) -> tuple[State, int]:
    """Returns the state of a folder of versions, and its generation.

    Args:
        folder: the folder.
        place: its path, for messages.

    Raises:
        UserError: the state file is damaged or cannot be read.
    """
    values, generation = folder.read_state()
    try:
        return State.model_validate(values), generation
    except ValidationError as error:
        first: Any = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        path = f"{place}/{storage.VERSIONS_STATE}"
        raise storage.describe_damage(path, f"{where}: {first['msg']}") from error
