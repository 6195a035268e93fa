"""Reads and writes local and gs:// paths; only this package distinguishes local from gs:// paths.

`files` writes small local files atomically. `addresses` parses gs:// addresses. `bucket` sends
requests to Cloud Storage. `data` fetches data files. `copies` fetches the files of a job that a
command reads, and stores the files that it writes. `mirror` keeps a copy of a job's folder in a
bucket. `versions` and `bucket_versions` publish numbered versions of a model. google-cloud-storage
is imported when a gs:// path is first used.
"""

from trainer.storage.addresses import Address, is_remote, parse_address
from trainer.storage.copies import Copies, fetch_checkpoint, open_copies
from trainer.storage.data import (
    Settings,
    configure,
    current_settings,
    fetch_data,
    find_data,
    identify_data,
    open_data,
    read_head,
)
from trainer.storage.files import (
    GRAPH,
    VERSIONS_STATE,
    add_content,
    describe_damage,
    get_object,
    read_json,
    replaced,
    write_json,
    write_text,
)
from trainer.storage.open_versions import open_versions, refuse_job
from trainer.storage.versions import Superseded, VersionFolder

__all__ = [
    "GRAPH",
    "VERSIONS_STATE",
    "Address",
    "Copies",
    "Settings",
    "Superseded",
    "VersionFolder",
    "add_content",
    "configure",
    "current_settings",
    "fetch_checkpoint",
    "fetch_data",
    "find_data",
    "identify_data",
    "is_remote",
    "open_copies",
    "open_versions",
    "open_data",
    "parse_address",
    "read_head",
    "refuse_job",
    "describe_damage",
    "get_object",
    "read_json",
    "replaced",
    "write_json",
    "write_text",
]
