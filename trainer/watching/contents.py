"""Recognises logs that were renamed, copied or compressed, by what they contain.

The state notes how many bytes of a log were read, without compression, and their hash. A file that
begins with these bytes is this log, whatever it is called now.
"""

import hashlib
import sys
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Optional

from trainer.errors import TemporaryError, UserError
from trainer.inputs.file_identity import find_place
from trainer.watching.reading import LogFile, open_content
from trainer.watching.state import Content, Seen, State

_BLOCK_BYTES = 1 << 20


class Beginnings(NamedTuple):
    """Hashes of the beginnings of a file.

    Attributes:
        digests: number of bytes, without compression → their hash. The largest number is that of
            the whole file. Empty if the file cannot be read.
    """

    digests: dict[int, str]

    @property
    def whole(self) -> Optional[Content]:
        """The whole file; None if it is empty or cannot be read."""
        length = max(self.digests, default=0)
        return Content(length, self.digests[length]) if length else None

    def include(self, content: Content) -> bool:
        """Returns whether the file begins with a content.

        Args:
            content: what another file contained when it was read, or this one.
        """
        return self.digests.get(content.length) == content.digest


def _hash(log: LogFile, lengths: Collection[int]) -> Beginnings:
    found: dict[int, str] = {}
    digest, done = hashlib.blake2b(digest_size=16), 0
    try:
        with open_content(log.file) as stream:
            for length in [*sorted(lengths), sys.maxsize]:
                while block := stream.read(min(_BLOCK_BYTES, length - done)):
                    digest.update(block)
                    done += len(block)
                found[done] = digest.hexdigest()
    except TemporaryError:
        raise
    except (OSError, EOFError, zlib.error, UserError):
        # Whoever reads its rows says why.
        return Beginnings({})
    return Beginnings(found)


def follow_moves(files: Sequence[LogFile], state: State) -> dict[str, Beginnings]:
    """Notes in the state where the logs are now that it knows by other paths.

    Args:
        files: all files of the log.
        state: the state.

    Returns:
        Path → beginnings of each file that is new or has changed.

    Raises:
        TemporaryError: a bucket does not respond, or another watch writes the state.
    """
    marks = {log.file.path: log.mark for log in files}
    with state.transaction():
        state.move_files(_find_renamed(marks, state.list_files()))
        known, contents = state.list_files(), state.list_contents()
    lengths = {one.length for one in contents.values()}
    changed = {
        log.file.path: _hash(log, lengths)
        for log in files
        if log.file.path not in known or known[log.file.path].mark != log.mark
    }
    with state.transaction():
        known, contents = state.list_files(), state.list_contents()
        lost = {
            path
            for path, content in contents.items()
            if path not in marks or (path in changed and not changed[path].include(content))
        }
        free = sorted(path for path in changed if path not in known or path in lost)
        moves: dict[str, tuple[str, str]] = {}
        for path in sorted(lost, key=lambda one: -contents[one].length):
            place = next((one for one in free if changed[one].include(contents[path])), None)
            if place is not None:
                free.remove(place)
                # A compressed file is smaller, but what was added to it must be read.
                moves[path] = place, "0"
        state.move_files(moves)
    return changed


def _find_renamed(
    marks: Mapping[str, str], known: Mapping[str, Seen]
) -> dict[str, tuple[str, str]]:
    """Returns path → new path and mark of logs that are recognised without reading them."""
    gone = {path: one.mark for path, one in known.items() if path not in marks}
    places = {key: path for path in gone for key in (gone[path], find_place(path))}
    moves: dict[str, tuple[str, str]] = {}
    for path in marks.keys() - known.keys():
        before = places.get(find_place(path)) or places.get(marks[path])
        if before is not None and (mark := gone.pop(before, "")):
            moves[before] = path, mark
    return moves


def find_first(path: str, before: Seen, beginnings: Beginnings, state: State) -> tuple[int, str]:
    """Returns how many records of a file were read, from this file or from a copy of it.

    Args:
        path: path of the file.
        before: how far it has been read itself.
        beginnings: hashes of its beginnings.
        state: contains what has been read.

    Returns:
        Their number, and the path of the copy; "" if none has more of them.
    """
    contents = state.list_contents()
    first, origin = before.records, ""
    for one, content in contents.items():
        if one != path and beginnings.include(content):
            seen = state.find_file(one)
            if seen is not None and seen.records > first:
                first, origin = seen.records, one
    return first, origin
