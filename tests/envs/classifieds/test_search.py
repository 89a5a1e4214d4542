from __future__ import annotations

import re

import pytest

from .conftest import address


def titles(page: str) -> list[str]:
    return re.findall(r'<a class="title" href="/index\.php\?page=item&amp;id=\d+">([^<]+)</a>', page)


def numbers(page: str) -> list[int]:
    return [int(n) for n in re.findall(r'<a class="title" href="/index\.php\?page=item&amp;id=(\d+)">', page)]


def all_numbers(guest, **query) -> list[int]:
    found: list[int] = []
    for number in range(1, 40):
        page = guest.get("search", iPage=number, **query)
        found += numbers(page)
        if ">Next</a>" not in page:
            return found
    raise AssertionError("no last page")


def test_all_listings_are_reached_page_by_page_newest_first(guest):
    state = guest.state()["listings"]
    assert len(state) >= 150
    by_time = sorted(state, key=lambda item: (item["created"], item["id"]), reverse=True)
    assert all_numbers(guest) == [item["id"] for item in by_time]


def test_home_shows_categories_with_counts_and_the_latest(guest):
    page = guest.get()
    state = guest.state()
    for category in state["categories"]:
        count = sum(item["category_id"] == category["id"] for item in state["listings"])
        assert count > 8, "every category has a second page"
        pattern = rf'sCategory={category["id"]}">.*?class="soft count">(\d+)<'
        assert re.search(pattern, page)[1] == str(count)
    latest = sorted(state["listings"], key=lambda item: (item["created"], item["id"]))[-8:]
    assert numbers(page) == [item["id"] for item in reversed(latest)]


@pytest.mark.parametrize(
    ("order", "way", "key", "reverse"),
    [("i_price", "asc", "price", False), ("i_price", "desc", "price", True), ("dt_pub_date", "asc", "id", False)],
)
def test_sorting(guest, order, way, key, reverse):
    wanted = sorted(guest.state()["listings"], key=lambda item: item[key], reverse=reverse)
    found = all_numbers(guest, sOrder=order, iOrderType=way)
    assert [next(i[key] for i in wanted if i["id"] == n) for n in found] == [item[key] for item in wanted]


def test_order_chosen_in_the_list_box_is_the_same(guest):
    assert numbers(guest.get("search", sOrder="i_price+asc")) == numbers(
        guest.get("search", sOrder="i_price", iOrderType="asc")
    )


def test_filters_leave_what_they_say(guest):
    state = guest.state()["listings"]
    cities = {"Alder Valley": {"Ashcombe", "Brindle", "Copperton"}}
    wanted = {
        item["id"]
        for item in state
        if item["category_id"] == 6 and 5000 <= item["price"] <= 20050 and item["city"] in cities["Alder Valley"]
    }
    assert wanted
    query = {"sCategory": 6, "sPriceMin": "50", "sPriceMax": "200.50", "sRegion": "Alder+Valley", "bPic": 1}
    assert set(all_numbers(guest, **query)) == wanted
    page = guest.get("search", **query)
    for words in ("Furniture", "Alder Valley", "from $50", "up to $200.50", "with photo"):
        assert f'aria-label="Remove filter {words}"' in page
    assert set(all_numbers(guest, sRegion="Brindle")) == {i["id"] for i in state if i["city"] == "Brindle"}


def test_only_with_photo_leaves_out_listings_without(lena):
    number = lena.draft(title="Lamp without photo")
    lena.post("item", "item_check", id=number)
    assert number in all_numbers(lena, sPattern="lamp")
    assert number not in all_numbers(lena, sPattern="lamp", bPic=1)


@pytest.mark.parametrize(("low", "high", "message"), [
    ("-5", "", "Price from must be an amount"), ("", "lots", "Price to must be an amount"),
    ("9", "3", "Price from is higher than price to."),
])  # fmt: skip
def test_wrong_prices_are_explained(guest, low, high, message):
    page = guest.get("search", sPriceMin=low, sPriceMax=high)
    assert message in page
    assert '<details class="filters" open>' in page


def test_search_wants_every_word_and_knows_plurals(guest):
    for item in guest.state()["listings"][:30]:
        words = re.sub(r"\W+", "+", item["title"])
        assert item["id"] in all_numbers(guest, sPattern=words)
    one, many = (all_numbers(guest, sPattern=word) for word in ("bicycle", "BICYCLES"))
    assert one == many
    assert len(one) == 7
    assert all_numbers(guest, sPattern="bicycle+teapot") == []


def test_hidden_colours_are_not_found_by_search(guest):
    item = guest.listing(kind="bicycle", colour_hidden=True)
    colour = item["facts"]["colour"]
    assert item["id"] not in all_numbers(guest, sPattern=f"{colour}+bicycle")


def test_gallery_and_list_show_the_same(guest):
    plain, gallery = guest.get("search", sCategory=1), guest.get("search", sCategory=1, sShowAs="gallery")
    assert titles(plain) == titles(gallery)
    assert "listing-card" in gallery
    assert "listing-card" not in plain
    assert "sShowAs=gallery" in re.search(r'href="([^"]+)">Next<', gallery)[1], "the next page keeps the view"


def test_nothing_found_says_so(guest):
    assert "No listing fits" in guest.get("search", sPattern="zzzz")


def test_search_text_is_shown_as_text(guest):
    page = guest.client.get("/index.php", params={"page": "search", "sPattern": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_person_wanted_ads_rules_and_tips(guest):
    state = guest.state()
    seller = state["users"][5]
    own = [item["id"] for item in state["listings"] if item["user_id"] == seller["id"]]
    assert sorted(numbers(guest.get("user", "pub_profile", id=seller["id"]))) == own
    assert len(state["wanted"]) == 6
    for ad in state["wanted"]:
        assert ad["reference"] not in guest.get("wanted"), "the reference is a page further"
        assert ad["reference"] in guest.get("wanted", id=ad["id"])
    rules = guest.get("rules")
    assert all(category["tag"] in rules for category in state["categories"])
    for region in state["regions"]:
        assert region["desk"] in guest.get("tips", region=region["name"].replace(" ", "+"))
    assert "Next tip" in guest.client.get(address("tips", region="Northmoor", tip=4)).text
