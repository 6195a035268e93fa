"""The state of a folder of versions, and the configuration of TensorFlow Serving made from it."""

import json
from collections.abc import Mapping
from typing import Any, Optional

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainer import storage
from trainer.errors import UserError

MODELS_CONFIG = "models.config"
STABLE, CANARY = "stable", "canary"
LABELS = (STABLE, CANARY)
# Label → the configuration of servers that load only its version, where the traffic is divided
# between servers. Without a canary, the stable version takes its place.
LABEL_CONFIGS = {label: f"models-{label}.config" for label in LABELS}


class Entry(BaseModel):
    """What is known of a version.

    Attributes:
        export: folder or gs:// address that was pushed.
        fingerprint: of the export.
        verdict: of the gate, or "none".
        reason: why it was pushed, where somebody said so.
        pushed: time in UTC, ISO 8601.
    """

    export: str
    fingerprint: str
    verdict: str
    reason: str = ""
    pushed: str = ""


class Pending(BaseModel):
    """A version that a push has begun.

    Attributes:
        version: its number.
        token: of the version that was begun; see storage.VersionFolder.
        label: label that it gets, or "".
        entry: what is known of it.
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
        labels: label → version.
        stable_before: versions that were stable before, the latest last.
        versions: number → what is known of it.
        pending: the push that has begun last and has not ended.
        removing: versions to be removed.
        abandoned: numbers of versions that were begun and never completed.
        unfinished: change of labels after which models.config may not be written yet.
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

    def find_previous(self) -> Optional[int]:
        """Returns the newest version that was stable before and is still there."""
        current = self.labels.get(STABLE)
        known = [one for one in self.stable_before if one in self.versions and one != current]
        return known[-1] if known else None

    def list_served(self) -> list[int]:
        """Returns the versions that a server loads: those with a label, and the one before."""
        served = {*self.labels.values(), self.find_previous()}
        return sorted(version for version in served if version is not None)

    def render(self) -> str:
        """Returns the models.config of TensorFlow Serving."""
        return self._render(self.labels, self.list_served())

    def render_label(self, label: str) -> str:
        """Returns a configuration of TensorFlow Serving with the version of one label.

        Args:
            label: stable or canary; without a canary, the stable version takes its place.
        """
        chosen = label if label in self.labels else STABLE
        labels = {one: version for one, version in self.labels.items() if one == chosen}
        return self._render(labels, sorted(labels.values()))

    def _render(self, labels: Mapping[str, int], versions: list[int]) -> str:
        lines = ["model_config_list {"]
        # Without a label nothing is served: the server loads complete versions only by number.
        if labels:
            lines += ["  config {", f"    name: {json.dumps(self.name)}"]
            lines += [f"    base_path: {json.dumps(self.base_path)}"]
            lines += ['    model_platform: "tensorflow"', "    model_version_policy {"]
            lines += ["      specific {"]
            lines += [f"        versions: {version}" for version in versions]
            lines += ["      }", "    }"]
            for label, version in sorted(labels.items()):
                lines += ["    version_labels {", f"      key: {json.dumps(label)}"]
                lines += [f"      value: {version}", "    }"]
            lines += ["  }"]
        return "\n".join([*lines, "}"]) + "\n"


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
        raise UserError(
            f"{place}/push.json: damaged ({where}: {first['msg']}); restore the file from a copy"
        ) from error
