// Keys between the rows of the overview, the address of what is shown, and the choice of
// rows. All of it works without this, row by row.

const filter = document.getElementById("filter");

// The address says what is shown, so that it can be kept and sent to others.
function address() {
  const values = new URLSearchParams();
  for (const [name, value] of new FormData(filter)) if (value) values.set(name, value);
  history.replaceState(null, "", values.size ? "/?" + values : "/");
}
filter?.addEventListener("input", address);

function links() {
  return Array.from(document.querySelectorAll(".monitor a.open"));
}

function step(by) {
  const all = links();
  if (all.length === 0) return;
  const row = document.activeElement?.closest(".monitor");
  const at = row ? all.indexOf(row.querySelector("a.open")) : -1;
  const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
  all[next].focus();
  all[next].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const field = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (field) {
    if (event.key === "ArrowDown" && field.type === "search" && field.closest("#filter")) {
      event.preventDefault();
      step(1);
    }
    return;
  }
  const inList = event.target.closest(".monitor") !== null;
  const by = { j: 1, k: -1 }[event.key] ?? (inList ? { ArrowDown: 1, ArrowUp: -1 }[event.key] : undefined);
  if (by) {
    event.preventDefault();
    step(by);
  } else if (event.key === "x" && inList) {
    const box = event.target.closest(".monitor").querySelector("input[type=checkbox]");
    if (box) {
      box.checked = !box.checked;
      chosen();
    }
  }
});

// chosen says how many rows are chosen, and lets nobody act on none.
function chosen() {
  const bar = document.querySelector(".bulk");
  if (!bar) return;
  const boxes = Array.from(document.querySelectorAll(".monitor input[name=id]"));
  const n = boxes.filter((box) => box.checked).length;
  bar.classList.toggle("some", n > 0);
  for (const button of bar.querySelectorAll("button")) button.disabled = n === 0;
  const text = bar.querySelector("[data-chosen]");
  text.dataset.first ??= text.textContent;
  text.textContent = n > 0 ? n + " " + text.dataset.chosen : text.dataset.first;
  const all = bar.querySelector("[data-all]");
  all.closest("label").hidden = false;
  all.checked = n > 0 && n === boxes.length;
  all.indeterminate = n > 0 && n < boxes.length;
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-all]")) {
    for (const box of document.querySelectorAll(".monitor input[name=id]")) box.checked = event.target.checked;
  }
  if (event.target.closest("#bulk")) chosen();
});
document.addEventListener("htmx:after:swap", chosen);
document.addEventListener("mcpvigil:swapped", chosen);
chosen();
