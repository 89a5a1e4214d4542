"""Pictures that a check compares: those that a page shows, and those that a task's file names."""

from __future__ import annotations

import base64
import binascii
import io
import urllib.error
import urllib.request
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urljoin

from PIL import Image

from confkv_agents.errors import ImageError, InfraError
from confkv_agents.web.evaluators.base import EvaluationInput, EvaluatorPage

if TYPE_CHECKING:
    from confkv_agents.web.network import AllowList

MAX_BYTES = 30_000_000
_DEADLINE = 15.0
_SOURCES = """selector => {
  const inside = node => node.tagName === 'IMG' ? [node] : [...node.querySelectorAll('img')];
  const found = [...document.querySelectorAll(selector || 'img')].flatMap(inside);
  return found.map(node => node.src || node.getAttribute('src') || '');
}"""


def shown_pictures(page: EvaluatorPage, selector: str, given: EvaluationInput) -> tuple[list[Image.Image], list[str]]:
    """The pictures of a page, each once, in the page's order.

    Args:
        page: The evaluators' page.
        selector: A class such as `.submission__image`: such elements that are pictures, and pictures inside of such
            elements; empty for every picture.
        given: What pages may talk to.

    Returns:
        Those that can be read, and why each of the others cannot.
    """
    from playwright.sync_api import Error

    try:
        sources = list(dict.fromkeys(page.page.evaluate(_SOURCES, selector)))
        cookies = page.page.context.cookies(page.page.url) if page.page.url.startswith("http") else []
    except Error as error:
        return [], [str(error).splitlines()[0]]
    cookie = "; ".join(f"{each.get('name')}={each.get('value')}" for each in cookies)
    pictures, problems = [], []
    for source in filter(None, sources):
        try:
            pictures.append(fetch_picture(urljoin(page.page.url, source), given.allow, cookie, page.page.url))
        except ImageError as error:
            problems.append(str(error))
    return pictures, problems


def fetch_picture(url: str, allow: AllowList | None, cookie: str = "", of_page: str = "") -> Image.Image:
    """A picture by address, loaded outside of the browser but with no more rights than its pages have.

    Args:
        url: Begins with `http:`, `https:` or `data:`.
        allow: What may be talked to; None for no limit.
        cookie: The agent's cookies on the page that shows the picture.
        of_page: That page's address; its host alone is sent the cookies.

    Raises:
        ImageError: It may not be loaded, does not answer, or is no picture.
    """
    if url.startswith("data:"):
        return open_picture(_inline(url), "a picture inside the page")
    if not url.startswith(("http://", "https://")) or (allow is not None and not allow.allows(url)):
        raise ImageError(f"{url[:200]} is outside of {allow.describe() if allow is not None else 'the web'}")
    request = urllib.request.Request(url, headers={"User-Agent": "Mozilla/5.0", "Accept": "image/*,*/*"})
    if cookie and of_page and request.host == urllib.request.Request(of_page).host:
        request.add_unredirected_header("Cookie", cookie)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Redirects(allow))
    try:
        with opener.open(request, timeout=_DEADLINE) as answer:
            data = answer.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ImageError(f"{url[:200]} did not answer: {error}") from error
    if len(data) > MAX_BYTES:
        raise ImageError(f"{url[:200]} is larger than {MAX_BYTES // 1_000_000} MB")
    return open_picture(data, url[:200])


def open_picture(data: bytes, name: str) -> Image.Image:
    """Decode a picture.

    Raises:
        ImageError: It is none, or one that would fill the memory.
    """
    try:
        image = Image.open(io.BytesIO(data))
        image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ImageError(f"{name} is no picture that can be read: {error}") from error
    return image


def reference_picture(name: str, given: EvaluationInput, task: Any) -> Image.Image:
    """A picture that a task's file names, by address or as a file beside it.

    Raises:
        ImageError: The file is missing or no picture.
        InfraError: The address does not answer with a picture.
    """
    if name.startswith(("http://", "https://")):
        try:
            return fetch_picture(name, given.allow)
        except ImageError as error:
            raise InfraError(f"the check's picture: {error}") from error
    path = task.beside(name)
    try:
        return open_picture(path.read_bytes(), name)
    except OSError as error:
        raise ImageError(f"{name} cannot be read: {error.strerror or error}") from error


def _inline(url: str) -> bytes:
    head, _, body = url.partition(",")
    try:
        return base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)
    except (binascii.Error, ValueError) as error:
        raise ImageError(f"a picture inside the page cannot be read: {error}") from error


class _Redirects(urllib.request.HTTPRedirectHandler):
    """A redirect leads no further than a page may go."""

    def __init__(self, allow: AllowList | None) -> None:
        self._allow = allow

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if self._allow is not None and not self._allow.allows(newurl):
            raise urllib.error.URLError(f"it leads to {newurl[:200]}, which is outside of {self._allow.describe()}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
