"""Writes a file of encoded rows, in a process of an engine."""

import threading
import uuid
from collections.abc import Sequence
from pathlib import Path

from trainer import storage
from trainer.errors import UserError
from trainer.features.encoding import build_encoding
from trainer.features.numpy_encoder import Encoder
from trainer.inputs.cache_entry import Part, PartWriter
from trainer.inputs.dataset import RowSource
from trainer.inputs.encoded import encode_files
from trainer.inputs.file_identity import checksum_code
from trainer.inputs.records import ROWS, Records
from trainer.inputs.shuffle import FILE
from trainer.passes.contract import Piece
from trainer.training.recipe import Recipe

# Folder of the rows → encoder: each process builds it once.
_encoders: dict[str, Encoder] = {}
_lock = threading.Lock()


def identify_encoding(encoder: Encoder) -> str:
    """Returns text that differs between processes that encode the same rows differently.

    Args:
        encoder: of this process.
    """
    return f"{encoder.fingerprint} {checksum_code()}"


def write_rows(recipe: Recipe, pieces: Sequence[Piece], folder: str, fingerprint: str) -> Part:
    """Writes the encoded rows of some files into one file.

    Args:
        recipe: what the rows depend on.
        pieces: the files, or a share of one.
        folder: where the file is written, on this machine or gs://.
        fingerprint: returned by identify_encoding in the process that reads the rows.

    Raises:
        UserError: a file cannot be read, the folder cannot be written, or this process would
            encode the rows otherwise.
    """
    encoder = _open_encoder(recipe, folder)
    if identify_encoding(encoder) != fingerprint:
        raise UserError(
            "--engine: a worker would encode the rows otherwise; install the same version of this "
            "package and of TensorFlow there"
        )
    files = [piece.file for piece in pieces]
    source = RowSource(files, recipe.schema, recipe.data, recipe.defaults, 0)
    layout = Records(encoder.encoding, recipe.schema)
    with storage.open_copies(storage.current_settings()) as copies:
        local = copies.open_output(folder, "data.cache", is_file=False)
        # A task may run twice, at the same time too: each time has a file of its own.
        path = Path(local, f"rows-{pieces[0].order:012x}-{uuid.uuid4().hex[:8]}")
        try:
            writer = PartWriter(path)
            try:
                for chunk in encode_files(source, encoder, layout, range(len(files))):
                    writer.add(pieces[chunk[FILE][0]].number, chunk[ROWS])
                part = writer.finish()
            finally:
                writer.close()
        except OSError as error:
            raise UserError(
                f"data.cache: a worker cannot write {folder}: {error.strerror}; name a folder that "
                "all workers can reach, or gs://"
            ) from error
        copies.store_output(path)
    return part


def _open_encoder(recipe: Recipe, folder: str) -> Encoder:
    with _lock:
        if folder not in _encoders:
            _encoders[folder] = Encoder(build_encoding(recipe.schema, recipe.statistics))
        return _encoders[folder]
