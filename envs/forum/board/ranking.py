"""How posts are ordered: the formulas, and the orders a list offers."""

import math

# 2026-06-15 12:00 UTC: when the seeded state is looked at. Every write moves the clock on by a minute.
NOW = 1_781_524_800
_EPOCH = 1_767_225_600  # 2026-01-01
_HALF_DAY = 45_000


def hot(ups: int, downs: int, created: int) -> float:
    """Sign and decimal logarithm of the score, plus one for every 12.5 hours that a post is newer.

    A post needs ten times the score of one that is 12.5 hours younger to stand above it.
    """
    score = ups - downs
    sign = (score > 0) - (score < 0)
    return round(sign * math.log10(max(1, abs(score))) + (created - _EPOCH) / _HALF_DAY, 7)


def split(ups: int, downs: int) -> float:
    """How much opinions part: many votes, evenly divided; 0 where all agree."""
    if min(ups, downs) <= 0:
        return 0.0
    return round((ups + downs) ** (min(ups, downs) / max(ups, downs)), 7)


# Key in the address: (label, SQL order, whether a time range applies).
SORTS: dict[str, tuple[str, str, bool]] = {
    "hot": ("Hot", "post.hot DESC, post.id DESC", False),
    "new": ("New", "post.created DESC, post.id DESC", False),
    "active": ("Active", "post.active DESC, post.id DESC", False),
    "top": ("Top", "post.score DESC, post.id DESC", True),
    "controversial": ("Controversial", "post.split DESC, post.id DESC", True),
    "most_commented": ("Most commented", "post.comments DESC, post.id DESC", True),
}
RANGES: dict[str, tuple[str, int | None]] = {
    "all": ("All time", None),
    "hour": ("Past hour", 3600),
    "day": ("Past day", 86_400),
    "week": ("Past week", 7 * 86_400),
    "month": ("Past month", 30 * 86_400),
    "year": ("Past year", 365 * 86_400),
}
COMMENT_SORTS: dict[str, str] = {"best": "Best", "new": "Newest", "old": "Oldest"}
