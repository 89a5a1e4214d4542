import io
import struct
import zlib

import pytest
from PIL import Image

from confkv_agents.engine.conversation import Picture
from confkv_agents.engine.media import ImageLimits, decode_picture
from confkv_agents.errors import ImageError


def png(image: Image.Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", **options)  # type: ignore[arg-type]
    return buffer.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and has almost no data: an image bomb."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def test_equal_pixels_have_equal_digests_whatever_the_file() -> None:
    image = Image.new("RGB", (30, 20), "red")
    first = decode_picture(png(image), ImageLimits())
    second = decode_picture(png(image, compress_level=0), ImageLimits())
    assert first.digest == second.digest == Picture.of(image).digest


def test_pictures_of_equal_size_and_other_pixels_have_other_digests() -> None:
    one, two = Image.new("RGB", (30, 20), "red"), Image.new("RGB", (30, 20), "red")
    two.putpixel((29, 19), (255, 0, 1))
    assert Picture.of(one).digest != Picture.of(two).digest


def test_equal_bytes_in_another_shape_have_another_digest() -> None:
    assert Picture.of(Image.new("RGB", (20, 30))).digest != Picture.of(Image.new("RGB", (30, 20))).digest


def test_transparency_becomes_white() -> None:
    picture = decode_picture(png(Image.new("RGBA", (4, 4), (255, 0, 0, 0))), ImageLimits())
    assert picture.image.getpixel((0, 0)) == (255, 255, 255)


def test_an_image_bomb_is_refused_from_its_header() -> None:
    with pytest.raises(ImageError, match="9000 x 9000 pixels"):
        decode_picture(png_header(9_000, 9_000), ImageLimits())
    with pytest.raises(ImageError, match="too many pixels"):
        decode_picture(png_header(60_000, 60_000), ImageLimits())


def test_a_very_wide_picture_is_refused() -> None:
    with pytest.raises(ImageError, match="20000 x 10"):
        decode_picture(png(Image.new("RGB", (20_000, 10))), ImageLimits())


def test_a_truncated_picture_is_refused() -> None:
    noise = Image.effect_noise((64, 64), 100).convert("RGB")
    with pytest.raises(ImageError, match="damaged"):
        decode_picture(png(noise)[:2000], ImageLimits())


def test_too_many_bytes_are_refused_before_decoding() -> None:
    with pytest.raises(ImageError, match="at most 10 "):
        decode_picture(png(Image.new("RGB", (4, 4))), ImageLimits(bytes=10))


@pytest.mark.parametrize("data", [b"", b"hello", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"/etc/passwd"])
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    with pytest.raises(ImageError, match="is not a PNG"):
        decode_picture(data, ImageLimits())


def test_limits_hold_for_a_picture_that_was_decoded_before() -> None:
    data = png(Image.new("RGB", (50, 50), "blue"))
    decode_picture(data, ImageLimits())
    with pytest.raises(ImageError, match="50 x 50"):
        decode_picture(data, ImageLimits(side=40))
