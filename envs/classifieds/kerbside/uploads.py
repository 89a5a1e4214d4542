"""Pictures that visitors send: checked, turned upright, made smaller and encoded anew; the original is not kept.

They lie in the database, so that no name that a visitor chose ever becomes a path, and a reset forgets them.
"""

import hashlib
import io
import warnings
from dataclasses import dataclass

from PIL import Image, ImageOps, UnidentifiedImageError

from .pictures import THUMB, to_webp

LARGEST_FILE = 5 * 1024 * 1024
MOST_PHOTOS = 6
_LARGEST_SIDE = 1280
_SMALLEST_SIDE = 64
_MOST_PIXELS = 30_000_000
_FORMATS = ("JPEG", "PNG", "WEBP")


class UploadError(Exception):
    """A file that cannot be taken; the message is for the visitor."""


@dataclass(frozen=True)
class StoredPhoto:
    """What is kept of an upload: two sizes as WebP, and the SHA-256 of the bytes that were sent."""

    large: bytes
    small: bytes
    digest: str


def read_photo(data: bytes) -> StoredPhoto:
    """Check a file and make of it what is kept.

    Raises:
        UploadError: It is too large, no picture, or a picture of a wrong kind or size.
    """
    if len(data) > LARGEST_FILE:
        raise UploadError("A photo may have 5 MB at most.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_FORMATS) as opened:
                width, height = opened.size
                if width * height > _MOST_PIXELS:
                    raise UploadError("A photo may have 30 million pixels at most.")
                if min(width, height) < _SMALLEST_SIDE:
                    raise UploadError(f"A photo must be {_SMALLEST_SIDE} pixels wide and high, or more.")
                picture = ImageOps.exif_transpose(opened).convert("RGB")
    except (UnidentifiedImageError, Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise UploadError("Please choose a photo in JPEG, PNG or WebP form.") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:  # a broken file of a right kind
        raise UploadError("The photo is damaged and cannot be read.") from error
    picture.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE), Image.Resampling.LANCZOS)
    small = ImageOps.fit(picture, THUMB, Image.Resampling.LANCZOS)
    return StoredPhoto(to_webp(picture), to_webp(small), hashlib.sha256(data).hexdigest())
