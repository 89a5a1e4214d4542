"""goto, go_back, go_forward, and the tabs."""

from __future__ import annotations

from urllib.parse import urljoin

from confkv_agents.errors import ActionError
from confkv_agents.web.actions.context import ActionContext, reason
from confkv_agents.web.actions.grammar import Action
from confkv_agents.web.network import host_of
from confkv_agents.web.text import quote, shown_address, unquoted


def goto(context: ActionContext, action: Action) -> str:
    """Open an address; without scheme it is taken relative to the page (`/cart`) or as a host."""
    text = action.text.strip().strip("<>\"'")
    if not text:
        raise ActionError("goto needs an address: goto [url]")
    try:
        url = _whole_address(context, context.sites.resolve(text))
        host = host_of(url)
    except ValueError as error:
        raise ActionError(f"{quote(text, 80)} is no address ({unquoted(str(error))})") from error
    if url != "about:blank" and (url.startswith(("data:", "blob:", "about:")) or not context.allow.allows(url)):
        here = context.sites.show(context.allow.describe())
        raise ActionError(f"{quote(host, 80)} is not part of this task; pages here: {here}")
    return _open(context, url)


def _whole_address(context: ActionContext, url: str) -> str:
    """The address with scheme and host. Raises ActionError, or ValueError for what is no address."""
    if url.startswith(("/", "?", "#", "./")):
        if not context.page.url.startswith("http"):
            raise ActionError(f"{quote(url)} has no host, and neither has the current page; write the whole address")
        return urljoin(context.page.url, url)
    if "://" not in url and not url.startswith(("about:", "data:", "javascript:", "file:", "chrome:")):
        return context.sites.resolve("http://" + url)
    return url


def _open(context: ActionContext, url: str) -> str:
    from playwright.sync_api import Error, TimeoutError

    shown = shown_address(context.sites.show(url))
    for attempt in range(2):
        try:
            context.page.goto(url, wait_until="commit", timeout=context.navigation_ms)
        except TimeoutError as error:
            raise ActionError(f"{shown} did not answer within {context.navigation_ms / 1000:g} s") from error
        except Error as error:
            if attempt == 0 and "interrupted by another navigation" in str(error):
                continue  # an error page was still on its way
            if "ERR_ABORTED" in str(error):  # a download, or an answer without content
                return f"{shown} gave no page"
            raise ActionError(f"{shown} could not be opened: {reason(error)}") from error
        break
    return f"opened {shown}"


def go_back(context: ActionContext, action: Action) -> str:
    """Go to the previous page of the tab."""
    return _travel(context, -1)


def go_forward(context: ActionContext, action: Action) -> str:
    """Go to the next page of the tab again."""
    return _travel(context, +1)


def _travel(context: ActionContext, step: int) -> str:
    from playwright.sync_api import Error, TimeoutError

    page = context.page
    word = "previous" if step < 0 else "next"
    before = page.url
    try:
        move = page.go_back if step < 0 else page.go_forward
        answer = move(wait_until="commit", timeout=context.navigation_ms)
    except TimeoutError as error:
        raise ActionError(f"the {word} page did not answer within {context.navigation_ms / 1000:g} s") from error
    except Error as error:
        raise ActionError(f"the {word} page could not be opened: {reason(error)}") from error
    if answer is None and page.url == before:
        raise ActionError(f"there is no {word} page in this tab")
    return f"went {'back' if step < 0 else 'forward'} to {shown_address(context.sites.show(page.url))}"


def new_tab(context: ActionContext, action: Action) -> str:
    """Open an empty tab and make it the current one."""
    context.tabs.open()
    return f"opened tab {context.tabs.active_index}, which is empty; use goto to fill it"


def tab_focus(context: ActionContext, action: Action) -> str:
    """Switch to another tab."""
    context.tabs.focus(action.target or 0)
    return f"switched to tab {action.target}"


def close_tab(context: ActionContext, action: Action) -> str:
    """Close the current tab."""
    number = context.tabs.active_index
    context.tabs.close()
    return f"closed tab {number}"
