"""Pictures from untrusted bytes: checked before they are decoded, decoded once."""

from __future__ import annotations

import hashlib
import io
import threading
from collections import OrderedDict
from dataclasses import dataclass

from PIL import Image, ImageOps, UnidentifiedImageError

from confkv_agents.engine.conversation import Picture
from confkv_agents.errors import ImageError

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")


@dataclass(frozen=True)
class ImageLimits:
    """What a picture may measure; checked from its header, before any pixel is decoded.

    Attributes:
        bytes: Most bytes of the encoded file.
        pixels: Most pixels, width x height.
        side: Longest side, in pixels.
    """

    bytes: int = 20 * 2**20
    pixels: int = 40_000_000
    side: int = 16_384


def decode_picture(data: bytes, limits: ImageLimits, where: str = "the picture") -> Picture:
    """Decode a PNG, JPEG, WebP, GIF (first frame) or BMP file.

    Args:
        data: The file's bytes.
        limits: What is refused.
        where: Words that say which picture this is, for the error.

    Raises:
        ImageError: The file is too large, too wide, of another format, or damaged.
    """
    if len(data) > limits.bytes:
        raise ImageError(f"{where} has {len(data):,} bytes; at most {limits.bytes:,} are allowed")
    key = hashlib.blake2b(data, digest_size=16).digest()
    cached = _DECODED.get(key)
    if cached is not None:
        _check_size(cached.image.size, limits, where)
        return cached
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            _check_size(opened.size, limits, where)
            picture = Picture.of(_flatten(ImageOps.exif_transpose(opened)))
    except UnidentifiedImageError as error:
        raise ImageError(f"{where} is not a {', '.join(FORMATS[:-1])} or {FORMATS[-1]} file") from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"{where} has too many pixels: {error}") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, ImageError):
            raise
        raise ImageError(f"{where} is damaged and cannot be decoded: {error}") from error
    _DECODED.put(key, picture)
    return picture


def picture_from_pil(image: Image.Image, limits: ImageLimits, where: str = "the picture") -> Picture:
    """Make a picture of an already opened PIL image, within the same limits."""
    _check_size(image.size, limits, where)
    return Picture.of(_flatten(image))


def _check_size(size: tuple[int, int], limits: ImageLimits, where: str) -> None:
    width, height = size
    if max(size) > limits.side or width * height > limits.pixels:
        raise ImageError(
            f"{where} measures {width} x {height} pixels; at most {limits.side:,} per side and "
            f"{limits.pixels:,} in all are allowed"
        )
    if min(size) < 1:
        raise ImageError(f"{where} has no pixels ({width} x {height})")


def _flatten(image: Image.Image) -> Image.Image:
    """RGB pixels; transparent ones become white, as a browser shows them."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        ground = Image.new("RGBA", rgba.size, "white")
        return Image.alpha_composite(ground, rgba).convert("RGB")
    return image.convert("RGB")


class _DecodedPictures:
    """The last pictures decoded, by the hash of their file, within a bound of pixels; safe from threads."""

    def __init__(self, max_pixels: int):
        self._max_pixels = max_pixels
        self._pixels = 0
        self._pictures: OrderedDict[bytes, Picture] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Picture | None:
        with self._lock:
            picture = self._pictures.get(key)
            if picture is not None:
                self._pictures.move_to_end(key)
            return picture

    def put(self, key: bytes, picture: Picture) -> None:
        with self._lock:
            if key in self._pictures:
                return
            self._pictures[key] = picture
            self._pixels += picture.image.width * picture.image.height
            while self._pixels > self._max_pixels and len(self._pictures) > 1:
                _, old = self._pictures.popitem(last=False)
                self._pixels -= old.image.width * old.image.height


_DECODED = _DecodedPictures(max_pixels=32_000_000)
