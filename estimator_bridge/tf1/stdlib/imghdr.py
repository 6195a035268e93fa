"""`imghdr`, which recognises the format of an image file."""

__all__ = ["what"]

# (offset, bytes at the offset, kind)
_SIGNATURES = (
    (0, b"\xff\xd8\xff", "jpeg"),
    (6, b"JFIF", "jpeg"),
    (6, b"Exif", "jpeg"),
    (0, b"\211PNG\r\n\032\n", "png"),
    (0, b"GIF87a", "gif"),
    (0, b"GIF89a", "gif"),
    (0, b"MM", "tiff"),
    (0, b"II", "tiff"),
    (0, b"BM", "bmp"),
    (8, b"WEBP", "webp"),
)


def what(file, h=None):
    """Returns the kind ("jpeg", "png", "gif", "tiff", "bmp", "webp") of an image, or None.

    Args:
      file: a path, or an open binary file; the position of the file does not change.
      h: the image's first bytes; if given, the file is not read.
    """
    if h is None and hasattr(file, "read"):
        place = file.tell()
        h = file.read(32)
        file.seek(place)
    elif h is None:
        with open(file, "rb") as opened:
            h = opened.read(32)
    for start, signature, kind in _SIGNATURES:
        if h[start : start + len(signature)] == signature:
            return kind
    return None
