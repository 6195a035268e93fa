"""h5py 3 with the behaviour of h5py 2, which came with TensorFlow up to 2.4."""

import functools

from estimator_bridge.old_packages.missing import set_missing

__all__ = ["install"]


def install() -> None:
    """Restores what the imported h5py lacks."""
    import h5py

    if int(h5py.__version__.split(".")[0]) < 3:
        return
    h5py.File.__init__ = _with_any_mode(h5py.File.__init__)
    h5py.Dataset.__getitem__ = _with_text(h5py.Dataset.__getitem__)
    h5py.AttributeManager.__getitem__ = _with_bytes(h5py.AttributeManager.__getitem__)
    set_missing(h5py.Dataset, value=property(lambda self: self[()]))


def _with_any_mode(initialize):
    """Returns File.__init__, which without a mode opens for writing, else reading, or creates."""

    @functools.wraps(initialize)
    def replacing(self, name, mode=None, *arguments, **options):
        import h5py

        if mode is not None:
            return initialize(self, name, mode, *arguments, **options)
        if isinstance(name, h5py.HLObject):
            return initialize(self, name, *arguments, **options)
        for attempt in ("r+", "r"):
            try:
                return initialize(self, name, attempt, *arguments, **options)
            except OSError:
                continue
        return initialize(self, name, "w-", *arguments, **options)

    return replacing


def _with_text(read):
    """Returns Dataset.__getitem__, which reads text of variable length as str."""

    @functools.wraps(read)
    def replacing(self, *arguments, **options):
        import h5py

        found = read(self, *arguments, **options)
        if not isinstance(found, bytes) and getattr(found, "dtype", None) != "O":
            return found
        text = h5py.check_string_dtype(self.dtype)
        if text is None or text.length is not None or text.encoding != "utf-8":
            return found
        if isinstance(found, bytes):
            return found.decode("utf-8", "surrogateescape")
        for place, value in enumerate(found.flat):
            if isinstance(value, bytes):
                found.flat[place] = value.decode("utf-8", "surrogateescape")
        return found

    return replacing


def _with_bytes(read):
    """Returns AttributeManager.__getitem__, which reads bytes that a program wrote as bytes."""

    @functools.wraps(read)
    def replacing(self, name):
        import h5py

        found = read(self, name)
        if not isinstance(found, str) and getattr(found, "dtype", None) != "O":
            return found
        text = h5py.check_string_dtype(self.get_id(name).dtype)
        if text is None or text.encoding != "ascii":
            return found
        if isinstance(found, str):
            return found.encode("utf-8", "surrogateescape")
        for place, value in enumerate(found.flat):
            found.flat[place] = value.encode("utf-8", "surrogateescape")
        return found

    return replacing
