"""The helpers that `func:` may call, answered from the page, or by the shop.

Names and meaning are VisualWebArena's; where it asks Magento's administration interface, a shop of ours is asked for
its state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin, urlsplit

from confkv_agents.errors import InfraError
from confkv_agents.web.evaluators.base import EvaluationInput, EvaluatorPage
from confkv_agents.web.evaluators.calls import HelperCall, PageArgument
from confkv_agents.web.evaluators.magento import Magento

_OR = " |OR| "
_ORDER_ROWS = """() => [...document.querySelectorAll('#my-orders-table tbody')].flatMap(body => {
  const rows = [...body.querySelectorAll('tr')].filter(row => row.querySelector('td.sku'));
  return rows.map(row => {
    const cell = name => row.querySelector(`td.${name}`);
    const text = name => cell(name) ? cell(name).innerText.trim() : '';
    const options = {};
    for (const term of row.querySelectorAll('td.name dl dt')) {
      if (term.nextElementSibling) options[term.innerText.trim()] = term.nextElementSibling.innerText.trim();
    }
    return {name: text('name'), sku: text('sku'), qty: text('qty'), options};
  });
})"""
_ATTRIBUTE = """attribute => {
  const terms = attribute.toLowerCase().split(' |or| ');
  const table = document.querySelector('#productDetails_detailBullets_sections1') ||
                document.querySelector('#product-attribute-specs-table');
  return table ? [...table.querySelectorAll('tr')].filter(row => row.children.length > 1 &&
    terms.some(term => row.children[0].innerText.toLowerCase().includes(term)))
    .map(row => row.children[1].innerText).join(', ') : '';
}"""
_NUMBER = """([selector, property]) => {
  const node = document.querySelector(selector);
  if (!node) return 0;
  const text = property ? node.getAttribute(property) || '' : node.innerText;
  const found = text.replace(/,/g, '').match(/\\d+(\\.\\d+)?/);
  return found ? parseFloat(found[0]) : 0;
}"""

# Comments in the order of the page, each with its place in the tree (1: answers to the post) and its parent's author.
_COMMENTS = """() => {
  const author = node => (node.querySelector('.fg-inherit') || {innerText: ''}).innerText.trim();
  const main = document.querySelector('#main');
  const above = [main ? author(main) : ''];
  return [...document.querySelectorAll('#main .comment[data-level]')].map(node => {
    const level = parseInt(node.getAttribute('data-level'));
    const time = node.querySelector('.comment__main > header > h1 > span > time');
    const content = node.querySelector('.comment__content');
    above[level] = author(node);
    return {author: above[level], parent: above[level - 1] || '', content: content ? content.innerText : '',
            time: time ? Date.parse(time.dateTime) : 0};
  });
}"""

_MEMBER_ROLE = """account => {
  const shown = node => (node ? node.innerText : '').trim();
  const names = [...document.querySelectorAll("td[data-label='Account'] span.gl-avatar-labeled-sublabel")];
  const name = names.find(node => shown(node) === '@' + account);
  const row = name ? name.closest('tr') : null;
  return row ? shown(row.querySelector('td.col-max-role span')) : '';
}"""


def call_helper(call: HelperCall, given: EvaluationInput) -> Any:
    """Run a parsed `func:` call.

    Raises:
        InfraError: A shop does not answer, or is asked without the right to.
    """
    arguments: list[Any] = []
    for argument in call.arguments:
        if argument is PageArgument.PAGE:
            arguments.append(given.need_page())
        elif isinstance(argument, str):
            last = given.page.url if given.page is not None else given.final_url
            arguments.append(argument.replace("__last_url__", last))
    return _HELPERS[call.name](given, *arguments)


def _evaluate(page: EvaluatorPage, script: str, argument: Any, otherwise: Any) -> Any:
    """Ask the page; a page that lacks what is asked for gives `otherwise`, as upstream's helpers do."""
    from playwright.sync_api import Error

    try:
        return page.page.evaluate(script, argument)
    except Error:
        return otherwise


def _query_text(given: EvaluationInput, page: EvaluatorPage, selector: str) -> str:
    script = "selector => { const node = document.querySelector(selector); return node ? node.textContent : ''; }"
    return str(_evaluate(page, script, selector, ""))


def _query_text_lowercase(given: EvaluationInput, page: EvaluatorPage, selector: str) -> str:
    return _query_text(given, page, selector).lower()


def _order_rows(page: EvaluatorPage) -> list[dict[str, Any]]:
    return list(_evaluate(page, _ORDER_ROWS, None, []))


def _order_names(given: EvaluationInput, page: EvaluatorPage) -> str:
    return _OR.join(row["name"] for row in _order_rows(page))


def _order_quantity(given: EvaluationInput, page: EvaluatorPage, sku: str) -> int:
    for row in _order_rows(page):
        if row["sku"] in sku.split(_OR):
            digits = "".join(character for character in row["qty"].split("\n")[-1] if character.isdigit())
            return int(digits or 0)
    return 0


def _order_option(given: EvaluationInput, page: EvaluatorPage, sku: str, option: str) -> str:
    return next((str(row["options"].get(option, "")) for row in _order_rows(page) if row["sku"] == sku), "")


def _attributes(given: EvaluationInput, page: EvaluatorPage, attribute: str) -> str:
    return str(_evaluate(page, _ATTRIBUTE, attribute, ""))


def _price(given: EvaluationInput, page: EvaluatorPage) -> float:
    selector = ".product-info-main .price-box.price-final_price .price"
    return float(_evaluate(page, _NUMBER, [selector, ""], 0))


def _review_count(given: EvaluationInput, page: EvaluatorPage) -> int:
    return int(_evaluate(page, _NUMBER, ["#tab-label-reviews-title", ""], 0))


def _rating(given: EvaluationInput, page: EvaluatorPage) -> int:
    return int(_evaluate(page, _NUMBER, [".rating-result", "title"], 0))


def _shop_state(given: EvaluationInput) -> tuple[str, dict[str, Any] | Magento]:
    """The shop's address, and its state if it is one of ours, else its interface."""
    if given.sites is None or "shopping" not in given.sites:
        raise InfraError("this check asks the shop for its state, and no shop runs")
    url = given.sites.url("shopping")
    if given.sites.is_own("shopping"):
        return url, given.sites.state("shopping")
    if given.means.shop_access is None:
        raise InfraError(f"this check asks the administration of {url}, for which no token is known")
    return url, Magento(url, given.means.shop_access)


def _latest_order(given: EvaluationInput) -> str:
    """Address of the newest order; "" when there is none."""
    url, state = _shop_state(given)
    if isinstance(state, Magento):
        return state.latest_order_url()
    orders = state.get("orders", [])
    return urljoin(url + "/", str(orders[-1]["url"]).lstrip("/")) if orders else ""


def _latest_review(field: str) -> Callable[[EvaluationInput, str], str]:
    def find(given: EvaluationInput, sku: str) -> str:
        _, state = _shop_state(given)
        if isinstance(state, Magento):
            return state.latest_review(sku, field)
        reviews = [review for review in state.get("reviews", []) if review["sku"] == sku]
        if not reviews:
            return ""
        value = reviews[-1][field]
        return str(int(value) * 20) if field == "rating" else str(value)  # upstream's rating is a percentage

    return find


def _post_url(given: EvaluationInput, url: str) -> str:
    """`/f/<forum>/<number>/...` cut to the post; any other address as it is."""
    parts = urlsplit(url)
    path = parts.path.split("/")
    if len(path) < 4 or path[1] != "f":
        return url
    return f"{parts.scheme}://{parts.netloc}/f/{path[2]}/{path[3]}/"


def _latest_comment(field: str) -> Callable[..., str]:
    """A field of the newest comment by a member on a forum's page; "" when there is none.

    The parent of a comment that answers the post itself is the post's author, as upstream has it.
    """

    def find(given: EvaluationInput, page: EvaluatorPage, username: str) -> str:
        comments = [each for each in _evaluate(page, _COMMENTS, None, []) if each["author"] == username]
        return str(max(comments, key=lambda each: each["time"])[field]) if comments else ""

    return find


def _member_role(given: EvaluationInput, page: EvaluatorPage, account: str) -> str:
    """Role of an account in a GitLab project's list of members; "" when it is not among them."""
    return str(_evaluate(page, _MEMBER_ROLE, account, ""))


_HELPERS: dict[str, Callable[..., Any]] = {
    "get_query_text": _query_text,
    "get_query_text_lowercase": _query_text_lowercase,
    "shopping_get_latest_order_url": _latest_order,
    "shopping_get_order_product_name_list": _order_names,
    "shopping_get_order_product_quantity": _order_quantity,
    "shopping_get_order_product_option": _order_option,
    "shopping_get_product_attributes": _attributes,
    "shopping_get_product_price": _price,
    "shopping_get_num_reviews": _review_count,
    "shopping_get_rating_as_percentage": _rating,
    "shopping_get_sku_latest_review_author": _latest_review("author"),
    "shopping_get_sku_latest_review_rating": _latest_review("rating"),
    "shopping_get_sku_latest_review_text": _latest_review("body"),
    "shopping_get_sku_latest_review_title": _latest_review("title"),
    "reddit_get_post_url": _post_url,
    "reddit_get_latest_comment_content_by_username": _latest_comment("content"),
    "reddit_get_parent_comment_username_of_latest_comment_by_username": _latest_comment("parent"),
    "gitlab_get_project_memeber_role": _member_role,
}
