"""type, clear, select, upload: each looks afterwards whether the field holds what was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confkv_agents.errors import ActionError
from confkv_agents.web.actions.context import PATIENCE_MS, ActionContext, reason
from confkv_agents.web.actions.grammar import Action
from confkv_agents.web.observation import Element
from confkv_agents.web.text import quote
from confkv_agents.web.tree import clean

if TYPE_CHECKING:
    from playwright.sync_api import Locator

_FIELD = """element => ({
  kind: element.tagName.toLowerCase(), type: element.type || '',
  disabled: element.matches(':disabled') || element.getAttribute('aria-disabled') === 'true',
  readonly: !!element.readOnly, editable: element.isContentEditable,
  inner: !!element.querySelector('input,textarea,[contenteditable]')})"""
_OPTIONS = """element => [...element.options].map(option => ({label: option.label, value: option.value,
  disabled: option.disabled || !!(option.parentElement.disabled)}))"""
_CHOSEN = "element => [...element.selectedOptions].map(option => option.index)"
_NO_TEXT = frozenset({"checkbox", "radio", "file", "button", "submit", "reset", "image"})


def _look(element: Element, locator: Locator) -> dict[str, Any]:
    from playwright.sync_api import Error

    try:
        found: dict[str, Any] = locator.evaluate(_FIELD, timeout=PATIENCE_MS)
    except Error as error:
        raise ActionError(f"{element} cannot be reached: {reason(error)}") from error
    if found["disabled"]:
        raise ActionError(f"{element} is disabled")
    return found


def _fill(context: ActionContext, number: int | None, text: str) -> tuple[Element, Locator, str]:
    """Replace a field's content; returns what it holds afterwards."""
    from playwright.sync_api import Error

    element, locator = context.locate(number)
    found = _look(element, locator)
    if found["kind"] == "select":
        raise ActionError(f"{element} is a list; write select [{element.id}] [option]")
    if found["kind"] == "input" and found["type"] in _NO_TEXT:
        raise ActionError(f"{element} takes no text")
    if found["kind"] not in ("input", "textarea") and not found["editable"]:
        if not found["inner"]:
            raise ActionError(f"{element} takes no text")
        locator = locator.locator("input,textarea,[contenteditable]").first
        found = _look(element, locator)
    if found["readonly"]:
        raise ActionError(f"{element} is read-only")
    try:
        locator.fill(text, timeout=PATIENCE_MS)
        holds = (
            locator.inner_text(timeout=PATIENCE_MS) if found["editable"] else locator.input_value(timeout=PATIENCE_MS)
        )
    except Error as error:
        raise ActionError(f"{element} could not be filled: {reason(error)}") from error
    return element, locator, holds


def type_text(context: ActionContext, action: Action) -> str:
    """Replace a field's content, then press Enter when asked."""
    from playwright.sync_api import Error

    text = context.sites.resolve(action.text)  # an address that the agent read is meant, not the name shown for it
    element, locator, holds = _fill(context, action.element, text)
    outcome = f"typed {quote(clean(action.text), 200)} into {element}"
    if _squeezed(holds) != _squeezed(text):
        outcome += f", which now holds {quote(clean(holds), 200)}"
    if action.enter:
        try:
            locator.press("Enter", timeout=PATIENCE_MS, no_wait_after=True)
        except Error as error:
            raise ActionError(f"{outcome}, but Enter could not be pressed: {reason(error)}") from error
        outcome += " and pressed Enter"
    return outcome


def clear(context: ActionContext, action: Action) -> str:
    """Empty a field."""
    element, _, holds = _fill(context, action.element, "")
    return f"emptied {element}" + (f", which now holds {quote(clean(holds), 200)}" if holds.strip() else "")


def select(context: ActionContext, action: Action) -> str:
    """Choose an option of a list by label, else by value; made-up lists are opened and clicked."""
    from playwright.sync_api import Error

    element, locator = context.locate(action.element)
    if _look(element, locator)["kind"] != "select":
        return _select_made_up(context, element, locator, action.text)
    try:
        options: list[dict[str, Any]] = locator.evaluate(_OPTIONS, timeout=PATIENCE_MS)
        index = _match(element, action.text, options)
        locator.select_option(index=index, timeout=PATIENCE_MS, no_wait_after=True)
    except Error as error:
        raise ActionError(f"{element} could not be set: {reason(error)}") from error
    label = quote(clean(str(options[index]["label"])), 100)
    try:
        if locator.count() and index not in locator.evaluate(_CHOSEN, timeout=PATIENCE_MS):
            return f"chose {label} in {element}, but the page did not keep it"
    except Error:  # choosing led to another page
        return f"chose {label} in {element}"
    return f"chose {label} in {element}"


def _match(element: Element, wanted: str, options: list[dict[str, Any]]) -> int:
    """Index of the option meant: by label, label without case and spaces, value, then a unique part."""
    key = _squeezed(wanted)
    tests = (
        lambda option: option["label"] == wanted,
        lambda option: _squeezed(option["label"]) == key,
        lambda option: option["value"] == wanted,
    )
    for test in tests:
        for index, option in enumerate(options):
            if test(option):
                if option["disabled"]:
                    raise ActionError(f"option {quote(wanted)} of {element} is disabled")
                return index
    parts = [index for index, option in enumerate(options) if key and key in _squeezed(option["label"])]
    if len(parts) == 1:
        return parts[0]
    labels = ", ".join(quote(clean(str(option["label"])), 60) for option in options[:30])
    problem = "fits several options" if parts else "is no option"
    raise ActionError(f"{quote(wanted, 60)} {problem} of {element}; options: {labels}")


def _select_made_up(context: ActionContext, element: Element, locator: Locator, wanted: str) -> str:
    from playwright.sync_api import Error, TimeoutError

    page = context.page
    role: Any = "radio" if element.role == "radiogroup" else "option"
    choices = page.get_by_role(role, name=wanted)
    try:
        if choices.count() == 0:
            locator.click(timeout=PATIENCE_MS, no_wait_after=True)
            choices = page.get_by_role("option", name=wanted).or_(page.get_by_role("menuitem", name=wanted))
            choices.first.wait_for(state="visible", timeout=PATIENCE_MS)
        choices.first.click(timeout=PATIENCE_MS, no_wait_after=True)
    except TimeoutError as error:
        raise ActionError(
            f"{element} shows no option {quote(wanted, 60)}; click it and choose from what appears"
        ) from error
    except Error as error:
        raise ActionError(f"{element} could not be set: {reason(error)}") from error
    return f"chose {quote(wanted, 100)} in {element}"


def upload(context: ActionContext, action: Action) -> str:
    """Give a file of the task's folder to a file field, or to a button that asks for one."""
    from playwright.sync_api import Error

    element, locator = context.locate(action.element)
    if context.folder is None:
        raise ActionError("this task has no folder with files to upload")
    folder = context.folder.resolve()
    try:
        file = (folder / action.text).resolve()
        inside = file.is_relative_to(folder) and file.is_file()
    except (OSError, ValueError):  # a name that no file can have
        inside = False
    if not inside:
        raise ActionError(f"the task's folder has no file {quote(action.text, 100)}")
    found = _look(element, locator)
    try:
        if found["kind"] == "input" and found["type"] == "file":
            locator.set_input_files(file, timeout=PATIENCE_MS)
        else:
            with context.page.expect_file_chooser(timeout=PATIENCE_MS) as chooser:
                locator.click(timeout=PATIENCE_MS, no_wait_after=True)
            chooser.value.set_files(file, timeout=PATIENCE_MS)
    except Error as error:
        raise ActionError(f"{element} takes no file: {reason(error)}") from error
    return f"gave the file {quote(file.name)} to {element}"


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()
