"""Line breaks, which Playwright's snapshot drops from texts: `one<br>two` is `onetwo` there, and `one two` here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from confkv_agents.web.tree import Box, Node, clean

READ_BREAKS = """() => {
  const blocks = new Set();
  for (const mark of [...document.querySelectorAll('br')].slice(0, 1000)) {
    let block = mark.parentElement;
    while (block && getComputedStyle(block).display.startsWith('inline')) block = block.parentElement;
    if (block) blocks.add(block);
  }
  const found = [];
  for (const block of blocks) {
    const box = block.getBoundingClientRect();
    if (box.width <= 0 || box.bottom <= 0 || box.top >= innerHeight) continue;
    const lines = [''];
    const walk = document.createTreeWalker(block, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    while (walk.nextNode()) {
      const node = walk.currentNode;
      if (node.nodeType === 3) {
        if (!['SCRIPT', 'STYLE'].includes(node.parentNode.nodeName)) lines.push(lines.pop() + node.data);
      } else if (node.nodeName === 'BR') lines.push('');
    }
    const told = lines.slice(0, 500).map(line => line.slice(0, 5000));
    if (found.push([told, box.x, box.y, box.width, box.height]) > 99) break;
  }
  return found;
}"""
"""Blocks in view that hold a line break: their lines, and their box."""


def part_lines(root: Node, blocks: Iterable[Sequence[object]]) -> None:
    """Put a space where a text runs over a line break.

    Args:
        root: Parsed snapshot, changed in place.
        blocks: What `READ_BREAKS` gives.
    """
    texts = None
    for lines, *numbers in blocks:
        texts = list(_texts(root)) if texts is None else texts
        box = Box(*(float(str(number)) for number in numbers))
        solid, ends = "", set()
        for line in lines if isinstance(lines, list) else []:
            solid += _solid(clean(str(line)))
            ends.add(len(solid))
        for node, around in texts:
            if around is not None and around.overlap(box) <= 0:
                continue
            text = node.name if node.role == "text" else node.value
            start = solid.find(_solid(text))
            if start < 0:
                continue
            spaced = _spaced(text, {end - start for end in ends})
            if node.role == "text":
                node.name = spaced
            else:
                node.value = spaced


def _texts(root: Node) -> Iterator[tuple[Node, Box | None]]:
    """Nodes that hold a text of two characters or more, with the box that it lies in."""
    stack: list[tuple[Node, Box | None]] = [(root, None)]
    while stack:
        node, around = stack.pop()
        here = node.box or around
        if len(node.name if node.role == "text" else node.value) > 1:
            yield node, here
        stack.extend((child, here) for child in node.children)


def _solid(text: str) -> str:
    return text.replace(" ", "")


def _spaced(text: str, ends: set[int]) -> str:
    """The text with a space behind so many of its characters, white space not counted, unless there is one."""
    parts: list[str] = []
    count = 0
    for character in text:
        if character != " ":
            if count in ends and parts and parts[-1] != " ":
                parts.append(" ")
            count += 1
        parts.append(character)
    return "".join(parts)
