"""What members write is text, never page; what is not theirs stays as it is."""

from __future__ import annotations

import re
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Member

SCRIPT = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def test_script_in_every_field_is_shown_as_text(wren):
    wren.submit(title=SCRIPT, body=SCRIPT + f"\n\n**{SCRIPT}** `{SCRIPT}` >!{SCRIPT}!< [{SCRIPT}](https://a.b)")
    post = wren.newest()
    path = f"/f/{post['forum']}/{post['id']}"
    wren.post(f"{path}/-/comment", comment=SCRIPT)
    wren.post("/user/wren_hollis/edit_biography", biography=SCRIPT)
    wren.post("/user/otto_bright/compose_message", message=SCRIPT)
    wren.post("/create_forum", name="bad_one", title=SCRIPT, description=SCRIPT, sidebar=SCRIPT)
    thread = wren.state()["messages"][-1]["thread_id"]
    for page in (path, "/all/new", "/f/bad_one", "/f/bad_one/edit", "/forums", f"/messages/thread/{thread}",
                 "/messages", "/user/wren_hollis", f"{path}/-/edit", f"/report/post/{post['id']}", "/submit",
                 f"/search?q={SCRIPT}&in=comments"):  # fmt: skip
        text = wren.get(page)
        assert "<script>alert" not in text, page
        assert "<img src=x" not in text, page


@pytest.mark.parametrize(
    "target",
    ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", " javascript:alert(1)", "data:text/html,x",
     "vbscript:x", "//evil.test/", "/\\evil.test", "http://", "https:///x", "file:///etc/passwd", "http://[bad"],
)  # fmt: skip
def test_only_plain_addresses_become_links(wren, part, target):
    markdown = part("markdown")
    assert markdown.safe_address(target) is None
    html = str(markdown.to_html(f"[click]({target}) and {target}"))
    assert not re.search(r'href="(?!https?://[a-z])', html)
    before = wren.state()["posts"]
    wren.submit(title="Bad link", kind="link", url=target)
    assert wren.state()["posts"] == before


def test_good_addresses_become_links(part):
    html = str(part("markdown").to_html('See https://a.test/x?y=1&z="2", or [this](/f/pets).'))
    assert '<a href="https://a.test/x?y=1&amp;z=" rel="nofollow ugc noopener">' in html
    assert '<a href="/f/pets" rel="nofollow ugc noopener">this</a>' in html


def test_markdown_marks(part):
    to_html = part("markdown").to_html
    assert str(to_html("a\nb\n\nc")) == "<p>a<br>b</p><p>c</p>"
    assert str(to_html("- a\n- *b*\n\n1. c")) == "<ul><li>a</li><li><em>b</em></li></ul><ol><li>c</li></ol>"
    assert str(to_html("> a\n> > b")) == "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"
    assert str(to_html("`<b>` 2 * 3 * 4")) == "<p><code>&lt;b&gt;</code> 2 * 3 * 4</p>"
    assert str(to_html(">!secret!<")) == '<p><spoiler-text><span class="spoiler">secret</span></spoiler-text></p>'
    assert part("markdown").to_plain("**a** >!b!< [c](https://d.e)") == "a (spoiler) c"


ALLOWED = re.compile(
    r"</?(p|ul|ol|li|em|strong|code|blockquote|spoiler-text|span)>|<br>|</a>|<span class=\"spoiler\">"
    r"|<a href=\"(https?:/|/(?![/\\]))[^\"<>]*\" rel=\"nofollow ugc noopener\">"
)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab<>&\"'`*[]()!-. \n1/:jhtps\\"), max_size=120))
def test_markdown_makes_only_its_own_tags(part, text):
    html = str(part("markdown").to_html(text))
    left = ALLOWED.sub("", html)
    assert "<" not in left
    assert ">" not in left.replace("&gt;", "")


@pytest.mark.parametrize(
    "text", ["**" * 5000, ">!" * 5000, "[" * 10_000, "> " * 5000, "`" * 9999, "*a" * 5000, "[a](" * 2500]
)
def test_markdown_of_any_shape_is_quick_enough_to_finish(part, text):
    assert len(str(part("markdown").to_html(text))) >= len(text) // 4


def test_others_things_cannot_be_touched(wren):
    state = wren.state()
    post = next(each for each in state["posts"] if each["author"] != "wren_hollis" and each["comments"])
    comment = next(c for c in state["comments"] if c["post_id"] == post["id"] and c["author"] != "wren_hollis")
    path = f"/f/{post['forum']}/{post['id']}"
    for page, form in (
        (f"{path}/-/edit", {"title": "x", "body": "x"}), (f"{path}/-/delete", {}),
        (f"{path}/-/comment/{comment['id']}/edit", {"comment": "x"}), (f"{path}/-/comment/{comment['id']}/delete", {}),
        ("/user/otto_bright/account", {"name": "x_y_z"}),
        (f"/f/{post['forum']}/edit", {"title": "x", "description": "x"}),
    ):  # fmt: skip
        assert wren.client.post(page, data=form).status_code == 403, page
    assert wren.state() == state


def test_forms_from_other_pages_are_refused(wren):
    before = wren.state()
    form = {"title": "x", "forum": "birds", "kind": "text"}
    for origin in ("http://evil.test", "null", "http://testserver.evil.test", "http://testserver:99"):
        assert wren.client.post("/submit", data=form, headers={"Origin": origin}).status_code == 403
    assert wren.state() == before
    assert wren.client.post("/submit", data=form, headers={"Origin": "http://testserver"}).status_code == 200


def test_redirects_stay_on_the_site(wren, guest):
    post = wren.state()["posts"][0]["id"]
    answer = wren.client.post(f"/save/{post}", headers={"Referer": "http://evil.test/x"}, follow_redirects=False)
    assert answer.headers["location"] == "/"
    answer = wren.client.post(
        f"/save/{post}", headers={"Referer": "http://testserver//evil.test"}, follow_redirects=False
    )
    assert answer.headers["location"] == "/"


def test_headers_forbid_foreign_things(guest):
    headers = guest.client.get("/").headers
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_pages_ask_nothing_of_other_hosts(wren):
    post = next(post for post in wren.state()["posts"] if post["kind"] == "picture")
    for path in ("/", "/forums", f"/f/{post['forum']}/{post['id']}", f"/picture/{post['id']}", "/submit"):
        loaded = re.findall(r'(?:src|action)="([^"]*)"|<link[^>]*href="([^"]*)"', wren.get(path))
        assert all(source.startswith("/") for pair in loaded for source in pair if source), path


def upload(member: Member, data: bytes, name: str = "a.png", title: str = "Up") -> str:
    return member.submit(title=title, kind="picture", files={"picture": (name, data, "image/png")})


def test_uploads_are_written_anew(wren, picture_file):
    noted = picture_file[:33] + chunk(b"tEXt", b"Comment\0<script>alert(1)</script>") + picture_file[33:]
    page = upload(wren, noted, "../../../evil.html")
    name = wren.newest()["picture"]
    assert re.fullmatch(r"[0-9a-f]{24}", name), "the visitor's name is no path"
    assert f'<img class="submission__image" src="/submission_images/{name}.webp"' in page
    for path, size in (
        (f"/submission_images/{name}.webp", (90, 60)),
        (f"/submission_images/small/{name}.webp", (192, 128)),
    ):
        answer = wren.client.get(path)
        assert answer.headers["content-type"] == "image/webp"
        assert b"script" not in answer.content
        assert opened(answer.content) == size
    wren.client.post("/__reset__", json={})
    assert wren.client.get(f"/submission_images/{name}.webp").status_code == 404


def opened(data: bytes) -> tuple[int, int]:
    import io

    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        return image.size


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb() -> bytes:
    """A PNG that claims 60,000 by 60,000 pixels."""
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 10_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "data",
    [b"<svg xmlns='http://www.w3.org/2000/svg' onload='a(1)'/>", b"GIF89a", b"%PDF-1.4", b"\x89PNG\r\n\x1a\n", bomb()],
    ids=["svg", "cut gif", "pdf", "cut png", "bomb"],
)  # fmt: skip
def test_what_is_no_picture_is_refused(wren, data):
    before = wren.state()["posts"]
    assert "We need a JPEG, PNG, GIF or WebP picture" in upload(wren, data)
    assert wren.state()["posts"] == before


def test_large_uploads_are_refused(wren, picture_file):
    before = wren.state()["posts"]
    files = {"picture": ("a.png", picture_file + b"\0" * 20_000_000, "image/png")}
    answer = wren.client.post("/submit", data={"title": "x", "forum": "pets", "kind": "picture"}, files=files)
    assert answer.status_code == 413
    assert "Too large" in answer.text
    assert wren.client.post("/login", data={"_username": "x" * 200_000}).status_code == 413
    assert wren.state()["posts"] == before
