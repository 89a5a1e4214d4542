// Small helpers; every page also works without them.
"use strict";

for (const form of document.querySelectorAll("form[data-submit-on-change]")) {
  form.addEventListener("change", () => form.submit());
}

for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!window.confirm(form.dataset.confirm)) event.preventDefault();
  });
}

// A vote is counted in place: the list does not jump back to its beginning.
function showVote(form, score, vote) {
  form.querySelector(".vote__net-score").textContent = score;
  form.classList.toggle("vote--user-upvoted", vote === 1);
  form.classList.toggle("vote--user-downvoted", vote === -1);
  const buttons = [[form.querySelector(".vote__up"), 1], [form.querySelector(".vote__down"), -1]];
  for (const [button, value] of buttons) {
    button.value = vote === value ? 0 : value;
    button.setAttribute("aria-pressed", String(vote === value));
  }
}

for (const form of document.querySelectorAll("form[data-vote]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = new URLSearchParams({ choice: event.submitter.value });
    const answer = await fetch(form.action, { method: "POST", headers: { Accept: "application/json" }, body });
    if (answer.status === 401) location.assign("/login");
    else if (answer.ok) {
      const { score, vote } = await answer.json();
      showVote(form, score, vote);
    }
  });
}

for (const button of document.querySelectorAll("button[data-collapse]")) {
  const comment = button.closest(".comment");
  const parts = [...comment.querySelectorAll("[data-folds]")].filter((part) => part.closest(".comment") === comment);
  button.hidden = false;
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    for (const part of parts) part.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "Collapse" : "Expand";
  });
}

for (const form of document.querySelectorAll("form[data-kinds]")) {
  const choose = () => {
    const kind = form.elements.kind.value;
    for (const part of form.querySelectorAll("[data-for]")) part.hidden = part.dataset.for !== kind;
  };
  form.addEventListener("change", choose);
  choose();
}

// Covered text: the words stay in the page, their cover lies in a shadow tree.
class SpoilerText extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    const shadow = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(
      "button { font: inherit; font-size: 0.88em; color: #fff; background: #4b5563; border: 0; border-radius: 6px;" +
        " padding: 2px 10px; cursor: pointer; } button:hover { background: #374151; }" +
        " .open { background: #fdf0d5; border-radius: 4px; padding: 0 4px; }",
    );
    shadow.adoptedStyleSheets = [sheet];
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Show spoiler";
    button.addEventListener("click", () => {
      const text = document.createElement("span");
      text.className = "open";
      text.append(document.createElement("slot"));
      button.replaceWith(text);
    });
    shadow.append(button);
  }
}
customElements.define("spoiler-text", SpoilerText);
