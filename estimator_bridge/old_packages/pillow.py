"""Names that Pillow 10 removed."""

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.process.importing import call_when_imported

__all__ = ["install"]


def install() -> None:
    """Sets the missing names of the modules of PIL when they are imported."""
    import PIL

    set_missing(PIL, PILLOW_VERSION=PIL.__version__)
    call_when_imported("PIL.Image", _image)
    call_when_imported("PIL.ImageFont", _fonts)
    call_when_imported("PIL.ImageDraw", _draw)


def _image() -> None:
    from PIL import Image

    set_missing(
        Image,
        ANTIALIAS=Image.Resampling.LANCZOS,
        CUBIC=Image.Resampling.BICUBIC,
        LINEAR=Image.Resampling.BILINEAR,
    )


def _fonts() -> None:
    from PIL import ImageFont

    def getsize(self, text, *arguments, **options):
        left, _, right, bottom = self.getbbox(text, "", *arguments, **options)
        return right - left, bottom

    for kind in (ImageFont.FreeTypeFont, ImageFont.ImageFont):
        set_missing(kind, getsize=getsize)


def _draw() -> None:
    from PIL import ImageDraw

    def textsize(self, text, font=None, spacing=4, *arguments, **options):
        font = font or self.getfont()
        lines = text.split("\n")
        sizes = [font.getsize(line, *arguments, **options) for line in lines]
        if len(lines) == 1:
            return sizes[0]
        height = font.getsize("A")[1] + spacing
        return max(width for width, _ in sizes), len(lines) * height - spacing

    set_missing(ImageDraw.ImageDraw, textsize=textsize, multiline_textsize=textsize)
