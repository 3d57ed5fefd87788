// Settings: a policy is said in words while it is written, and a new planned time is in
// the reader's zone. Everything works without it.

for (const preview of document.querySelectorAll("[data-preview]")) {
  const fields = document.getElementById(preview.dataset.fields);
  if (!fields) continue;
  let waiting = 0;
  let asked = 0;
  const show = async () => {
    const mine = ++asked;
    const form = new URLSearchParams();
    for (const input of fields.querySelectorAll("input[name], select[name]")) {
      if (input.type !== "checkbox" || input.checked) form.append(input.name, input.value);
    }
    const answer = await fetch(preview.dataset.preview, { method: "POST", body: form, headers: { "HX-Request": "true" } });
    if (!answer.ok) return;
    const text = await answer.text();
    if (mine === asked) preview.innerHTML = text;
  };
  fields.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => show().catch(() => {}), 250);
  });
}

for (const zone of document.querySelectorAll(".window-form .zone input")) {
  zone.setAttribute("list", "zones");
  const form = zone.form;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!form.hasAttribute("data-new") || !own) continue;
  zone.value = own;
  const local = (at) => {
    const two = (n) => String(n).padStart(2, "0");
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
  };
  for (const name of ["start", "end"]) {
    const input = form.elements.namedItem(name);
    const at = new Date(`${input.value}Z`);
    if (!Number.isNaN(at.getTime())) input.value = local(at);
  }
}
