"""The snapshot parser reads exactly what Playwright writes, whatever names pages give."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confkv_agents.web.browser import Browser
from confkv_agents.web.tree import Box, SnapshotError, add_frame_offsets, clean, parse_snapshot

SNAPSHOT = """\
- generic [active] [ref=e1] [box=8,8,1264,704]:
  - 'heading "Head: \\"x\\" [1]" [level=1] [ref=e2] [box=8,8,1264,38]'
  - link "A two" [ref=e3] [cursor=pointer] [box=8,88,93,19]:
    - /url: /p?x=1
  - 'button "it''s [ref=e99]" [ref=e4] [box=101,88,23,21]': s
  - combobox "Sort" [ref=e7] [box=485,89,50,19]:
    - option "One" [box=0,0,0,0]
    - option "Two" [selected] [box=0,0,0,0]
  - paragraph [ref=e11] [box=8,125,1264,19]: "with: colon"
  - iframe [ref=e28] [box=8,412,304,154]:
    - button "in frame" [ref=f1e2] [box=8,8,72,21]
  - text: after"""


def test_roles_names_refs_boxes_values_and_nesting() -> None:
    root = parse_snapshot(SNAPSHOT)
    body = root.children[0]
    heading, link, button, sort, paragraph, frame, after = body.children
    assert (heading.role, heading.name, heading.states) == ("heading", 'Head: "x" [1]', {"level": "1"})
    assert (link.name, link.ref, link.url, link.clickable) == ("A two", "e3", "/p?x=1", True)
    assert (button.name, button.ref, button.value) == ("it's [ref=e99]", "e4", "s")
    assert [option.name for option in sort.children if "selected" in option.states] == ["Two"]
    assert sort.children[0].box is None
    assert paragraph.value == "with: colon"
    assert (after.role, after.name) == ("text", "after")
    assert frame.children[0].box == Box(8, 8, 72, 21)


def test_boxes_in_frames_become_the_windows() -> None:
    root = parse_snapshot(
        "- iframe [ref=e1] [box=100,50,300,300]:\n"
        "  - iframe [ref=f1e1] [box=10,20,200,200]:\n"
        '    - button "x" [ref=f2e1] [box=1,2,30,10]'
    )
    add_frame_offsets(root, {"e1": (2, 3), "f1e1": (5, 5)})
    *_, button = root.walk()
    assert button.box == Box(100 + 2 + 10 + 5 + 1, 50 + 3 + 20 + 5 + 2, 30, 10)


@pytest.mark.parametrize("line", ["button", '- button "x', "- 'button", '- button "x" nonsense', "- button [box=a,b]"])
def test_unknown_lines_are_refused(line: str) -> None:
    with pytest.raises(SnapshotError):
        parse_snapshot(line)


def written(name: str) -> str:
    """As Playwright's outline writes a button: JSON for the name, YAML's single quotes where needed."""
    key = f"button {json.dumps(name, ensure_ascii=False)} [ref=e5]"
    return "- '" + key.replace("'", "''") + "'"


@given(st.text(st.characters(blacklist_characters="\n\r")))
def test_any_name_is_read_as_one_button(name: str) -> None:
    root = parse_snapshot(written(name))
    assert len(root.children) == 1
    button = root.children[0]
    assert (button.role, button.ref, button.name) == ("button", "e5", clean(name))


@given(st.text())
def test_cleaned_text_is_one_printable_line_that_can_be_encoded(text: str) -> None:
    line = clean(text)
    line.encode("utf-8")
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert clean(line) == line


ODD_NAMES = [
    "plain",
    "colon: here",
    "ends with colon:",
    "- dash",
    "# hash",
    "'quoted'",
    '"double"',
    "mixed 'a' \"b\"",
    "[ref=e1]",
    "back\\slash \\n",
    "{brace} [bracket] & * ! | > % @ `",
    "true",
    "null",
    "12",
    "1.5e3",
    "~",
    "? question",
    "/url: /evil",
    "text: fake",
    "caf\u00e9 \u4e2d\u6587 \u05d0 \U0001f468\u200d\U0001f680",
    "a" * 300,
    "trailing \\",
    "=value",
    "<b>tag</b>",
]


@pytest.mark.browser
def test_names_of_a_real_page_survive(browser: Browser) -> None:
    context = browser.new_context()

    def read() -> str:
        page = context.new_page()
        page.set_content("<body></body>")
        page.evaluate(
            """names => { for (const name of names) {
              const button = document.createElement('button');
              button.setAttribute('aria-label', name);
              const text = document.createElement('p');
              text.textContent = name;
              const field = document.createElement('input');
              field.value = name;
              document.body.append(button, text, field);
            } }""",
            ODD_NAMES,
        )
        return page.aria_snapshot(mode="ai", boxes=True)

    root = parse_snapshot(browser.call(read))
    browser.call(context.close)
    nodes = list(root.walk())
    expected = [clean(name) for name in ODD_NAMES]
    assert [node.name for node in nodes if node.role == "button"] == expected
    assert [node.value for node in nodes if node.role == "paragraph"] == expected
    assert [node.value for node in nodes if node.role == "textbox"] == expected
