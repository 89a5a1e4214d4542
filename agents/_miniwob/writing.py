"""Tasks that are done by writing something into fields: told, read, reckoned or found out."""

from __future__ import annotations

import itertools
import re
from calendar import month_name

from confkv_agents.errors import AgentError

from .page import Page, Steps, click, fill, ordinal, submit

_MOST_ALIKE = 3  # five equal actions in a row end an episode


def text(page: Page) -> Steps:
    """Enter "Jerald" into the text field and press Submit."""
    yield from fill(page, page.quoted()[0])
    yield from submit(page)


def text_in_case(page: Page) -> Steps:
    """Type "JERALD" in all lower case letters in the text input and press Submit."""
    word = page.quoted()[0]
    yield from fill(page, word.lower() if "lower case" in page.goal else word.upper())
    yield from submit(page)


def text_shown(page: Page) -> Steps:
    """Type the text below into the text field and press Submit: every letter is drawn by itself."""
    yield from fill(page, "".join(word for word in page.words() if len(word) == 1))
    yield from submit(page)


def password(page: Page) -> Steps:
    """Enter the password "fU" into both text fields and press submit."""
    for nth in (0, 1):
        yield from fill(page, page.quoted()[0], nth)
    yield from submit(page)


def date(page: Page) -> Steps:
    """Enter 10/11/2011 as the date and hit submit."""
    month, day, year = page.asked(r"(\d\d)/(\d\d)/(\d{4})")
    yield from fill(page, f"{year}-{month}-{day}")
    yield from submit(page)


def time(page: Page) -> Steps:
    """Enter 8:04 PM as the time and press submit."""
    hour, minute, half = page.asked(r"(\d+):(\d+) ([AP])M")
    yield from fill(page, f"{int(hour) % 12 + 12 * (half == 'P'):02}:{minute}")
    yield from submit(page)


def login(page: Page) -> Steps:
    """Enter the username "vina" and the password "US" into the text fields and press login; close what pops up."""
    for nth, word in enumerate(page.quoted()):
        while True:
            yield from fill(page, word, nth)
            if page.find("textbox", None, nth).value and not page.has("button", "Cancel"):
                break
            if page.has("button", "Cancel"):
                yield from click(page, "button", "Cancel")
            elif page.find("textbox", None, nth).value:
                break
    yield from submit(page, "Login" if page.has("button", "Login") else "OK")


def word_at(page: Page) -> Steps:
    """Find the 2nd word in the paragraph, type that into the textbox and press "Submit"."""
    words = page.words()[0].split()
    yield from fill(page, words[ordinal(page.asked(r"(\d+\w\w) word")[0])].strip(".,"))
    yield from submit(page)


def focus(page: Page) -> Steps:
    """Focus into the textbox, or into the 2nd one."""
    nth = re.search(r"(\d+\w\w) input", page.goal)
    yield from click(page, "textbox", None, ordinal(nth[1]) if nth else 0)


def copied(page: Page) -> Steps:
    """Copy the text in the textarea, or in the 1st of several, paste it into the textbox and press Submit.

    The keyboard does it: white space, which the observation runs together, counts.
    """
    nth = re.search(r"(\d+\w\w) text area", page.goal)
    full = [place for place, field in enumerate(page.all("textbox")) if field.value]
    empty = next(place for place, field in enumerate(page.all("textbox")) if not field.value)
    yield from click(page, "textbox", None, full[ordinal(nth[1]) if nth else 0])
    yield "press [Control+a]"
    yield "press [Control+c]"
    yield from click(page, "textbox", None, empty)
    yield "press [Control+v]"
    yield from submit(page)


def radio_and_number(page: Page) -> Steps:
    """Check the 1st radio button and enter the number "3" into the 2nd textbox."""
    radio, field = page.asked(r"the (\d+\w\w) radio button .* the (\d+\w\w) textbox")
    yield from click(page, "radio", None, ordinal(radio))
    yield from fill(page, page.quoted()[0], ordinal(field))
    yield from submit(page)


def list_and_button(page: Page) -> Steps:
    """Choose 5ft 9in from the dropdown, then click the button labeled "Yes"."""
    name = page.asked(r"^Choose (.*) from the dropdown")[0]
    yield f"select [{page.find('combobox').id}] [{name}]"
    yield from click(page, "button", page.quoted()[0])


def movie(page: Page) -> Steps:
    """Search for crime movies directed by Curry from year 1995: the labels and their order differ."""
    wanted = page.asked(r"for (.*) movies directed by (.*) from year (\d+)")
    lines = page.observation.body.splitlines()
    kinds = (("Genre",), ("Director",), ("Year", "Date"))
    nth = 0
    for place, line in enumerate(lines):
        if not line.strip().startswith("textbox"):
            continue
        label = lines[place - 1] if "''" in line else line
        which = next(kind for kind, names in enumerate(kinds) if any(name in label for name in names))
        yield from fill(page, wanted[which], nth)
        nth += 1
    last = page.observation.elements[-1]
    yield f"click [{last.id}]"


def from_table(page: Page) -> Steps:
    """Enter the value of Color into the text field, or the values of all labels into their fields."""
    rows = [word.split(" | ") for word in page.words() if " | " in word]
    values = {row[at]: row[at + 1] for row in rows for at in range(0, len(row) - 1, 2)}
    one = re.search(r"the value of (.*) into", page.goal)
    labels = [one[1]] if one else [word[:-1] for word in page.words() if word.endswith(":")]
    for nth, label in enumerate(labels):
        yield from fill(page, values[label], nth)
    yield from submit(page)


def sum_of(page: Page) -> Steps:
    """Solve the math problem and type your answer into the textbox."""
    left, sign, right = _numbers(page, r"(-?\d+) ([-+x*/]) (-?\d+) =")
    results = {"+": int(left) + int(right), "-": int(left) - int(right)}
    yield from fill(page, str(results.get(sign, int(left) * int(right))))
    yield from submit(page)


def equation(page: Page) -> Steps:
    """Solve for x and type your answer into the textbox: one of the two numbers of a sum or difference is x."""
    left, sign, right, result = _numbers(page, r"(-?\d+|x) ([-+]) (-?\d+|x) = (-?\d+)")
    total = int(result)
    if left == "x":
        found = total - int(right) if sign == "+" else total + int(right)
    else:
        found = total - int(left) if sign == "+" else int(left) - total
    yield from fill(page, str(found))
    yield from submit(page)


def _numbers(page: Page, pattern: str) -> tuple[str, ...]:
    for word in page.words():
        if match := re.search(pattern, word):
            return match.groups()
    raise AgentError(f"no {pattern} among {page.words()}")


def completed(page: Page) -> Steps:
    """Enter an item that starts with "Ce" and ends with "lic": the arrow key goes through those that come up."""
    start, *end = page.quoted()
    yield from fill(page, start)
    for turn in itertools.count(1):
        yield "press [ArrowDown]"
        value = page.find("textbox").value
        if value != start and value.startswith(start) and value.endswith(end[0] if end else ""):
            break
        if turn % _MOST_ALIKE == 0:
            yield "wait"
    yield "press [Enter]"
    yield from submit(page)


def spinner(page: Page) -> Steps:
    """Select -7 with the spinner and hit Submit."""
    yield from fill(page, page.asked(r"^Select (-?\d+) with")[0], role="spinbutton")
    yield from submit(page)


def generated(page: Page) -> Steps:
    """Generate a number less than 5, then press submit."""
    kind, bound = page.asked(r"(less than|greater than|odd|even)(?: (-?\d+))?")
    for turn in itertools.count(1):
        yield from click(page, "button", "Generate")
        if turn % _MOST_ALIKE == 0:
            yield "wait"
        number = int(next(word for word in page.words() if re.fullmatch(r"-?\d+", word)))
        fits = {
            "less than": lambda shown: shown < int(bound),
            "greater than": lambda shown: shown > int(bound),
            "odd": lambda shown: shown % 2 == 1,
            "even": lambda shown: shown % 2 == 0,
        }
        if fits[kind](number):
            break
    yield from submit(page)


def guessed(page: Page) -> Steps:
    """Guess the number between 0-9 and press Submit; the page says whether it is lower or higher."""
    low, high = map(int, page.asked(r"between (\d+)-(\d+)"))
    while True:
        guess = (low + high) // 2
        yield from fill(page, str(guess), role="spinbutton")
        yield from submit(page)
        said = " ".join(page.words())
        low, high = (low, guess - 1) if "lower" in said else (guess + 1, high)


def terminal(page: Page) -> Steps:
    """Use the terminal below to delete a file ending with the extension .gif, or one that has none."""
    field = page.find("textbox").id
    yield f"click [{field}]"
    for key in "ls":
        yield f"press [{key}]"
    yield "press [Enter]"
    listing = " ".join(page.words()).rpartition("ls ")[2].split()
    ending = re.search(r"extension (\.\w+)", page.goal)
    name = next(word for word in listing if (word.endswith(ending[1]) if ending else "." not in word))
    for key in f"rm {name}":
        yield "press [Space]" if key == " " else f"press [{key}]"
    yield "press [Enter]"


_MONTHS = list(month_name)[1:]


def calendar(page: Page) -> Steps:
    """Select 03/05/2016 as the date and hit submit: the picker opens in another month."""
    month, day, _ = (int(part) for part in page.asked(r"(\d+)/(\d+)/(\d+)"))
    yield from click(page, "textbox")
    while True:
        shown = next(_MONTHS.index(word.split()[0]) + 1 for word in page.words() if word.split()[0] in _MONTHS)
        if shown == month:
            break
        yield from click(page, "clickable|link|button", "Prev" if month < shown else "Next")
    yield from click(page, "link", str(day))
    yield from submit(page)


SOLVERS = {
    "choose-date": calendar,
    "choose-date-easy": calendar,
    "choose-date-medium": calendar,
    "choose-date-nodelay": calendar,
    "copy-paste": copied,
    "copy-paste-2": copied,
    "enter-date": date,
    "enter-password": password,
    "enter-text": text,
    "enter-text-2": text_in_case,
    "enter-text-dynamic": text,
    "enter-time": time,
    "find-word": word_at,
    "focus-text": focus,
    "focus-text-2": focus,
    "form-sequence-2": radio_and_number,
    "form-sequence-3": list_and_button,
    "generate-number": generated,
    "guess-number": guessed,
    "login-user": login,
    "login-user-popup": login,
    "multi-orderings": movie,
    "read-table": from_table,
    "read-table-2": from_table,
    "simple-algebra": equation,
    "simple-arithmetic": sum_of,
    "terminal": terminal,
    "text-transform": text_shown,
    "use-autocomplete": completed,
    "use-autocomplete-nodelay": completed,
    "use-spinner": spinner,
}
"""Page -> solver."""
