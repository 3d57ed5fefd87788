// The review in the browser: keys between items, how much is ticked, and the choice of
// what is decided. It works without.

const items = () => [...document.querySelectorAll("[data-item]")];
const typing = (target) => target.closest("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]") !== null;

// current is the item that the reader is at.
function current() {
  const focused = document.activeElement?.closest("[data-item]");
  if (focused) return items().indexOf(focused);
  return items().findIndex((item) => item.getBoundingClientRect().bottom > 80) - 1;
}

function move(step) {
  const all = items();
  const next = all[Math.min(Math.max(current() + step, 0), all.length - 1)];
  if (!next) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
  if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "x") {
    const box = document.activeElement?.closest("[data-item]")?.querySelector("header [data-choice]");
    if (!box) return;
    box.checked = !box.checked;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  } else return;
  event.preventDefault();
});

function count() {
  const ticked = document.querySelectorAll("[data-choice]:checked").length;
  const output = document.querySelector("[data-chosen]");
  if (output) output.textContent = `${output.dataset.chosen} ${ticked}`;
  const tally = document.querySelector("[data-tally]");
  const begun = items().filter((item) => item.querySelector("[data-choice]:checked")).length;
  if (tally) tally.textContent = `${begun} ${tally.dataset.tally}`;
}

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-choice]")) return;
  // The box of a whole item stands for all in it.
  const item = event.target.closest("[data-item]");
  const whole = item?.querySelector("[data-whole]");
  const single = item ? [...item.querySelectorAll("[data-single]")] : [];
  if (whole && event.target === whole) for (const box of single) box.checked = whole.checked;
  else if (whole) whole.checked = single.every((box) => box.checked);
  const chosen = document.querySelector('input[name="what"][value="chosen"]');
  if (chosen && event.target.checked) chosen.checked = true;
  count();
});
document.addEventListener("htmx:after:swap", count);
count();
