"""What programs called in h5py 2; native: h5py 2.10.0."""

import os
import tempfile

import h5py
import numpy as np


class Folder:
    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        return os.path.join(self.folder.name, "file.h5")

    def __exit__(self, *error):
        self.folder.cleanup()


def case_no_mode():
    with Folder() as path:
        with h5py.File(path) as file:
            file.create_dataset("x", data=np.arange(3))
            created = file.mode
        with h5py.File(path) as file:
            file["y"] = 1.5
            return [created, file.mode, sorted(file), file["x"][:], file["y"].value]


def case_no_file():
    found = []
    for arguments in [("no/such/folder/file.h5",), ("no_such_file.h5", "r")]:
        try:
            h5py.File(*arguments)
        except OSError as error:
            found.append(isinstance(error, OSError))
    return found


def case_modes():
    with Folder() as path:
        with h5py.File(path, "w") as file:
            file["x"] = [1, 2]
        with h5py.File(path, "r") as file:
            read = [file.mode, file["x"].value]
        with h5py.File(name=path, mode="a") as file:
            return [read, file.mode]


def case_value():
    with Folder() as path, h5py.File(path, "w") as file:
        table = file.create_dataset("table", data=np.ones((2, 2), np.float32))
        file["text"] = "abc"
        file["texts"] = np.array(["a", "b\u00e9"], dtype=h5py.special_dtype(vlen=str))
        file["bytes"] = np.array([b"a", b"bc"])
        file["long"] = np.array([b"a", b"bc"], dtype=h5py.special_dtype(vlen=bytes))
        return [
            table.value,
            file["text"].value,
            [type(one).__name__ for one in file["texts"].value],
            list(file["texts"][:]),
            file["texts"][1],
            [type(one).__name__ for one in file["bytes"][:]],
            [type(one).__name__ for one in file["long"][:]],
            type(file["long"][0]).__name__,
        ]


def case_attributes():
    with Folder() as path, h5py.File(path, "w") as file:
        file.attrs["written"] = "text"
        file.attrs["encoded"] = b"bytes"
        file.attrs["keras"] = b"{}"
        file.attrs["names"] = [b"kernel", b"bias"]
        file.attrs["number"] = 3
        return [
            file.attrs["written"],
            type(file.attrs["written"]).__name__,
            file.attrs["encoded"].decode("utf8"),
            file.attrs.get("keras").decode("utf8"),
            [name.decode("utf8") for name in file.attrs["names"]],
            file.attrs["number"],
            sorted(dict(file.attrs.items())),
        ]
