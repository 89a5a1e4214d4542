"""Pages to look around: home, categories, search, products, reviews, comparison, and the pictures."""

import hashlib
import json
import sqlite3

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from confkv_agents.web.sitekit import Field, check, whole_number

from .listing import list_products, products_where, search
from .pictures import PictureSpec
from .seeding import TODAY
from .visit import Visit

_REVIEWS_PAGE = 5
_MOST_COMPARED = 4
_REVIEW = (
    Field("nickname", "Nickname", longest=40),
    Field("title", "Summary", longest=100),
    Field("detail", "Review", kind="lines", longest=2000),
)


def home(visit: Visit) -> Response:
    """The shop's first page."""
    categories = visit.db.execute(
        "SELECT category.*, product.slug AS cover FROM category JOIN product ON product.id = cover_id"
        " ORDER BY category.name"
    ).fetchall()
    return visit.show("home.html", categories=categories)


def by_slug(visit: Visit) -> Response:
    """A category or a product: both have addresses of the form /name.html."""
    slug = visit.path("slug")
    category = visit.db.execute("SELECT * FROM category WHERE slug = ?", (slug,)).fetchone()
    if category is not None:
        products = products_where(visit.db, "category_id = ?", category["id"])
        listing = list_products(products, visit.query)
        return visit.show("category.html", category=category, listing=listing)
    found = products_where(visit.db, "product.slug = ?", slug)
    if not found:
        raise HTTPException(404)
    product = found[0]
    reviews = visit.db.execute(
        "SELECT * FROM review WHERE product_id = ? ORDER BY created DESC, id DESC LIMIT 2", (product["id"],)
    ).fetchall()
    return visit.show(
        "product.html",
        product=product,
        reviews=reviews,
        specs=json.loads(product["specs"]),
        sizes=json.loads(product["sizes"]),
    )


def search_page(visit: Visit) -> Response:
    """Search results."""
    text = visit.query.get("q", "").strip()[:100]
    listing = list_products(search(visit.db, text), visit.query, own_order="Relevance")
    return visit.show("search.html", searched=text, listing=listing)


def reviews_page(visit: Visit) -> Response:
    """All reviews of a product, some at a time."""
    product = _product(visit)
    pages = max(1, -(-product["reviews"] // _REVIEWS_PAGE))
    page = min(whole_number(visit.query.get("page", "1"), 1, 99) or 1, pages)
    reviews = visit.db.execute(
        "SELECT * FROM review WHERE product_id = ? ORDER BY created DESC, id DESC LIMIT ? OFFSET ?",
        (product["id"], _REVIEWS_PAGE, (page - 1) * _REVIEWS_PAGE),
    ).fetchall()
    return visit.show("reviews.html", product=product, reviews=reviews, page=page, pages=pages)


def write_review(visit: Visit) -> Response:
    """The form for a review, and its receiver."""
    product = _product(visit)
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if visit.customer is not None:
        values["nickname"] = visit.customer["first"]
    if visit.posted:
        values, errors = check(_REVIEW, visit.form)
        rating = whole_number(visit.form.get("rating", ""), 1, 5)
        values["rating"] = str(rating or "")
        if rating is None:
            errors["rating"] = "Please choose a rating."
        if not errors:
            visit.db.execute(
                "INSERT INTO review (product_id, customer_id, author, rating, title, body, created)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    product["id"], visit.session.get("customer"), values["nickname"], rating, values["title"],
                    values["detail"], TODAY.isoformat(),
                ),
            )  # fmt: skip
            visit.flash("You submitted your review. Thank you!")
            return visit.go(f"/reviews/{product['slug']}/")
    return visit.show("write_review.html", product=product, values=values, errors=errors)


def compare(visit: Visit) -> Response:
    """The products that the visitor chose to compare, side by side."""
    products = [products_where(visit.db, "product.id = ?", n)[0] for n in visit.session.get("compare", [])]
    specs = {p["id"]: json.loads(p["specs"]) for p in products}
    names = list(dict.fromkeys(name for spec in specs.values() for name in spec))
    return visit.show("compare.html", products=products, specs=specs, names=names)


def compare_change(visit: Visit) -> Response:
    """Put a product on the comparison list or take it off."""
    product = visit.one("SELECT * FROM product WHERE slug = ?", visit.form.get("product", ""))
    chosen: list[int] = visit.session.setdefault("compare", [])
    if visit.form.get("action") == "remove":
        visit.session["compare"] = [n for n in chosen if n != product["id"]]
        visit.flash(f"You removed {product['name']} from the comparison list.")
        return visit.go("/catalog/product_compare/")
    if product["id"] not in chosen:
        if len(chosen) >= _MOST_COMPARED:
            visit.flash(f"You can compare {_MOST_COMPARED} products at most.", "error")
            return visit.go(f"/{product['slug']}.html")
        chosen.append(product["id"])
    visit.flash(f"You added {product['name']} to the comparison list.")
    return visit.go(f"/{product['slug']}.html")


def picture(request: Request) -> Response:
    """The picture of a product; its address says nothing about what it shows."""
    with request.app.state.database.transaction() as db:
        row = db.execute(
            "SELECT art, tint, pieces, motif FROM product WHERE slug = ?", (request.path_params["slug"],)
        ).fetchone()
    if row is None:
        raise HTTPException(404)
    spec = PictureSpec(row["art"], row["tint"], row["pieces"], row["motif"])
    tag = '"' + hashlib.sha256(repr(spec).encode()).hexdigest()[:16] + '"'
    headers = {"ETag": tag, "Cache-Control": "public, max-age=3600"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(request.app.state.draw(spec), media_type="image/webp", headers=headers)


def _product(visit: Visit) -> sqlite3.Row:
    found = products_where(visit.db, "product.slug = ?", visit.path("slug"))
    if not found:
        raise HTTPException(404)
    return found[0]
