"""The shop's goods, as members of the forum know them: real names and prices of the same seed.

The forum and the shop of one seed belong together: a post can name what a task then buys. The shop is read from
the folder beside this one, through its own code, so the two cannot drift apart.
"""

import importlib
import importlib.util
import random
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

_STORE = Path(__file__).resolve().parents[2] / "shop" / "store"
_NAME = f"{__name__}_shop"
_LOCK = threading.Lock()
# Art of the forum's pictures -> noun of the shop's goods.
NOUNS = {
    "toolbox": "Toolbox", "guitar": "Guitar", "scarf": "Scarf", "alarm-clock": "Alarm Clock", "yarn": "Yarn",
    "screwdriver": "Screwdriver", "tent": "Tent",
}  # fmt: skip


@dataclass(frozen=True)
class Ware:
    """A product of the shop; `price` as the shop writes it."""

    name: str
    price: str
    category: str
    noun: str
    colour: str | None
    sized: bool


def _shop_database() -> ModuleType:
    with _LOCK:
        if _NAME not in sys.modules:
            spec = importlib.util.spec_from_file_location(
                _NAME, _STORE / "__init__.py", submodule_search_locations=[str(_STORE)]
            )
            if spec is None or spec.loader is None or not (_STORE / "__init__.py").is_file():
                raise FileNotFoundError(f"the forum writes about the shop's goods and needs its folder: {_STORE}")
            package = importlib.util.module_from_spec(spec)
            sys.modules[_NAME] = package
            try:
                spec.loader.exec_module(package)
            except BaseException:
                del sys.modules[_NAME]
                raise
        return importlib.import_module(f"{_NAME}.database")


def _price(cents: int) -> str:
    dollars, rest = divmod(cents, 100)
    return f"${dollars:,}" + (f".{rest:02d}" if rest else "")


@lru_cache(maxsize=16)
def wares(seed: int) -> tuple[Ware, ...]:
    """Goods of the shop of this seed that are in stock and have nothing to hide.

    Raises:
        FileNotFoundError: The shop's folder does not lie beside the forum's.
    """
    shop = _shop_database().build_catalogue(seed)
    try:
        rows = shop.execute(
            "SELECT product.name, price, category.slug, noun, colour, sizes FROM product"
            " JOIN category ON category.id = category_id"
            " WHERE stock > 4 AND pieces = 1 AND motif IS NULL AND (tint IS NULL OR colour IS NOT NULL)"
            " ORDER BY product.id"
        ).fetchall()
    finally:
        shop.close()
    return tuple(Ware(row[0], _price(row[1]), row[2], row[3], row[4], row[5] != "[]") for row in rows)


def fitting(goods: tuple[Ware, ...], nouns: tuple[str, ...]) -> tuple[Ware, ...]:
    """The goods of some nouns; `*` is everything that needs no size and is not eaten."""
    return tuple(
        ware for ware in goods if ware.noun in nouns or ("*" in nouns and not ware.sized and ware.category != "food")
    )


def pair(goods: tuple[Ware, ...], rng: random.Random, used: set[str]) -> tuple[Ware, Ware]:
    """Two different goods, of one category where possible, that no post has named so far where possible."""
    fresh = [ware for ware in goods if ware.name not in used]
    pool = fresh if len(fresh) > 1 else list(goods)
    groups: dict[str, list[Ware]] = {}
    for ware in pool:
        groups.setdefault(ware.category, []).append(ware)
    large = sorted(name for name, members in groups.items() if len(members) > 1)
    first, second = rng.sample(groups[rng.choice(large)] if large else pool, 2)
    used |= {first.name, second.name}
    return first, second
