// A status page that everybody sees: times in the reader's zone, and news every half minute.
import { times } from "./app.js";

const main = document.getElementById("main");

async function refresh() {
  if (document.hidden || main.contains(document.activeElement)) return;
  try {
    const answer = await fetch(location.href, { headers: { "HX-Request": "true" }, redirect: "manual" });
    if (!answer.ok) return;
    main.innerHTML = await answer.text();
    times(main);
  } catch {
    // The next one may work.
  }
}

setInterval(refresh, 30000);
