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

// Keys: an element with data-key="x" is pressed or focused by that key. ? shows them.
function typing(target) {
  return target.closest("input, select, textarea, [contenteditable]") !== null;
}

function act(element) {
  if (element.matches("input, select, textarea")) {
    element.focus();
    return;
  }
  element.click();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    if (typing(event.target)) event.target.blur();
    return;
  }
  if (typing(event.target)) return;
  if (event.key === "?") {
    document.documentElement.toggleAttribute("data-keys");
    return;
  }
  for (const element of document.querySelectorAll("[data-key]")) {
    if (element.dataset.key === event.key && element.getClientRects().length > 0) {
      event.preventDefault();
      act(element);
      return;
    }
  }
});
