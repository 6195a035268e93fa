"""Predicts with rows that are encoded outside of the export's graph.

The graph of an export of the fused engine computes ids and numbers from raw values row by row, and
each text is copied several times. The encoder of training computes the same ids and numbers from
the distinct values of many rows, in half the time.
"""

from collections.abc import Mapping
from typing import Optional

import numpy as np

from trainer.features.encoding import ENCODED, IDS, NUMBERS, build_encoding, unsupported_reason
from trainer.features.numpy_encoder import Encoder
from trainer.inputs.shuffle import Chunk
from trainer.prediction.description import ExportDescription
from trainer.prediction.predictor import Predictor


class EncodedInputs:
    """Encodes rows for the tensors of a graph that contain encoded rows.

    Args:
        encoder: encodes the rows.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def encode(self, chunk: Chunk, words: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns name of a tensor → its values for some rows.

        Args:
            chunk: column → values [rows]; of a text column, indices into its words.
            words: text column → distinct values.
        """
        ids, numbers = self._encoder.encode(chunk, words)
        return {f"{ENCODED}{IDS}:0": ids, f"{ENCODED}{NUMBERS}:0": numbers}


def open_encoded(predictor: Predictor, description: ExportDescription) -> Optional[EncodedInputs]:
    """Returns how rows are encoded for an export; None if only its graph can do that.

    Args:
        predictor: the loaded export.
        description: of the export.
    """
    schema, statistics = description
    if unsupported_reason(schema) is not None:
        return None
    encoding = build_encoding(schema, statistics)
    shapes = {IDS: len(encoding.fields), NUMBERS: len(encoding.numbers)}
    if any(predictor.find_width(f"{ENCODED}{name}:0") != shapes[name] for name in shapes):
        return None
    if any(name not in statistics.columns for name in encoding.numbers):
        return None
    return EncodedInputs(Encoder(encoding))
