from __future__ import annotations

import html

import pytest

ADDRESS = {
    "email": "ada@mail.test", "first": "Ada", "last": "Berg", "street": "1 Elm Street", "city": "Ashford",
    "postcode": "10482", "country": "United States", "telephone": "555-0100", "method": "Express",
}  # fmt: skip


@pytest.fixture
def plain(rows):
    """Products without sizes, with stock enough."""
    return rows("SELECT * FROM product WHERE sizes = '[]' AND stock BETWEEN 10 AND 19 ORDER BY id")


def cart(shop):
    return shop.state()["carts"][0]["items"]


def test_adding_twice_adds_up(shop, plain):
    assert f"You added {plain[0]['name']} to your shopping cart." in html.unescape(shop.add(plain[0]["slug"]))
    shop.add(plain[0]["slug"], "2")
    assert [(item["sku"], item["quantity"]) for item in cart(shop)] == [(plain[0]["sku"], 3)]
    assert "Cart (3)" in shop.get("/")


@pytest.mark.parametrize("qty", ["0", "-1", "x", "1.5", "", "9999999999999999999999"])
def test_quantity_that_makes_no_sense_is_refused(shop, plain, qty):
    assert "Please enter a quantity of 1 or more." in shop.add(plain[0]["slug"], qty)
    assert shop.state()["carts"] == []


def test_no_more_than_there_is_can_be_ordered(shop, plain):
    stock = plain[0]["stock"]
    assert f"You can order {stock} of" in shop.add(plain[0]["slug"], str(stock + 1))
    shop.add(plain[0]["slug"], str(stock))
    assert f"You can order {stock} of" in shop.add(plain[0]["slug"])


def test_size_must_be_chosen_and_kept_apart(shop, rows):
    slug = rows("SELECT slug FROM product WHERE sizes LIKE '%\"M\"%' AND stock > 5")[0]["slug"]
    assert "Please choose a size." in shop.add(slug)
    assert "Please choose a size." in shop.add(slug, size="XXL")
    shop.add(slug, size="M")
    shop.add(slug, size="L")
    assert [item["size"] for item in cart(shop)] == ["M", "L"]


def test_cart_changes_and_removes_lines(shop, plain, rows):
    shop.add(plain[0]["slug"])
    shop.add(plain[1]["slug"])
    first, second = (row["id"] for row in rows("SELECT id FROM cart_item ORDER BY id"))
    page = shop.post("/checkout/cart/update/", **{f"qty-{first}": "4", f"qty-{second}": "0"})
    assert "Your cart was updated." in page
    assert [item["quantity"] for item in cart(shop)] == [4]
    assert "Please enter a whole number for" in shop.post("/checkout/cart/update/", **{f"qty-{first}": "many"})
    assert "at most" in shop.post("/checkout/cart/update/", **{f"qty-{first}": "99"})
    assert 'data-confirm="Remove' in shop.get("/checkout/cart/")
    assert "You removed" in shop.post("/checkout/cart/remove/", line=str(first))
    assert "You have no items in your shopping cart." in shop.get("/checkout/cart/")


def test_line_of_another_cart_cannot_be_removed(shop, plain, rows, site):
    shop.add(plain[0]["slug"])
    line = rows("SELECT id FROM cart_item")[0]["id"]
    shop.client.cookies.clear()
    assert shop.client.post("/checkout/cart/remove/", data={"line": str(line)}).status_code == 404
    assert len(cart(shop)) == 1


def test_coupon_takes_its_share_of_what_it_covers(shop, rows):
    coupon = rows("SELECT * FROM coupon WHERE category_id IS NOT NULL AND NOT expired")[0]
    covered = rows("SELECT * FROM product WHERE category_id = ? AND sizes = '[]' AND stock > 0", coupon["category_id"])[
        0
    ]
    other = rows("SELECT * FROM product WHERE category_id != ? AND sizes = '[]' AND stock > 0", coupon["category_id"])[
        0
    ]
    shop.add(other["slug"])
    assert "does not apply to anything" in shop.post("/checkout/cart/coupon/", coupon_code=coupon["code"])
    shop.add(covered["slug"])
    page = shop.post("/checkout/cart/coupon/", coupon_code=f" {coupon['code'].lower()} ")
    assert f"You used coupon code {coupon['code']}." in page
    discount = round(covered["price"] * coupon["percent"] / 100)
    total = other["price"] + covered["price"] - discount
    shown = f"${total // 100:,}" + (f".{total % 100:02d}" if total % 100 else "")
    assert f"<td>{shown}</td>" in page
    shop.post("/checkout/cart/coupon/", action="cancel")
    assert shop.state()["carts"][0]["coupon"] is None


@pytest.mark.parametrize(
    ("which", "message"),
    [("expired", "has expired"), ("minimum > 10000000 OR minimum > 0", "is for orders of $100 or more")],
)
def test_coupon_that_does_not_hold_says_why(shop, rows, which, message):
    cheap = rows("SELECT slug FROM product WHERE sizes = '[]' AND stock > 0 ORDER BY price")[0]["slug"]
    shop.add(cheap)
    code = rows(f"SELECT code FROM coupon WHERE {which}")[0]["code"]
    assert message in shop.post("/checkout/cart/coupon/", coupon_code=code)


def test_unknown_and_empty_coupon(shop):
    assert "The coupon code is not valid." in shop.post("/checkout/cart/coupon/", coupon_code="AAAAA")
    assert "Please enter a coupon code." in shop.post("/checkout/cart/coupon/", coupon_code="")


def test_order_from_cart_to_number(shop, plain, rows):
    shop.add(plain[0]["slug"], "2")
    page = shop.post("/checkout/shipping/", **ADDRESS)
    assert "Payment Method" in page
    assert "1 Elm Street" in page
    page = shop.post("/checkout/order/", payment="Bank Transfer")
    order = shop.state()["orders"][-1]
    assert f'class="order-number" href="{order["url"]}">{order["number"]}</a>' in page
    assert order["email"] == "ada@mail.test"
    assert order["shipping_address"]["street"] == "1 Elm Street"
    assert (order["shipping_method"], order["payment_method"]) == ("Express", "Bank Transfer")
    assert order["total"] == 2 * plain[0]["price"] + 1500
    assert [(item["sku"], item["quantity"]) for item in order["items"]] == [(plain[0]["sku"], 2)]
    assert shop.state()["stock"][plain[0]["sku"]] == plain[0]["stock"] - 2
    assert cart(shop) == []
    details = shop.get(order["url"])
    for piece in ("order-details-items ordered", "box-order-shipping-address", plain[0]["sku"], "Pending"):
        assert piece in details


def test_free_delivery_coupon_pays_the_shipping(shop, plain, rows):
    shop.add(plain[0]["slug"])
    shop.post("/checkout/cart/coupon/", coupon_code=rows("SELECT code FROM coupon WHERE free_shipping")[0]["code"])
    shop.post("/checkout/shipping/", **ADDRESS)
    shop.post("/checkout/order/", payment="Bank Transfer")
    order = shop.state()["orders"][-1]
    assert (order["shipping"], order["total"]) == (0, plain[0]["price"])


def test_checkout_marks_every_wrong_field(shop, plain):
    shop.add(plain[0]["slug"])
    page = shop.post("/checkout/shipping/", email="ada", telephone="call me", postcode="?", method="Balloon")
    for message in (
        "Please enter a valid email address.",
        "First name is a required field.",
        "Please enter a valid postcode.",
        "Please enter a valid phone number.",
        "Please choose a shipping method.",
    ):
        assert message in page
    assert 'value="call me"' in page, "what was typed is kept"
    assert len(shop.state()["orders"]) == 8


def test_steps_cannot_be_skipped(shop, plain):
    assert "Your cart is empty." in shop.get("/checkout/")
    shop.add(plain[0]["slug"])
    assert "Shipping Address" in shop.post("/checkout/order/", payment="Bank Transfer")
    shop.post("/checkout/shipping/", **ADDRESS)
    assert "Please choose a payment method." in shop.post("/checkout/order/", payment="")
    assert len(shop.state()["orders"]) == 8
    assert "1 Elm Street" in shop.get("/checkout/?step=shipping"), "going back keeps the address"


def test_goods_that_sold_out_meanwhile_stop_the_order(shop, plain, rows):
    shop.add(plain[0]["slug"])
    shop.post("/checkout/shipping/", **ADDRESS)
    rows("UPDATE product SET stock = 0 WHERE id = ?", plain[0]["id"])
    assert "are left." in shop.post("/checkout/order/", payment="Bank Transfer")
    assert len(shop.state()["orders"]) == 8


def test_order_of_someone_else_is_not_shown(shop, rows):
    shop.sign_in("noah.brandt@shop.test")
    mine, other = (rows("SELECT id FROM orders WHERE customer_id = ?", n)[0]["id"] for n in (2, 1))
    assert shop.client.get(f"/sales/order/view/order_id/{mine}/").status_code == 200
    assert shop.client.get(f"/sales/order/view/order_id/{other}/").status_code == 404


def test_customer_orders_to_a_saved_or_a_new_address(shop, plain):
    shop.sign_in()
    shop.add(plain[0]["slug"])
    shop.post("/checkout/shipping/", address="1", method="Pickup")
    shop.post("/checkout/order/", payment="Pay by Invoice")
    saved = shop.state()["orders"][-1]
    assert saved["customer_id"] == 1
    assert saved["shipping_address"]["street"] == shop.state()["addresses"][0]["street"]
    shop.add(plain[0]["slug"])
    shop.post("/checkout/shipping/", **{**ADDRESS, "address": "new"})
    shop.post("/checkout/order/", payment="Pay by Invoice")
    assert shop.state()["orders"][-1]["shipping_address"]["street"] == "1 Elm Street"
    assert saved["number"] in shop.get("/sales/order/history/")
