// Keeps a page current: an element with data-live="/live/…" names a stream of events, and
// data-mark what the page is up to date with. A row that changed is put in the place of the
// one with its id. Nothing is sent to a page that nobody looks at.

const slowest = 30000;
let source = null;
let place = null; // the element that the stream is for
let mark = "";
let wait = 1000;
let timer = 0;
let lost = 0; // how often in a row there was no connection

function stop() {
  clearTimeout(timer);
  if (source) source.close();
  source = null;
}

function ids() {
  const rows = place.querySelectorAll("li[id^='m-']");
  return Array.from(rows, (row) => row.id.slice(2)).slice(0, 2000).join(",");
}

// put replaces an element, and leaves the focus and a ticked box as they are.
function put(id, html) {
  const old = document.getElementById(id);
  if (!old) return;
  const holder = document.createElement("template");
  holder.innerHTML = html; // of this server's own templates
  const fresh = holder.content.firstElementChild;
  if (!fresh) return;
  const box = old.querySelector("input[type=checkbox]");
  const freshBox = fresh.querySelector("input[type=checkbox]");
  if (box && freshBox) freshBox.checked = box.checked;
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const where = focused ? Array.from(old.querySelectorAll("a, input, button")).indexOf(focused) : -1;
  old.replaceWith(fresh);
  if (where >= 0) {
    const all = fresh.querySelectorAll("a, input, button");
    (all[where] || all[0])?.focus({ preventScroll: true });
  }
  fresh.dispatchEvent(new CustomEvent("mcpvigil:swapped", { bubbles: true }));
}

// reload reads the whole part again.
async function reload() {
  const wanted = place;
  stop();
  try {
    const answer = await fetch(wanted.dataset.reload, { headers: { "HX-Request": "true" }, credentials: "same-origin" });
    if (answer.status === 401) location.reload(); // which leads to where a person signs in
    if (!answer.ok) throw new Error(String(answer.status));
    const html = await answer.text();
    if (place !== wanted || !wanted.isConnected) return;
    put(wanted.id, html);
    window.htmx?.process(document.getElementById(wanted.id));
    begin();
  } catch {
    again();
  }
}

// found says whether there is a connection.
function found(is) {
  lost = is ? 0 : lost + 1;
  document.querySelector("[data-live-lost]")?.toggleAttribute("hidden", lost < 2);
}

function again() {
  stop();
  if (document.hidden) return;
  found(false);
  // Why there is none is not said to a stream: a request finds out.
  timer = setTimeout(lost % 3 === 0 ? reload : open, wait * (0.75 + Math.random() / 2));
  wait = Math.min(wait * 2, slowest);
}

function open() {
  stop();
  if (!place?.isConnected || document.hidden) return;
  const address = new URL(place.dataset.live, location.href);
  address.searchParams.set("mark", mark);
  address.searchParams.set("ids", ids());
  const here = new EventSource(address);
  source = here;
  const on = (name, act) => here.addEventListener(name, (event) => {
    if (here !== source) return;
    wait = 1000;
    mark = event.lastEventId || mark;
    act(event.data);
  });
  const swap = (data) => {
    const { id, html } = JSON.parse(data);
    put(id, html);
  };
  on("row", swap);
  on("tiles", swap);
  on("gone", (id) => {
    const row = document.getElementById(id);
    const list = row?.parentElement;
    row?.remove();
    // What stands above a list, and in the place of an empty one, is not sent by itself.
    if (list && !list.querySelector("li[id^='m-']")) reload();
  });
  on("order", () => place.querySelector("[data-live-order]")?.removeAttribute("hidden"));
  on("reload", reload);
  on("end", () => location.reload()); // which leads to where a person signs in
  here.onopen = () => found(true);
  here.onerror = () => {
    if (here === source) again();
  };
}

// begin follows what the page shows now.
function begin() {
  place = document.querySelector("[data-live]");
  mark = place?.dataset.mark || "";
  open();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) stop();
  else if (place) open();
});
window.addEventListener("pagehide", stop);
window.addEventListener("pageshow", (event) => {
  if (event.persisted) begin();
});
document.addEventListener("htmx:after:swap", () => {
  if (document.querySelector("[data-live]") !== place) begin();
  else if (place) open(); // there are more rows
});
begin();
