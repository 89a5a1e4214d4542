"""Tasks that are done by clicking what is named, found or counted."""

from __future__ import annotations

import re
from collections.abc import Callable

from .page import Page, Steps, click, ordinal, submit


def named_button(page: Page) -> Steps:
    """Click on the "Ok" button."""
    yield from click(page, "button", page.quoted()[0])


def only_button(page: Page) -> Steps:
    """Click the button."""
    yield from click(page, "button")


def buttons_in_order(page: Page) -> Steps:
    """Click button ONE, then click button TWO."""
    for name in re.findall(r"button ([A-Z]+)", page.goal):
        yield from click(page, "button", name)


def link(page: Page) -> Steps:
    """Click on the link "nam"."""
    yield from click(page, "link", page.quoted()[0])


def dialog(page: Page) -> Steps:
    """Close the dialog box by clicking the "x", or press the button that is named."""
    name = page.quoted()[0]
    yield from click(page, "button", "Close" if name == "x" else name)


def tab(page: Page) -> Steps:
    """Click on Tab #1."""
    yield from click(page, "link", page.asked(r"(Tab #\d+)")[0])


def link_behind_tabs(page: Page) -> Steps:
    """Switch between the tabs to find and click on the link "euismod."."""
    wanted = page.quoted()[0]
    for name in [each.name for each in page.all("tab")]:
        yield from click(page, "link", name)
        if not page.has("link", wanted):
            yield "scroll [down]"
        if page.has("link", wanted):
            yield from click(page, "link", wanted)
            return
        yield "scroll [up]"


def section(page: Page) -> Steps:
    """Expand the section below and click submit."""
    yield from click(page, "tab")
    yield from submit(page)


def link_in_sections(page: Page) -> Steps:
    """Expand the sections below, to find and click on the link "euismod."."""
    wanted = page.quoted()[0]
    for name in [each.name for each in page.all("tab")]:
        if not page.has("link", wanted):
            yield from click(page, "tab", name)
    yield from click(page, "link", wanted)


def option(page: Page) -> Steps:
    """Select GDKkQ and click Submit."""
    yield from click(page, "radio", page.asked(r"^Select (.*) and click Submit")[0])
    yield from submit(page)


def checkboxes(page: Page) -> Steps:
    """Select kQHh8j, SaIGD and click Submit; or select nothing."""
    names = page.asked(r"^Select (.*) and click Submit")[0]
    for name in [] if names == "nothing" else names.split(", "):
        yield from click(page, "checkbox", name)
    yield from submit(page)


def list_choice(page: Page) -> Steps:
    """Select Bobine from the list and click Submit."""
    name = page.asked(r"^Select (.*) from the list")[0]
    yield f"select [{page.find('combobox').id}] [{name}]"
    yield from submit(page)


def widget(page: Page) -> Steps:
    """Click on a "checkbox" widget."""
    kind = page.quoted()[0]
    role = "textbox" if kind in ("text", "textarea") else kind
    found = page.all(role)
    if role == "textbox":  # a text area is higher than a line
        found.sort(key=lambda field: field.box.height if field.box else 0.0, reverse=kind == "textarea")
    yield f"click [{found[0].id}]"


def menu_path(page: Page) -> Steps:
    """Select Alvera>Terza>Ludovika."""
    *parents, leaf = page.asked(r"^Select (.*)")[0].split(">")
    for name in parents:
        yield f"hover [{page.find('menuitem', name).id}]"
    yield from click(page, "menuitem", leaf)


def odd_or_even(page: Page) -> Steps:
    """Mark the numbers below as odd or even and press submit when done."""
    done = 0
    while True:
        numbers = [int(text) for text in page.words() if re.fullmatch(r"-?\d+", text)]
        if done >= len(numbers):
            break
        yield from click(page, "button", "Odd" if numbers[done] % 2 else "Even", done)
        done += 1
    yield from submit(page)


def ascending_numbers(page: Page) -> Steps:
    """Click on the numbers in ascending order: after the first click they are hidden, so their places count."""
    numbers = sorted((each for each in page.all("clickable") if each.name.isdigit()), key=lambda each: int(each.name))
    for number in numbers:
        near = {each.id: each.box.overlap(number.box) for each in page.all("clickable") if each.box and number.box}
        yield f"click [{max(near, key=lambda each: near[each])}]"


def greatest_card(page: Page) -> Steps:
    """Find and pick the card with the greatest number, then press submit."""
    numbers = [int(each.name) for each in page.all("clickable") if each.name.isdigit()]
    yield from click(page, "clickable", str(max(numbers)))
    yield from submit(page)


def coordinate(page: Page) -> Steps:
    """Click on the grid coordinate (-2,-1): the points lie in five rows and columns around the middle."""
    x, y = map(int, page.asked(r"\((-?\d+),(-?\d+)\)"))
    points = [each for each in page.all("clickable") if each.box is not None]
    columns = sorted({round(each.box.x) for each in points if each.box})
    rows = sorted({round(each.box.y) for each in points if each.box})
    at = (columns[len(columns) // 2 + x], rows[len(rows) // 2 - y])
    meant = next(each for each in points if each.box and (round(each.box.x), round(each.box.y)) == at)
    yield f"click [{meant.id}]"


def tree(page: Page) -> Steps:
    """Navigate through the file tree; find and click on the folder or file named "Truman"."""
    wanted, opened = page.quoted()[0], set[str]()
    while not page.has("clickable|link", wanted):
        closed = [each for each in page.all("clickable") if each.name not in opened]
        opened.add(closed[0].name)
        yield f"click [{closed[0].id}]"
    yield from click(page, "clickable|link", wanted)


def phone_book(page: Page) -> Steps:
    """Find Sayre in the contact book and click on their address."""
    name, what = page.asked(r"^Find (\w+) in the contact book and click on their (.*)\.")
    while name not in page.words():
        yield from click(page, "link", ">")
    yield from click(page, "link", None, ("phone number", "email", "address").index(what))


def search_result(page: Page) -> Steps:
    """Use the textbox to enter "Riley" and press "Search", then find and click the 7th search result."""
    place = ordinal(page.asked(r"the (\d+\w\w) search result")[0])
    yield f"type [{page.find('textbox').id}] [{page.quoted()[0]}]"
    yield from click(page, "button", "Search")
    for _ in range(place // 3):
        yield from click(page, "link", ">")
    results = [each for each in page.all("link") if not re.fullmatch(r"\d+|[<>]", each.name)]
    yield f"click [{results[place % 3].id}]"


def ticket(page: Page) -> Steps:
    """Buy the ticket with the cheapest cost, or the shortest duration..."""
    seen: dict[str, float] = {}
    kind = page.asked(r"the (\w+) (?:cost|price|duration)")[0]
    while True:
        lines = page.words()
        for place, text in enumerate(lines):
            hours = re.fullmatch(r"(\d+)h (\d+)m", text)
            if hours and place + 1 < len(lines) and lines[place + 1].startswith("Book for"):
                seen[lines[place + 1]] = int(hours[1]) * 60 + int(hours[2])
        if page.observation.scroll.below <= 1:
            break
        yield "scroll [down]"
    by_cost = "duration" not in page.goal
    measure: Callable[[str], float] = (lambda name: float(name.rpartition("$")[2])) if by_cost else seen.__getitem__
    best = (max if kind in ("longest", "most", "highest", "priciest") else min)(seen, key=measure)
    yield from click(page, "button", best)


SOLVERS = {
    "ascending-numbers": ascending_numbers,
    "buy-ticket": ticket,
    "choose-list": list_choice,
    "click-button": named_button,
    "click-button-sequence": buttons_in_order,
    "click-checkboxes": checkboxes,
    "click-checkboxes-large": checkboxes,
    "click-checkboxes-transfer": checkboxes,
    "click-collapsible": section,
    "click-collapsible-2": link_in_sections,
    "click-collapsible-2-nodelay": link_in_sections,
    "click-collapsible-nodelay": section,
    "click-dialog": dialog,
    "click-dialog-2": dialog,
    "click-link": link,
    "click-menu": menu_path,
    "click-option": option,
    "click-tab": tab,
    "click-tab-2": link_behind_tabs,
    "click-tab-2-easy": link_behind_tabs,
    "click-tab-2-hard": link_behind_tabs,
    "click-tab-2-medium": link_behind_tabs,
    "click-test": only_button,
    "click-test-2": buttons_in_order,
    "click-test-transfer": buttons_in_order,
    "click-widget": widget,
    "find-greatest": greatest_card,
    "grid-coordinate": coordinate,
    "navigate-tree": tree,
    "odd-or-even": odd_or_even,
    "phone-book": phone_book,
    "search-engine": search_result,
    "unicode-test": named_button,
}
"""Page -> solver."""
