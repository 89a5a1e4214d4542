"""What only a browser shows: script errors, cut-off pages, dialogs, tabs, pictures that do not load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from confkv_agents.web.chromium import find_chromium
from confkv_agents.web.sites import SiteServer

pytestmark = pytest.mark.browser

SIZES = {"desktop": {"width": 1280, "height": 720}, "phone": {"width": 390, "height": 844}}
GUEST_PAGES = [
    "/", "/clothing.html", "/clothing.html?sort=price&page=2&min=x", "/catalogsearch/result/?q=backpack",
    "/catalogsearch/result/?q=zzzz", "/brisk-red-toolbox.html", "/halden-animal-t-shirt.html",
    "/reviews/corrin-red-notebook/", "/reviews/corrin-red-notebook/write/", "/checkout/cart/", "/checkout/",
    "/catalog/product_compare/", "/customer/account/login/", "/customer/account/create/", "/offers/",
    "/offers/25-off-tools/", "/gift-registry/", "/gift-registry/bela-retirement/", "/size-guide/", "/delivery/",
    "/contact/",
]  # fmt: skip
CUSTOMER_PAGES = [
    "/customer/account/", "/sales/order/history/", "/sales/order/view/order_id/7/", "/wishlist/",
    "/customer/address/", "/customer/address/new/", "/customer/address/edit/id/1/", "/customer/account/edit/",
    "/checkout/cart/", "/checkout/",
]  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    options = find_chromium()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=options.executable_path, channel=options.channel)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server() -> Iterator[SiteServer]:
    with SiteServer("shop", 7) as running:
        yield running


@pytest.fixture(params=SIZES)
def page(chromium: Any, server: SiteServer, request: pytest.FixtureRequest) -> Iterator[Any]:
    server.reset(7)
    context = chromium.new_context(viewport=SIZES[request.param], base_url=server.url)
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


def submit(page: Any, role: str, name: str) -> None:
    """Click what leads to another page, and wait for it."""
    with page.expect_navigation():
        page.get_by_role(role, name=name, exact=True).click()


def sign_in(page: Any) -> None:
    page.goto("/customer/account/login/")
    page.get_by_label("Email").fill("emma.lopez@shop.test")
    page.get_by_label("Password").fill("Password.123")
    submit(page, "button", "Sign In")


def put_into_cart(page: Any, slug: str) -> None:
    page.goto(f"/{slug}.html")
    submit(page, "button", "Add to Cart")


def look(page: Any, paths: list[str]) -> list[str]:
    """Open each page and note what is wrong with it."""
    problems: list[str] = []
    page.on("console", lambda message: problems.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    for path in paths:
        page.goto(path, wait_until="load")
        width, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        if width > window:
            problems.append(f"{path}: {width} pixels wide in a window of {window}")
        broken = page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        problems += [f"{path}: {source} does not load" for source in broken]
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
            ".filter(e => !e.labels.length && !e.ariaLabel).map(e => e.outerHTML)"
        )
        problems += [f"{path}: {field} has no label" for field in unnamed]
    return problems


def test_guest_pages_are_whole_and_silent(page: Any) -> None:
    put_into_cart(page, "brisk-red-toolbox")
    submit(page, "button", "Add to Compare")
    assert look(page, GUEST_PAGES) == []


def test_customer_pages_are_whole_and_silent(page: Any) -> None:
    sign_in(page)
    put_into_cart(page, "rook-brass-padlock")
    assert look(page, CUSTOMER_PAGES) == []


def test_choosing_an_order_sorts_at_once(page: Any) -> None:
    page.goto("/catalogsearch/result/?q=teapot")
    with page.expect_navigation():
        page.get_by_label("Sort by").select_option("Price: Low to High")
    assert page.get_by_label("Sort by").input_value() == "price"
    assert page.locator(".product-item-link").first.inner_text() == "Elba Red Teapot"


def test_removing_a_line_asks_first(page: Any) -> None:
    put_into_cart(page, "brisk-red-toolbox")
    page.goto("/checkout/cart/")
    remove = page.get_by_role("button", name="Remove Brisk Red Toolbox")
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    remove.click()
    assert asked == ["Remove Brisk Red Toolbox from your cart?"]
    assert remove.is_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    with page.expect_navigation():
        remove.click()
    assert page.get_by_text("You have no items in your shopping cart.").is_visible()


def test_size_guide_opens_in_a_new_tab(page: Any) -> None:
    page.goto("/halden-animal-t-shirt.html")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Size guide").click()
    opened.value.wait_for_load_state()
    assert opened.value.get_by_role("heading", name="Size Guide").is_visible()


def test_new_address_fields_show_when_asked_for(page: Any) -> None:
    sign_in(page)
    put_into_cart(page, "rook-brass-padlock")
    page.goto("/checkout/")
    assert not page.get_by_label("Street address").is_visible()
    page.get_by_label("A new address").check()
    assert page.get_by_label("Street address").is_visible()


def test_filter_is_folded_until_opened(page: Any) -> None:
    page.goto("/clothing.html")
    assert not page.get_by_label("Brand").is_visible()
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("Colour").select_option("Pink")
    submit(page, "button", "Apply")
    assert all("Pink" in name for name in page.locator(".product-item-link").all_inner_texts())


def test_going_back_shows_the_present_cart_and_refused_forms(page: Any) -> None:
    page.goto("/checkout/cart/")
    put_into_cart(page, "brisk-red-toolbox")
    page.go_back()
    page.go_back()
    assert page.locator("#shopping-cart-table").is_visible()
    page.goto("/contact/")
    submit(page, "button", "Submit")
    page.goto("/offers/")
    page.go_back()
    assert page.get_by_text("Name is a required field.").is_visible()


# How the public tasks of VisualWebArena look at their shop.
LOCATORS = {
    "/brisk-red-toolbox.html": {
        "document.querySelector('#maincontent > div.page-title-wrapper.product > h1 > span').textContent": "Brisk Red",
        "document.querySelector('.product-info-main .price-box.price-final_price .price').innerText": "$58",
    },
    "/wishlist/?limit=50": {"document.querySelector('.products-grid.wishlist').textContent": "Brisk Red Toolbox"},
    "/checkout/cart": {
        "document.querySelector('#shopping-cart-table').textContent": "Brisk Red Toolbox",
        "[...document.querySelectorAll('.item-info')].find(row => row.textContent.includes('T-Shirt'))"
        ".querySelector('td.col.item > div > dl > dd').textContent.trim()": "L",
    },
    "/checkout/#payment": {
        "document.querySelector('#opc-sidebar > div.opc-block-summary > div > div.content.minicart-items > div > ol')"
        ".textContent": "Brisk Red Toolbox",
    },
    "/customer/address/": {
        "document.querySelector('.box-address-shipping').outerText": "35 Mill Lane",
        "document.querySelector('.box-address-billing > div.box-content > address > a').outerText": "555-0133",
    },
    "/customer/account/": {
        "document.querySelector('#maincontent > div.columns > div.column.main > div.block.block-dashboard-addresses"
        " > div.block-content > div.box.box-billing-address > div.box-content > address').textContent": "35 Mill Lane",
    },
    "/sales/order/view/order_id/7/": {
        "document.querySelector('.order-details-items.ordered').outerText": "XF564",
        "document.querySelector('#my-orders-table td.name dl dd').innerText": "41",
        "document.querySelector('#maincontent > div.columns > div.column.main > div.block.block-order-details-view"
        " > div.block-content > div.box.box-order-shipping-address > div > address').textContent": "35 Mill Lane",
    },
    "/catalog/product_compare": {"document.querySelector('#maincontent').textContent": "Brisk Red Toolbox"},
}  # fmt: skip


def test_public_locators_find_what_they_look_for(page: Any) -> None:
    sign_in(page)
    put_into_cart(page, "brisk-red-toolbox")
    submit(page, "button", "Add to Compare")
    submit(page, "button", "Add to Wish List")
    page.goto("/halden-animal-t-shirt.html")
    page.get_by_label("Size", exact=True).select_option("L")
    submit(page, "button", "Add to Cart")
    for path, locators in LOCATORS.items():
        page.goto(path)
        for locator, expected in locators.items():
            assert expected in str(page.evaluate(f"() => {locator}")), locator
