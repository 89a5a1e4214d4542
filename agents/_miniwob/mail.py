"""Tasks in the mail box, the news feed and on the market, which take several steps in an order."""

from __future__ import annotations

import re

from .page import Page, Steps, click, fill, submit


def _open(page: Page, sender: str) -> Steps:
    """Click the thread of a sender; threads are listed with the sender's name first."""
    for _ in range(6):
        thread = next((each for each in page.all("clickable") if each.name.split(" ")[0] == sender), None)
        if thread is not None:
            yield f"click [{thread.id}]"
            return
        yield "scroll [down]"


def mail(page: Page) -> Steps:
    """Find the email by Coletta and star it, delete it, reply to it or forward it.

    An open thread shows the icons back, star and bin from left to right, and below the text "Reply" and "Forward".
    """
    goal = page.goal
    sender = page.asked(r"(?:[Ee]mail by|from) (\w+)")[0]
    yield from _open(page, sender)
    if "star icon" in goal or "trash icon" in goal:
        icons = [each for each in page.all("clickable") if not each.name]
        across = sorted(icons, key=lambda each: each.box.x if each.box else 0.0)
        yield f"click [{across[-2 if 'star icon' in goal else -1].id}]"
        return
    if "reply" in goal:
        yield from click(page, "link", "Reply")
        yield from fill(page, page.quoted()[0])
    else:
        to = page.asked(r"(?:to|Forward to) (\w+)")[0]
        yield from click(page, "link", "Forward")
        yield from fill(page, to)
    icons = [each for each in page.all("clickable") if not each.name]
    yield f"click [{max(icons, key=lambda each: each.box.x if each.box else 0.0).id}]"


_BUTTONS = ("Reply", "Retweet", "Like", "More")
_MORE = ("Share", "Copy", "Embed", "Mute", "Block", "Report")


def feed(page: Page) -> Steps:
    """Click the "Like" button on all posts, or 2 posts, by @dis, and then click Submit.

    Below each post stand four icons without words, always in one order; of a post at the window's lower end they may
    come into view only when its author has left it.
    """
    name, rest, user = page.asked(r'the "(\w+)" button on (all|\d+) posts? by (@\w+)')
    owners: dict[str, tuple[str, int]] = {}  # handle of an icon -> author of its post, and which icon it is
    last, wanted, done = ("", 0), 99 if rest == "all" else int(rest), 0
    while True:
        for line in page.observation.body.splitlines():
            if match := re.search(r"text '[^@']*(@\w+)'", line):
                last = (match[1], 0)
            elif match := re.match(r"\s*clickable '' \[(\d+)\]", line):
                ref = page.observation.elements[int(match[1]) - 1].ref
                if ref not in owners:
                    owners[ref] = last
                    last = (last[0], last[1] + 1)
        here = [each for each in page.observation.elements if owners.get(each.ref) == (user, _BUTTONS.index(name))]
        for ref in [each.ref for each in here][: wanted - done]:
            owners[ref] = ("", 0)
            done += 1
            yield f"click [{next(each.id for each in page.observation.elements if each.ref == ref)}]"
        if done == wanted or page.has("button", "Submit"):
            break
        yield "scroll [down]"
    yield from submit(page)


def stock(page: Page) -> Steps:
    """Buy EFN stock when the price is less than $49.60: the price moves on with every step."""
    bound = float(page.asked(r"less than \$([\d.]+)\.?$")[0].rstrip("."))
    while True:
        shown = next(re.search(r"\$([\d.]+)", word) for word in page.words() if word.startswith("Stock price"))
        if shown and float(shown[1]) <= bound:
            break
        yield "wait"
    yield from click(page, "button", "Buy")


SOLVERS = {
    "email-inbox": mail,
    "email-inbox-delete": mail,
    "email-inbox-forward": mail,
    "email-inbox-important": mail,
    "email-inbox-noscroll": mail,
    "email-inbox-reply": mail,
    "email-inbox-star-reply": mail,
    "social-media-all": feed,
    "social-media-some": feed,
    "stock-market": stock,
}
"""Page -> solver."""
