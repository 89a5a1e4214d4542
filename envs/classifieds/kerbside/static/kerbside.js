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

// Gallery: a click on a small photo shows it large, without loading the page anew.
const main = document.querySelector(".main-photo");
for (const thumb of document.querySelectorAll(".thumbs a")) {
  thumb.addEventListener("click", (event) => {
    event.preventDefault();
    const picture = main.querySelector("img");
    picture.src = thumb.dataset.large;
    picture.alt = thumb.dataset.alt;
    document.querySelector(".full-size").href = thumb.dataset.page;
    for (const other of document.querySelectorAll(".thumbs a")) other.removeAttribute("aria-current");
    thumb.setAttribute("aria-current", "true");
  });
}

function sheet(text) {
  const styles = new CSSStyleSheet();
  styles.replaceSync(text);
  return styles;
}

// <price-drop was="120.00" now="95.00">: how much less something costs than before.
class PriceDrop extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [PriceDrop.styles];
    const was = Number(this.getAttribute("was"));
    const now = Number(this.getAttribute("now"));
    const badge = document.createElement("span");
    badge.textContent = `${Math.round(100 - (100 * now) / was)}% off`;
    const before = document.createElement("s");
    before.textContent = `was $${was.toFixed(2)}`;
    root.append(badge, " ", before);
  }
}
PriceDrop.styles = sheet(`
  span { background: #c62f2f; color: #fff; font-size: 0.78rem; font-weight: 700; padding: 2px 8px; border-radius: 4px; white-space: nowrap; }
  s { color: #5d6472; font-size: 0.86rem; font-weight: 400; white-space: nowrap; }
`);
customElements.define("price-drop", PriceDrop);

// <star-rating> around a <select>: five buttons in a shadow root instead; the select keeps the value.
class StarRating extends HTMLElement {
  connectedCallback() {
    const select = this.querySelector("select");
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [StarRating.styles];
    const group = document.createElement("div");
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", "Rating");
    const show = () => {
      for (const star of group.children) {
        const number = Number(star.dataset.number);
        star.setAttribute("aria-checked", String(number === Number(select.value)));
        star.classList.toggle("on", number <= Number(select.value));
      }
    };
    for (let number = 1; number <= 5; number += 1) {
      const star = document.createElement("button");
      star.type = "button";
      star.textContent = "★";
      star.dataset.number = String(number);
      star.setAttribute("role", "radio");
      star.setAttribute("aria-label", number === 1 ? "1 star" : `${number} stars`);
      star.addEventListener("click", () => {
        select.value = String(number);
        show();
      });
      group.append(star);
    }
    root.append(group);
    show();
  }
}
StarRating.styles = sheet(`
  button { border: 0; background: none; padding: 0 3px; font-size: 1.9rem; line-height: 1.1; color: #c9ced8; cursor: pointer; }
  button.on { color: #e39b00; }
  button:focus-visible { outline: 3px solid #1d4ed8; border-radius: 4px; }
`);
customElements.define("star-rating", StarRating);
