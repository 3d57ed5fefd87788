// What every page does in the browser: times in the reader's zone, keys, and the menu.
// Everything works without it.

const language = document.documentElement.lang || "en";
const whole = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function ago(at) {
  const seconds = (at - Date.now()) / 1000;
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size || unit === "second") return relative.format(Math.round(seconds / size), unit);
  }
  return "";
}

// times says all moments below an element as the reader does.
export function times(root = document) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const text = element.classList.contains("ago") ? ago(at) : whole.format(at);
    if (element.textContent !== text) element.textContent = text;
    element.title = whole.format(at);
  }
}

times();
setInterval(() => times(), 15000);
document.addEventListener("htmx:after:swap", () => times());
document.addEventListener("mcpvigil:swapped", (event) => times(event.target));

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// Keys: an element with data-key="x" is pressed or focused by that key. ? lists them.
function typing(target) {
  return target.closest("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]") !== null;
}

function act(element) {
  if (element.matches("input:not([type=checkbox], [type=radio]), select, textarea")) {
    element.focus();
    return;
  }
  element.click();
}

// keyed are the elements that have a key and can be seen, the first of each key.
function keyed() {
  const found = new Map();
  for (const element of document.querySelectorAll("[data-key]")) {
    if (!found.has(element.dataset.key) && element.getClientRects().length > 0) found.set(element.dataset.key, element);
  }
  return found;
}

// called is what a person calls an element.
function called(element) {
  const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.getAttribute("placeholder");
  return (label || element.textContent).trim().replace(/\s+/g, " ");
}

const keys = document.getElementById("keys");

function showKeys() {
  if (!keys || keys.open || document.querySelector("dialog[open]")) return;
  const list = keys.querySelector("dl");
  for (const old of list.querySelectorAll("[data-of-page]")) old.remove();
  for (const [key, element] of keyed()) {
    const term = document.createElement("dt");
    const mark = document.createElement("kbd");
    mark.textContent = key;
    term.append(mark);
    const text = document.createElement("dd");
    text.textContent = called(element);
    for (const one of [term, text]) {
      one.dataset.ofPage = "";
      list.append(one);
    }
  }
  keys.showModal();
}

for (const button of document.querySelectorAll("[data-keys]")) {
  button.hidden = false;
  button.addEventListener("click", showKeys);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return; // which Escape closes by itself
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    if (typing(event.target)) event.target.blur();
    return;
  }
  if (typing(event.target)) return;
  if (event.key === "?") {
    event.preventDefault();
    showKeys();
    return;
  }
  const element = keyed().get(event.key);
  if (element) {
    event.preventDefault();
    act(element);
  }
});
