"""Reads and writes local and gs:// paths; no other package distinguishes them.

`files` writes small local files atomically; `addresses` parses gs:// addresses; `bucket` calls
Cloud Storage; `data` fetches data files; `copies` fetches what a command needs of a job, and stores
what it writes; `mirror` keeps a job's folder in a bucket. google-cloud-storage is imported when a
gs:// path is used for the first time.
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
