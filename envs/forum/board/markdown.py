"""Markdown-lite to HTML: everything is escaped first, and only the tags made here come out.

Paragraphs, line breaks, `**bold**`, `*italic*`, `code`, `[words](https://...)`, bare http(s) addresses, lists,
quotes, and `>!spoilers!<`, which stay covered until they are asked for.
"""

import re
from html import escape
from urllib.parse import urlsplit

_TOKEN = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|>!(?P<spoiler>[^\n]{1,400}?)!<"
    r"|\[(?P<words>[^\]\n]{1,200})\]\((?P<target>[^\s()]{1,500})\)"
    r"|(?P<url>https?://[^\s<>\"')\]]{1,500})"
    r"|\*\*(?P<bold>[^*\n]+)\*\*"
    r"|\*(?P<italic>[^*\s][^*\n]*)\*"
)
_BULLET = re.compile(r"[-*] +(.*)")
_NUMBER = re.compile(r"\d{1,3}[.)] +(.*)")
_DEEPEST = 4


def safe_address(target: str) -> str | None:
    """The address if a link may lead there (http, https, or a path of this site), else None."""
    if any(ord(character) < 33 for character in target):
        return None
    if target.startswith("/") and not target.startswith(("//", "/\\")):
        return target
    try:
        parts = urlsplit(target)
        host = parts.hostname
    except ValueError:
        return None
    return target if parts.scheme in ("http", "https") and host else None


def _link(target: str, words: str) -> str:
    return f'<a href="{escape(target)}" rel="nofollow ugc noopener">{words}</a>'


def _inline(text: str, depth: int = 0) -> str:
    out, end = [], 0
    for found in _TOKEN.finditer(text):
        out.append(escape(text[end : found.start()]))
        end = found.end()
        kind, whole = found.lastgroup, found[0]
        if kind == "code":
            out.append(f"<code>{escape(found['code'])}</code>")
        elif kind == "target":
            target = safe_address(found["target"])
            out.append(_link(target, escape(found["words"])) if target else escape(whole))
        elif kind == "url":
            address = found["url"].rstrip(".,;:!?")
            out.append(_link(address, escape(address)) if safe_address(address) else escape(address))
            out.append(escape(found["url"][len(address) :]))
        elif depth >= _DEEPEST:
            out.append(escape(whole))
        elif kind == "spoiler":
            inner = _inline(found["spoiler"], depth + 1)
            out.append(f'<spoiler-text><span class="spoiler">{inner}</span></spoiler-text>')
        elif kind == "bold":
            out.append(f"<strong>{_inline(found['bold'], depth + 1)}</strong>")
        else:
            out.append(f"<em>{_inline(found['italic'], depth + 1)}</em>")
    out.append(escape(text[end:]))
    return "".join(out)


def _blocks(lines: list[str], depth: int) -> str:
    out: list[str] = []
    run: list[str] = []
    kind = ""

    def close() -> None:
        nonlocal run, kind
        if kind == "p":
            out.append(f"<p>{'<br>'.join(_inline(line) for line in run)}</p>")
        elif kind in ("ul", "ol"):
            out.append(f"<{kind}>{''.join(f'<li>{_inline(line)}</li>' for line in run)}</{kind}>")
        elif kind == "quote":
            inner = _blocks(run, depth + 1) if depth < _DEEPEST else f"<p>{escape(' '.join(run))}</p>"
            out.append(f"<blockquote>{inner}</blockquote>")
        run, kind = [], ""

    for line in lines:
        stripped = line.strip()
        bullet, number = _BULLET.fullmatch(stripped), _NUMBER.fullmatch(stripped)
        if stripped.startswith(">") and not stripped.startswith(">!"):
            now, content = "quote", stripped[1:].strip()
        elif bullet or number:
            now, content = ("ul", bullet[1]) if bullet else ("ol", number[1] if number else "")
        else:
            now, content = ("p" if stripped else ""), stripped
        if now != kind:
            close()
            kind = now
        if now:
            run.append(content)
    close()
    return "".join(out)


def to_html(text: str) -> str:
    """Render a body; what comes out is safe to stand in a page."""
    return _blocks(text.replace("\r\n", "\n").split("\n"), 0)


def to_plain(text: str) -> str:
    """A body without its marks, for previews; spoilers stay covered."""
    text = re.sub(r">![^\n]+?!<", "(spoiler)", text)
    text = re.sub(r"\[([^\]\n]{1,200})\]\([^\s()]{1,500}\)", r"\1", text)
    return " ".join(re.sub(r"[*`]|^>\s*", "", text, flags=re.MULTILINE).split())
