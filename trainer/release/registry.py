"""Registers the versions of a served model with the Vertex AI model registry.

Versions of the folder that are missing in the registry are uploaded, and the labels become aliases
of the versions. An interrupted registration is therefore completed by the next one.
"""

from typing import Any, Callable, NamedTuple, Optional

from trainer import storage
from trainer.errors import UserError
from trainer.release.state import LABELS, STABLE, State
from trainer.vertex.connection import Connection, to_message
from trainer.vertex.request import IMAGE, LOCATION, MODEL_ID

# Maximum number of characters of a description.
_MAX_DESCRIPTION = 1000
# If a request names no version, the service uses the one with this alias. It cannot be removed.
_DEFAULT = "default"


class Registered(NamedTuple):
    """A version in the registry.

    Attributes:
        version: its number in the registry.
        artifact: gs:// folder of the export.
        aliases: its aliases.
    """

    version: str
    artifact: str
    aliases: frozenset[str]


class Options(NamedTuple):
    """Where versions are registered.

    Attributes:
        location: projects/PROJECT/locations/REGION.
        image: container image that serves them.
        endpoint: host:port of the service; None: the public endpoint of the region.
    """

    location: str
    image: str
    endpoint: Optional[str] = None


class Registry:
    """The versions of one model in the registry of the service.

    Args:
        options: location and endpoint of the registry.
        model_id: last part of the model's name.

    Raises:
        UserError: the client library or the credentials are missing.
    """

    def __init__(self, options: Options, model_id: str):
        match = LOCATION.fullmatch(options.location)
        assert match is not None
        connected = Connection(
            "ModelServiceClient", match["project"], match["region"], options.endpoint
        )
        self._connection, self._client = connected, connected.client
        self._model_id = model_id
        self._name = f"{options.location}/models/{model_id}"

    def list_versions(self) -> list[Registered]:
        """Returns the versions; an empty list if the model does not exist."""
        from google.api_core import exceptions

        try:
            found = self._connection.call(self._client.list_model_versions, name=self._name)
        except UserError as error:
            if isinstance(error.__cause__, exceptions.NotFound):
                return []
            raise
        return [
            Registered(one.version_id, one.artifact_uri.rstrip("/"), frozenset(one.version_aliases))
            for one in found
        ]

    def upload(self, model: Any, is_first: bool) -> str:
        """Uploads a version; returns its number in the registry.

        Args:
            model: the Model message.
            is_first: whether the model does not exist yet.
        """
        place = {"model_id": self._model_id} if is_first else {"parent_model": self._name}
        operation = self._connection.call(
            self._client.upload_model, parent=self._connection.parent, model=model, **place
        )
        return str(self._connection.wait(operation).model_version_id)

    def merge_aliases(self, version: str, aliases: list[str]) -> None:
        """Adds aliases to a version, and removes aliases from it.

        Args:
            version: its number in the registry.
            aliases: the aliases; those that begin with - are removed.
        """
        self._connection.call(
            self._client.merge_version_aliases,
            name=f"{self._name}@{version}",
            version_aliases=aliases,
        )


class Rehearsal:
    """A stand-in for an empty registry, which sends nothing."""

    def __init__(self) -> None:
        self._count = 0

    def list_versions(self) -> list[Registered]:
        """Returns an empty list."""
        return []

    def upload(self, model: Any, is_first: bool) -> str:
        """Returns the number that an empty registry would give.

        Args:
            model: the Model message.
            is_first: whether the model does not exist yet.
        """
        self._count += 1
        return str(self._count)

    def merge_aliases(self, version: str, aliases: list[str]) -> None:
        """Does nothing.

        Args:
            version: its number in the registry.
            aliases: the aliases.
        """


def name_model(state: State) -> str:
    """Returns the last part of the model's name in the registry.

    Args:
        state: state of the folder.

    Raises:
        UserError: the registry does not allow the name of the model.
    """
    if not MODEL_ID.fullmatch(state.name):
        raise UserError(
            f"--name: the registry does not allow the name {state.name!r}; push with a --name of "
            "lower-case letters, digits, - and _, at most 63, a letter first"
        )
    return state.name


def name_alias(version: int) -> str:
    """Returns the permanent alias of a pushed version in the registry.

    Args:
        version: its number in the folder.
    """
    return f"push-{version}"


def register(
    place: str,
    state: State,
    options: Options,
    log: Callable[[str], None],
    rehearse: bool = False,
) -> None:
    """Uploads the missing versions of a folder to the registry, and sets their aliases.

    Args:
        place: gs:// address of the folder.
        state: state of the folder.
        options: where versions are registered.
        log: is called with one line for each change.
        rehearse: whether to send nothing, and to assume an empty registry.

    Raises:
        UserError: an option is invalid, or the service rejects a request.
    """
    check(place, options)
    model_id = name_model(state)
    registry: Any = Registry(options, model_id) if not rehearse else Rehearsal()

    def say(line: str) -> None:
        log(f"rehearsal: {line}" if rehearse else line)

    known = {one.artifact: one for one in registry.list_versions()}
    for number, entry in sorted(state.versions.items()):
        artifact = f"{place.rstrip('/')}/{number}"
        if artifact in known:
            continue
        reason = f": {entry.reason}" if entry.reason else ""
        model = {
            "displayName": model_id,
            "artifactUri": artifact,
            "containerSpec": {"imageUri": options.image},
            "versionAliases": [name_alias(number)],
            "versionDescription": f"{entry.verdict}{reason}"[:_MAX_DESCRIPTION],
        }
        version = registry.upload(to_message("Model", model), is_first=not known)
        aliases = {name_alias(number), *([] if known else [_DEFAULT])}
        known[artifact] = Registered(version, artifact, frozenset(aliases))
        say(f"{options.location}/models/{model_id}@{version}: uploaded {artifact}")
    _move_aliases(place, state, list(known.values()), registry, say)


def _move_aliases(
    place: str,
    state: State,
    known: list[Registered],
    registry: Any,
    log: Callable[[str], None],
) -> None:
    for label in LABELS:
        number = state.labels.get(label)
        wanted = f"{place.rstrip('/')}/{number}"
        names = [label, _DEFAULT] if label == STABLE else [label]
        for one in known:
            if label in one.aliases and one.artifact != wanted:
                registry.merge_aliases(one.version, [f"-{label}"])
                log(f"{one.artifact}: is no longer {label}")
        for one in known:
            missing = [name for name in names if name not in one.aliases]
            if one.artifact == wanted and missing:
                registry.merge_aliases(one.version, missing)
                log(f"{one.artifact}: is {' and '.join(missing)}")


def check(place: str, options: Options) -> None:
    """Checks the options of a registration.

    Args:
        place: the folder of versions.
        options: the options.

    Raises:
        UserError: an option is invalid.
    """
    if not LOCATION.fullmatch(options.location):
        raise UserError(f"--register={options.location}: write projects/PROJECT/locations/REGION")
    if not storage.is_remote(place):
        raise UserError(f"--to={place}: the registry reads only buckets; push to a gs:// address")
    if not IMAGE.fullmatch(options.image or ""):
        given = f"={options.image}:" if options.image else ": not given;"
        raise UserError(
            f"--serving_image{given} write the image that serves the model, such as "
            "us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-15:latest"
        )
