// The form of a monitor: rows are added and removed in place, headers are shown in the mode
// that sends them, and a file can be dropped. All of it works without this, with a
// request for each step.

const mode = document.getElementById("f-auth_mode");
const headers = document.getElementById("headers");

function modes() {
  if (mode && headers) headers.hidden = mode.value !== "header";
}
mode?.addEventListener("change", modes);
modes();

// number gives the parts of a row the ids and labels of its place.
function number(row, i) {
  for (const label of row.querySelectorAll("label")) {
    const field = document.getElementById(label.htmlFor);
    label.textContent = label.textContent.replace(/\d+/, String(i + 1));
    if (field && row.contains(field)) {
      field.id = field.id.replace(/\d+$/, String(i));
      label.htmlFor = field.id;
    }
  }
}

document.addEventListener("click", (event) => {
  const add = event.target.closest("[data-add]");
  if (add) {
    const rows = document.querySelectorAll(`[data-row="${add.dataset.add}"]`);
    if (rows.length === 0) return; // the server makes one
    event.preventDefault();
    if (rows.length >= 20) return;
    const last = rows[rows.length - 1];
    const fresh = last.cloneNode(true);
    fresh.classList.remove("wrong");
    for (const gone of fresh.querySelectorAll(".problem, [data-remove]")) gone.remove();
    last.after(fresh);
    for (const label of fresh.querySelectorAll("label")) {
      const field = fresh.querySelector("#" + CSS.escape(label.htmlFor));
      label.textContent = label.textContent.replace(/\d+/, String(rows.length + 1));
      if (!field) continue;
      field.id = field.id.replace(/\d+$/, String(rows.length));
      label.htmlFor = field.id;
      if (field.matches("select")) field.selectedIndex = 0;
      else field.value = "";
    }
    fresh.querySelector("input")?.focus();
    return;
  }
  const remove = event.target.closest("[data-remove]");
  if (remove) {
    const row = remove.closest("[data-row]");
    const kind = row.dataset.row;
    const all = document.querySelectorAll(`[data-row="${kind}"]`);
    if (all.length < 2) return; // the server leaves an empty one
    event.preventDefault();
    row.remove();
    document.querySelectorAll(`[data-row="${kind}"]`).forEach(number);
    document.querySelector(`[data-add="${kind}"]`)?.focus();
  }
});

// A file that is dropped is the one that is sent.
const form = document.querySelector("form[data-drop]");
const file = form?.querySelector("input[type=file]");
if (file) {
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    form.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) form.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    form.classList.remove("dropping");
    file.files = event.dataTransfer.files;
    form.requestSubmit();
  });
}
