"""Pages beside the goods: offers, gift registries, size guide, delivery, contact."""

from starlette.responses import Response

from confkv_agents.web.sitekit import Field, check

from .baskets import SHIPPING
from .forms import EMAIL
from .listing import products_where
from .visit import Visit

_CONTACT = (
    Field("name", "Name", autocomplete="name"),
    EMAIL,
    Field("telephone", "Phone number", required=False, kind="phone", autocomplete="tel"),
    Field("comment", "What's on your mind?", kind="lines", longest=2000),
)


def offers(visit: Visit) -> Response:
    """All offers, by title; each has a page of its own with the code."""
    return visit.show("offers.html", offers=visit.db.execute("SELECT * FROM coupon ORDER BY rowid").fetchall())


def offer(visit: Visit) -> Response:
    """One offer with its code."""
    row = visit.one("SELECT * FROM coupon WHERE slug = ?", visit.path("slug"))
    category = visit.db.execute("SELECT * FROM category WHERE id = ?", (row["category_id"],)).fetchone()
    return visit.show("offer.html", offer=row, category=category)


def registries(visit: Visit) -> Response:
    """All gift registries."""
    return visit.show("registries.html", registries=visit.db.execute("SELECT * FROM registry ORDER BY id").fetchall())


def registry(visit: Visit) -> Response:
    """One gift registry: what is wished for and where it shall be sent."""
    row = visit.one("SELECT * FROM registry WHERE slug = ?", visit.path("slug"))
    products = products_where(
        visit.db, "product.id IN (SELECT product_id FROM registry_item WHERE registry_id = ?)", row["id"]
    )
    counts = dict(
        tuple(item)
        for item in visit.db.execute(
            "SELECT product_id, quantity FROM registry_item WHERE registry_id = ?", (row["id"],)
        )
    )
    return visit.show("registry.html", registry=row, products=products, counts=counts)


def size_guide(visit: Visit) -> Response:
    """Sizes in centimetres."""
    return visit.show("size_guide.html")


def delivery(visit: Visit) -> Response:
    """What delivery costs."""
    return visit.show("delivery.html", methods=SHIPPING)


def contact(visit: Visit) -> Response:
    """The contact form and its receiver."""
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if visit.customer is not None:
        values = {
            "name": f"{visit.customer['first']} {visit.customer['last']}",
            "email": visit.customer["email"],
        }
    if visit.posted:
        values, errors = check(_CONTACT, visit.form)
        if not errors:
            visit.db.execute(
                "INSERT INTO message (name, email, telephone, comment) VALUES (:name, :email, :telephone, :comment)",
                values,
            )
            visit.flash("Thanks for contacting us. We will answer as soon as we can.")
            return visit.go("/contact/")
    return visit.show("contact.html", fields=_CONTACT, values=values, errors=errors)
