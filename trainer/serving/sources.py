"""What is to be served: one export, or the versions and labels of a folder."""

from pathlib import Path
from typing import NamedTuple, Optional, Protocol

from trainer import storage
from trainer.errors import UserError
from trainer.release.state import MODELS_CONFIG

# The names that TensorFlow Serving uses without a configuration.
DEFAULT_NAME, DEFAULT_VERSION = "default", 1


class Target(NamedTuple):
    """What is to be served.

    Attributes:
        name: of the model.
        versions: their numbers.
        labels: label → version.
    """

    name: str
    versions: frozenset[int]
    labels: dict[str, int]


class Source(Protocol):
    """A place with one or more versions of a model."""

    def read(self) -> Target:
        """Returns what is to be served now.

        Raises:
            UserError: the place cannot be read.
        """

    def fetch(self, version: int) -> str:
        """Returns the local folder of a version.

        Args:
            version: its number.

        Raises:
            UserError: it cannot be read.
        """

    def describe_real_server(self) -> str:
        """Returns the command that serves the same with TensorFlow Serving."""


class ExportSource:
    """One export; its version is the name of its folder if that is a number.

    Args:
        export: its folder on this machine.
        name: of the model; None: "default".
    """

    def __init__(self, export: str, name: Optional[str]):
        self._export = Path(export).resolve()
        self._name = name or DEFAULT_NAME
        folder = self._export.name
        self._version = int(folder) if folder.isdecimal() else DEFAULT_VERSION

    def read(self) -> Target:
        """See Source."""
        return Target(self._name, frozenset({self._version}), {})

    def fetch(self, version: int) -> str:
        """See Source."""
        return str(self._export)

    def describe_real_server(self) -> str:
        """See Source."""
        base = self._export.parent if self._export.name.isdecimal() else "FOLDER_OF_VERSIONS"
        return f"tensorflow_model_server --model_name={self._name} --model_base_path={base}"


class FolderSource:
    """A folder of versions that `trainer.push` has filled, or of any exports with numbers as names.

    If the folder contains models.config, it determines the versions, the labels and the name.
    Otherwise the newest complete version is served.

    Args:
        place: the folder, on this machine or gs://.
        name: of the model; None: that of models.config, else the name of the folder.
        copies: fetches remote versions.
    """

    def __init__(self, place: str, name: Optional[str], copies: storage.Copies):
        self._place = place.rstrip("/")
        self._name = name
        self._copies = copies
        self._folder = storage.open_versions(self._place, "FOLDER")

    def read(self) -> Target:
        """See Source."""
        text = self._folder.read_text(MODELS_CONFIG)
        if text is not None:
            return self._parse(text)
        complete = [version for version, whole in self._folder.list_versions().items() if whole]
        if not complete:
            raise UserError(
                f"{self._place}: neither an export (saved_model.pb), nor versions of a model; name "
                "an export, or a folder of trainer.push"
            )
        name = self._name or self._place.rpartition("/")[2] or DEFAULT_NAME
        return Target(name, frozenset({max(complete)}), {})

    def _parse(self, text: str) -> Target:
        from google.protobuf import text_format
        from tensorflow_serving.config import model_server_config_pb2

        try:
            parsed = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
        except text_format.ParseError as error:
            raise UserError(f"{self._place}/{MODELS_CONFIG}: damaged: {error}") from error
        found = parsed.model_config_list.config
        if not parsed.HasField("model_config_list"):
            raise UserError(f"{self._place}/{MODELS_CONFIG}: damaged: no model_config_list")
        if not found:
            return Target(self._name or DEFAULT_NAME, frozenset(), {})
        model = found[0]
        versions = frozenset(model.model_version_policy.specific.versions)
        if not versions:
            raise UserError(
                f"{self._place}/{MODELS_CONFIG}: no specific versions in model_version_policy; "
                "list them, or remove the file: then the newest version is served"
            )
        return Target(self._name or model.name, versions, dict(model.version_labels))

    def fetch(self, version: int) -> str:
        """See Source."""
        return self._copies.fetch(f"{self._place}/{version}", "FOLDER")

    def describe_real_server(self) -> str:
        """See Source."""
        if self._folder.read_text(MODELS_CONFIG) is None:
            name = self.read().name
            return f"tensorflow_model_server --model_name={name} --model_base_path={self._place}"
        return (
            f"tensorflow_model_server --model_config_file={self._place}/{MODELS_CONFIG} "
            "--model_config_file_poll_wait_seconds=10 "
            "--allow_version_labels_for_unavailable_models"
        )


def open_source(place: str, name: Optional[str], copies: storage.Copies) -> Source:
    """Opens what the user named.

    Args:
        place: an export or a folder of versions, on this machine or gs://.
        name: of the model; None: the default of the place.
        copies: fetches remote files.

    Raises:
        UserError: there is nothing to serve.
    """
    if storage.is_remote(place):
        if storage.GRAPH in copies.list_names(place, "EXPORT"):
            return ExportSource(copies.fetch(place, "EXPORT"), name)
    elif not Path(place).is_dir():
        raise UserError(f"{place}: no such folder; name an export or a folder of trainer.push")
    elif Path(place, storage.GRAPH).is_file():
        return ExportSource(place, name)
    return FolderSource(place, name, copies)
