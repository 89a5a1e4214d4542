from __future__ import annotations

import html
import re

import pytest


def names(page: str) -> list[str]:
    found = re.findall(r'class="product-item-link" href="[^"]*">([^<]*)</a>', page)
    return [html.unescape(name) for name in found]


def prices(page: str) -> list[float]:
    return [float(price.replace(",", "")) for price in re.findall(r'<span class="price">\$([\d.,]+)', page)]


def test_home_links_every_category(shop, rows):
    page = shop.get("/")
    for category in rows("SELECT slug, name FROM category"):
        assert f'href="/{category["slug"]}.html"' in page
        assert html.escape(category["name"]) in page


def test_pages_of_a_category_hold_each_product_once(shop, rows):
    pages = [names(shop.get(f"/clothing.html?page={n}")) for n in (1, 2)]
    every = rows(
        "SELECT product.name FROM product JOIN category ON category.id = category_id WHERE category.slug = 'clothing'"
    )
    assert len(pages[0]) == 8
    assert sorted(pages[0] + pages[1]) == sorted(row["name"] for row in every)


@pytest.mark.parametrize("page", ["0", "-1", "99", "x", "", "1e9"])
def test_page_number_that_does_not_exist_leads_to_one_that_does(shop, page):
    assert names(shop.get(f"/clothing.html?page={page}"))


def test_sorting_by_price(shop):
    up = prices(shop.get("/music.html?sort=price"))
    down = prices(shop.get("/music.html?sort=price_desc"))
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert shop.get("/music.html?sort=nonsense") == shop.get("/music.html")


def test_sorting_by_name_and_rating(shop):
    by_name = names(shop.get("/music.html?sort=name"))
    assert by_name == sorted(by_name)
    page = shop.get("/music.html?sort=rating")
    ratings = [float(value) for value in re.findall(r'<span class="rating">([\d.]+) \(', page)]
    assert ratings == sorted(ratings, reverse=True)


def test_filters_combine(shop, rows):
    product = rows("SELECT * FROM product WHERE colour IS NOT NULL AND category_id = 1")[0]
    price = product["price"] // 100
    address = f"/bags-travel.html?brand={product['brand']}&colour={product['colour']}&min={price}&max={price + 1}"
    assert names(shop.get(address)) == [product["name"]]
    assert "No products match your choice." in shop.get("/bags-travel.html?brand=Nobody")


def test_filter_that_is_no_number_says_so(shop):
    page = shop.get("/bags-travel.html?min=cheap")
    assert "Lowest price must be a whole number of dollars." in page
    assert names(page)


def test_search_ranks_products_with_all_words_first(shop, rows):
    product = rows("SELECT name FROM product WHERE noun = 'Backpack'")[0]["name"]
    assert names(shop.get(f"/catalogsearch/result/?q={product}")) == [product]
    found = names(shop.get("/catalogsearch/result/?q=backpack"))
    assert found
    assert all("Backpack" in name for name in found)
    assert names(shop.get("/catalogsearch/result/?q=BACKPACKS")) == found


def test_search_finds_by_sku_and_says_when_nothing_is_found(shop, rows):
    product = rows("SELECT name, sku FROM product")[40]
    assert names(shop.get(f"/catalogsearch/result/?q={product['sku']}")) == [product["name"]]
    nothing = shop.get("/catalogsearch/result/?q=zzzz")
    assert "Your search returned no results." in nothing
    assert '<a href="/#categories">' in nothing, "there is a way on"
    assert "Please enter what you are looking for." in shop.get("/catalogsearch/result/?q=")


def test_search_text_is_escaped(shop):
    page = shop.get("/catalogsearch/result/?q=<script>alert(1)</script>")
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_product_page_tells_everything(shop, rows):
    product = rows("SELECT * FROM product WHERE sizes != '[]' AND stock > 0")[0]
    page = shop.get(f"/{product['slug']}.html")
    for text in (product["name"], product["sku"], f"In stock: {product['stock']}", product["description"]):
        assert html.escape(str(text), quote=False) in page
    assert 'href="/size-guide/" target="_blank"' in page
    assert page.count("<main ") == 1
    assert page.count("<h1") == 1


def test_product_out_of_stock_cannot_be_bought(shop, rows):
    product = rows("SELECT * FROM product WHERE stock = 0 AND sizes = '[]'")[0]
    page = shop.get(f"/{product['slug']}.html")
    assert "Out of stock" in page
    assert re.search(r"<button[^>]*tocart[^>]*disabled", page)
    assert "is out of stock." in html.unescape(shop.add(product["slug"]))


def test_markup_that_public_locators_expect(shop, rows):
    product = rows("SELECT slug, name FROM product")[0]
    page = shop.get(f"/{product['slug']}.html")
    for piece in ('id="maincontent"', 'class="page-title-wrapper product"', 'class="product-info-main"',
                  "price-box price-final_price", 'id="qty"', "tocart", "fotorama__stage__frame",
                  'id="tab-label-reviews-title"'):  # fmt: skip
        assert piece in page, piece


def test_reviews_are_paged_newest_first(shop, rows):
    slug, count = rows(
        "SELECT slug, COUNT(*) FROM product JOIN review ON product_id = product.id GROUP BY slug HAVING COUNT(*) > 5"
    )[0]
    dates = []
    for page in (1, 2):
        dates += re.findall(r'class="review-date">([\d-]+)<', shop.get(f"/reviews/{slug}/?page={page}"))
    assert len(dates) == count
    assert dates == sorted(dates, reverse=True)


def test_review_is_checked_then_stored_and_shown(shop, rows):
    slug = rows("SELECT slug FROM product")[5]["slug"]
    path = f"/reviews/{slug}/write/"
    refused = shop.post(path, rating="9", nickname="", title=" ", detail="")
    for message in ("Please choose a rating.", "Nickname is a required field.", "Review is a required field."):
        assert message in refused
    before = len(shop.state()["reviews"])
    page = shop.post(path, rating="4", nickname="<b>Ann</b>", title="Fine", detail="Line one\nLine two")
    assert "You submitted your review." in page
    assert "&lt;b&gt;Ann&lt;/b&gt;" in page
    stored = shop.state()["reviews"][before:]
    assert [(r["rating"], r["author"], r["title"]) for r in stored] == [(4, "<b>Ann</b>", "Fine")]


def test_comparison_holds_four_products(shop, rows):
    slugs = [row["slug"] for row in rows("SELECT slug FROM product LIMIT 5")]
    for slug in slugs[:4]:
        shop.post("/catalog/product_compare/change/", product=slug)
    assert "at most" in shop.post("/catalog/product_compare/change/", product=slugs[4])
    page = shop.get("/catalog/product_compare/")
    assert all(f"/{slug}.html" in page for slug in slugs[:4])
    shop.post("/catalog/product_compare/change/", product=slugs[0], action="remove")
    assert f'href="/{slugs[0]}.html"' not in shop.get("/catalog/product_compare/")
