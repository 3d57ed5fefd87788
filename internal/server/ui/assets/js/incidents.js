// The list of incidents is kept up to date, and j and k go through it.

const list = document.getElementById("incidents");

// The zone of the reader, for what ends tomorrow.
for (const field of document.querySelectorAll("[data-zone]")) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
}

// Nothing moves under a hand that ticks, or under the focus.
function busy() {
  return document.hidden || list.querySelector("input:checked") !== null || list.contains(document.activeElement);
}

async function refresh() {
  if (busy()) return;
  try {
    const answer = await fetch(list.dataset.live, { headers: { "HX-Request": "true" }, redirect: "manual" });
    if (!answer.ok || busy()) return;
    list.innerHTML = await answer.text();
    list.dispatchEvent(new CustomEvent("mcpvigil:swapped", { bubbles: true }));
  } catch {
    // The next one may work.
  }
}

if (list) {
  setInterval(refresh, 10000);
  list.addEventListener("change", (event) => {
    if (!event.target.matches("[data-all]")) return;
    for (const box of list.querySelectorAll("input[name=id]")) box.checked = event.target.checked;
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.key !== "j" && event.key !== "k")) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea")) return;
    const rows = [...list.querySelectorAll("[data-row]")];
    const at = rows.findIndex((row) => row.closest("li").contains(document.activeElement));
    const next = event.key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0);
    rows[next]?.focus();
  });
}
