"""Loads a rewritten export in the older TensorFlow and compares the answers of its signatures.

answers.py       the program that both TensorFlows run: loads an export and answers made-up requests
made_up_rows.py  makes up requests
check.py         runs the program twice and compares
"""

from .check import decode, find_interpreter, prove
from .made_up_rows import Signature, make_requests

__all__ = ["Signature", "decode", "find_interpreter", "make_requests", "prove"]
