"""Pictures that members send: checked, cut down to pixels, and written anew. What was sent is never served."""

import io
import warnings

from PIL import Image, ImageOps, UnidentifiedImageError

LARGEST_FILE = 5 * 1024 * 1024
_MOST_PIXELS = 40_000_000
_SIDE = 1400
_FORMATS = ("JPEG", "PNG", "GIF", "WEBP")


def reencode(data: bytes) -> bytes | None:
    """The picture in `data` as WebP, at most 1400 pixels wide and high, without metadata.

    Returns:
        None if it is no picture of a known format, is damaged, or has more than 40 million pixels.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                if image.width * image.height > _MOST_PIXELS:
                    return None
                upright = ImageOps.exif_transpose(image).convert("RGBA")
    except (
        UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ):  # fmt: skip
        return None
    upright.thumbnail((_SIDE, _SIDE))
    ground = Image.new("RGBA", upright.size, "white")
    ground.alpha_composite(upright)
    out = io.BytesIO()
    ground.convert("RGB").save(out, "WEBP", quality=88)
    return out.getvalue()


def thumbnail(data: bytes, width: int) -> bytes:
    """A smaller copy of a stored picture, 3:2, its middle."""
    with Image.open(io.BytesIO(data)) as image:
        small = ImageOps.fit(image.convert("RGB"), (width, width * 2 // 3))
    out = io.BytesIO()
    small.save(out, "WEBP", quality=84)
    return out.getvalue()
