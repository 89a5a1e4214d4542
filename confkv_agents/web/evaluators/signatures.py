"""Which helpers `func:` may call, what they take, and whose pages or interface they read.

Kept apart from their code so that task files are checked without loading a browser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Argument = Literal["page", "text"]

Asked = Literal["any page", "magento-api", "magento-dom", "postmill-dom", "gitlab-dom"]


@dataclass(frozen=True)
class Signature:
    """A helper's arguments, and what it reads: any page, a program's pages, or a shop's interface."""

    arguments: tuple[Argument, ...]
    asks: Asked = "any page"


SIGNATURES: dict[str, Signature] = {
    "get_query_text": Signature(("page", "text")),
    "get_query_text_lowercase": Signature(("page", "text")),
    "shopping_get_latest_order_url": Signature((), "magento-api"),
    "shopping_get_order_product_name_list": Signature(("page",), "magento-dom"),
    "shopping_get_order_product_quantity": Signature(("page", "text"), "magento-dom"),
    "shopping_get_order_product_option": Signature(("page", "text", "text"), "magento-dom"),
    "shopping_get_product_attributes": Signature(("page", "text"), "magento-dom"),
    "shopping_get_product_price": Signature(("page",), "magento-dom"),
    "shopping_get_num_reviews": Signature(("page",), "magento-dom"),
    "shopping_get_rating_as_percentage": Signature(("page",), "magento-dom"),
    "shopping_get_sku_latest_review_author": Signature(("text",), "magento-api"),
    "shopping_get_sku_latest_review_rating": Signature(("text",), "magento-api"),
    "shopping_get_sku_latest_review_text": Signature(("text",), "magento-api"),
    "shopping_get_sku_latest_review_title": Signature(("text",), "magento-api"),
    "reddit_get_post_url": Signature(("text",)),
    "reddit_get_latest_comment_content_by_username": Signature(("page", "text"), "postmill-dom"),
    "reddit_get_parent_comment_username_of_latest_comment_by_username": Signature(("page", "text"), "postmill-dom"),
    "gitlab_get_project_memeber_role": Signature(("page", "text"), "gitlab-dom"),
}
