"""Which helpers `func:` may call, what they take, and which cannot be answered here.

Kept apart from their code so that task files are checked without loading a browser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Argument = Literal["page", "text"]

_GITLAB = "reads the member list of a GitLab, which no site here has"


@dataclass(frozen=True)
class Signature:
    """A helper's arguments, and why it is not supported (empty when it is)."""

    arguments: tuple[Argument, ...]
    unsupported: str = ""


SIGNATURES: dict[str, Signature] = {
    "get_query_text": Signature(("page", "text")),
    "get_query_text_lowercase": Signature(("page", "text")),
    "shopping_get_latest_order_url": Signature(()),
    "shopping_get_order_product_name_list": Signature(("page",)),
    "shopping_get_order_product_quantity": Signature(("page", "text")),
    "shopping_get_order_product_option": Signature(("page", "text", "text")),
    "shopping_get_product_attributes": Signature(("page", "text")),
    "shopping_get_product_price": Signature(("page",)),
    "shopping_get_num_reviews": Signature(("page",)),
    "shopping_get_rating_as_percentage": Signature(("page",)),
    "shopping_get_sku_latest_review_author": Signature(("text",)),
    "shopping_get_sku_latest_review_rating": Signature(("text",)),
    "shopping_get_sku_latest_review_text": Signature(("text",)),
    "shopping_get_sku_latest_review_title": Signature(("text",)),
    "reddit_get_post_url": Signature(("text",)),
    "reddit_get_latest_comment_content_by_username": Signature(("page", "text")),
    "reddit_get_parent_comment_username_of_latest_comment_by_username": Signature(("page", "text")),
    "gitlab_get_project_memeber_role": Signature(("page", "text"), _GITLAB),
}
