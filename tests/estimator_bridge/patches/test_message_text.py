"""Bytes of messages are escaped as protocol buffers escape them."""

import numpy as np
import pytest
from google.protobuf import text_encoding

from estimator_bridge.patches import message_text

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("size", [0, 256, 999, 1_000, 5_003])
def test_the_text_is_the_same(size, monkeypatch):
    original = getattr(text_encoding.CEscape, "__wrapped__", text_encoding.CEscape)
    monkeypatch.setattr(text_encoding, "CEscape", original)
    monkeypatch.setattr(message_text, "_CHUNK_BYTES", 2_000)
    message_text.apply()
    escape = text_encoding.CEscape
    assert escape is not original
    data = bytes(range(256)) * 20 + np.random.RandomState(0).bytes(size)
    for given in (data[-size:] if size else b"", "text\n'é", bytearray(b"\0a")):
        for as_utf8 in (False, True):
            if not isinstance(given, bytearray) or not as_utf8:
                assert escape(given, as_utf8) == original(given, as_utf8)


def test_it_is_applied_once(monkeypatch):
    monkeypatch.setattr(text_encoding, "CEscape", text_encoding.CEscape)
    message_text.apply()
    first = text_encoding.CEscape
    message_text.apply()
    assert text_encoding.CEscape is first
