"""Local and gs:// paths: the one place that knows the difference.

`files` writes small local files whole or not at all; `addresses` reads gs:// addresses; `bucket`
talks to Cloud Storage; `data` brings data files here; `copies` what a command asks of a job;
`mirror` keeps a job's folder in a bucket.
What needs google-cloud-storage is imported when a gs:// path is met, and not before.
"""

from trainer.storage.addresses import Address, is_remote, parse_address
from trainer.storage.copies import Copies, fetch_checkpoint, open_copies
from trainer.storage.data import Settings, configure, fetch_data, find_data, read_head
from trainer.storage.files import read_json, replaced, write_json, write_text

__all__ = [
    "Address",
    "Copies",
    "Settings",
    "configure",
    "fetch_checkpoint",
    "fetch_data",
    "find_data",
    "is_remote",
    "open_copies",
    "parse_address",
    "read_head",
    "read_json",
    "replaced",
    "write_json",
    "write_text",
]
