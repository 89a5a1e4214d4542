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

const newAddress = document.querySelector("input[data-shows]");
if (newAddress) {
  const fields = document.getElementById(newAddress.dataset.shows);
  newAddress.form.addEventListener("change", () => fields.classList.toggle("folded", !newAddress.checked));
}
