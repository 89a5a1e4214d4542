"""A page's visible texts and elements as a flat list, for pages that Playwright's snapshot cannot hold.

A snapshot that nests about 60 roles does not pass the browser's protocol, and asking for it never ends (30 lists inside
of each other do); one of tens of thousands of elements takes longer than an agent should wait. What is in view is then
read by a script of our own, in document order, with handles as in `clicks.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confkv_agents.web.clicks import PREFIX
from confkv_agents.web.tree import Box, Node, clean

DEEPEST = 56
"""Elements inside of each other up to which a snapshot surely can be held."""

READ_DEPTH = """() => {
  let deepest = 0, depth = 0, node = document.documentElement;
  while (node) {
    deepest = Math.max(deepest, depth);
    if (node.firstElementChild) { node = node.firstElementChild; depth += 1; continue; }
    while (node && !node.nextElementSibling) { node = node.parentElement; depth -= 1; }
    if (node) node = node.nextElementSibling;
  }
  return deepest;
}"""
"""How many elements lie inside of each other."""

READ_FLAT = """() => {
  const known = window[Symbol.for('confkv.clicks')], found = [];
  const inputs = {checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox',
    submit: 'button', reset: 'button', button: 'button', image: 'button', file: 'button', color: 'button'};
  const tags = {BUTTON: 'button', SUMMARY: 'button', SELECT: 'combobox', TEXTAREA: 'textbox'};
  const roles = new Set(('button link checkbox radio switch tab option menuitem menuitemcheckbox menuitemradio ' +
    'treeitem textbox searchbox combobox listbox slider spinbutton').split(' '));
  const role = element => {
    const given = (element.getAttribute('role') || '').trim();
    if (roles.has(given)) return given;
    if (element.nodeName === 'INPUT') return element.type === 'hidden' ? '' : inputs[element.type] || 'textbox';
    if (element.nodeName === 'A' && element.hasAttribute('href')) return 'link';
    if (element.isContentEditable && !element.parentElement.isContentEditable) return 'textbox';
    return tags[element.nodeName] || (known && known.heard.has(element) && !element.firstElementChild ? 'generic' : '');
  };
  const inView = box => box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight &&
    box.right > 0 && box.left < innerWidth;
  const look = NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT;
  const walk = document.createTreeWalker(document.body || document.documentElement, look, node => {
    if (node.nodeType === 3) return node.data.trim() ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT;
    if (/^(script|style|noscript|template|option)$/i.test(node.nodeName)) return NodeFilter.FILTER_REJECT;
    if (node.parentElement && role(node.parentElement)) return NodeFilter.FILTER_REJECT;
    return NodeFilter.FILTER_ACCEPT;
  });
  const range = document.createRange();
  let seen = 0;
  while (walk.nextNode() && found.length < 400 && ++seen < 200000) {
    const node = walk.currentNode;
    if (node.nodeType === 3) {
      if (role(node.parentElement)) continue;
      range.selectNodeContents(node);
      const box = range.getBoundingClientRect();
      if (inView(box) && node.parentElement.checkVisibility({visibilityProperty: true}))
        found.push({role: 'text', name: node.data.slice(0, 2000)});
      continue;
    }
    const what = role(node), box = what ? node.getBoundingClientRect() : null;
    if (!what || !inView(box) || !node.checkVisibility({visibilityProperty: true})) continue;
    const label = node.labels && node.labels[0] ? node.labels[0].innerText : '';
    const field = node.nodeName === 'INPUT' || node.nodeName === 'TEXTAREA' || node.nodeName === 'SELECT';
    const own = what === 'button' && field ? node.value : field ? '' : node.innerText;
    const list = node.nodeName === 'SELECT' ? [...node.options].slice(0, 100) : [];
    const options = list.map(each => [each.label, each.selected]);
    found.push({
      role: what, number: known ? known.number(node) : 0, box: [box.x, box.y, box.width, box.height], options,
      name: (node.getAttribute('aria-label') || label || own || node.placeholder || node.title || '').slice(0, 500),
      value: field && !options.length && !['button', 'checkbox', 'radio'].includes(what) && node.type !== 'password'
        ? node.value.slice(0, 2000) : '',
      checked: node.checked === true, disabled: node.disabled === true,
      url: what === 'link' ? node.getAttribute('href') || '' : ''});
  }
  return found;
}"""
"""What is in view, in order: texts, and elements with number, box and what they hold."""


def flat_tree(found: Iterable[Mapping[str, Any]]) -> Node:
    """The tree of a page that has no depth.

    Args:
        found: What `READ_FLAT` gives.
    """
    root = Node("root")
    for each in found:
        node = Node(str(each["role"]), clean(str(each["name"])))
        if node.role != "text":
            node.ref = f"{PREFIX}{each['number']}" if each["number"] else ""
            node.box = Box(*(float(number) for number in each["box"]))
            node.value, node.url = clean(str(each["value"])), str(each["url"])
            node.states = {state: "" for state in ("checked", "disabled") if each[state]}
            node.children = [
                Node("option", clean(str(label)), states={"selected": ""} if selected else {})
                for label, selected in each["options"]
            ]
        root.children.append(node)
    return root
