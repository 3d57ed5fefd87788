// <time-charts data-src="…/chart.json"> draws the numbers of a time with uPlot, into the
// elements below it with data-plot="latency|uptime|tools|context". The colours are those
// of the style sheet, and what is drawn follows the theme and the width. With
// data-live="ID" it asks again when the element of that id was replaced.

const library = new URL("uPlot.iife.min.js", import.meta.url).href;
const language = document.documentElement.lang || "en";
const moment = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const number = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 3], [1, 3]];

let loading;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = library;
    script.onload = () => resolve(window.uPlot);
    script.onerror = () => reject(new Error("the chart library was not loaded"));
    document.head.append(script);
  });
  return loading;
}

// colour resolves a token of the style sheet to a colour that a canvas takes.
function colour(token) {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  probe.hidden = true;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function palette() {
  const p = { text: colour("--soft"), line: colour("--line"), bad: colour("--bad"), warn: colour("--warn"), soft: colour("--soft"), lines: [] };
  for (let i = 1; i <= 7; i++) p.lines.push(colour(`--chart-${i}`));
  return p;
}

// bands marks incidents with a line at the top, those of the availability with a tint, too,
// and maintenance with stripes.
function bands(list, p) {
  return (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const band of list) {
      const from = u.valToPos(band.from, "x", true);
      const width = Math.max(u.valToPos(band.to, "x", true) - from, 2 * devicePixelRatio);
      if (band.kind === "maintenance") {
        ctx.strokeStyle = p.soft;
        ctx.globalAlpha = 0.35;
        ctx.lineWidth = devicePixelRatio;
        ctx.save();
        ctx.beginPath();
        ctx.rect(from, bbox.top, width, bbox.height);
        ctx.clip();
        ctx.beginPath();
        for (let x = from - bbox.height; x < from + width; x += 7 * devicePixelRatio) {
          ctx.moveTo(x, bbox.top + bbox.height);
          ctx.lineTo(x + bbox.height, bbox.top);
        }
        ctx.stroke();
        ctx.restore();
      } else {
        const down = band.kind === "availability";
        ctx.fillStyle = down ? p.bad : p.warn;
        if (down) {
          ctx.globalAlpha = 0.12;
          ctx.fillRect(from, bbox.top, width, bbox.height);
        }
        ctx.globalAlpha = 1;
        ctx.fillRect(from, bbox.top, width, 3 * devicePixelRatio);
      }
    }
    ctx.restore();
  };
}

function axes(p, size) {
  const one = { stroke: p.text, grid: { stroke: p.line, width: 1 }, ticks: { stroke: p.line, width: 1 }, font: "12px system-ui, sans-serif" };
  return [
    { ...one, space: 80, values: (u, splits, axis, space, step) => splits.map((at) => tick(at, step)) },
    { ...one, size, values: (u, splits) => splits.map((v) => number.format(v)) },
  ];
}

const hours = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
const seconds = new Intl.DateTimeFormat(language, { minute: "2-digit", second: "2-digit" });
const days = new Intl.DateTimeFormat(language, { day: "2-digit", month: "2-digit" });

function tick(at, step) {
  return (step < 60 ? seconds : step < 86400 ? hours : days).format(new Date(at * 1000));
}

function when(u, at) {
  return at == null ? "–" : moment.format(new Date(at * 1000));
}

function value(u, v) {
  return v == null ? "–" : number.format(v);
}

// kinds say how each plot is made of the numbers.
const kinds = {
  latency: (d, p) => ({
    data: [d.x, ...d.latency.map((line) => line.values)],
    series: d.latency.map((line, i) => ({ label: line.label, stroke: p.lines[i % 7], width: i === 0 ? 2 : 1.5, dash: dashes[i % 7] })),
  }),
  uptime: (d, p, uPlot) => ({
    data: [d.x, d.uptime.values],
    series: [{ label: d.uptime.label, stroke: p.lines[0], width: 2, fill: faint(p.lines[0]), paths: uPlot.paths.stepped({ align: 1 }) }],
    scales: { y: { range: (u, least) => [least == null || least > 90 ? 90 : 0, 100] } },
  }),
  tools: (d, p, uPlot) => ({
    data: [d.x, d.tools.values],
    series: [{ label: d.tools.label, stroke: p.lines[0], width: 2, paths: uPlot.paths.stepped({ align: 1 }), spanGaps: true }],
    scales: { y: { range: (u, least, most) => [0, Math.max(most ?? 0, 1) * 1.15] } },
  }),
  context: (d, p, uPlot) => ({
    data: [d.context.x, d.context.values],
    series: [{ label: d.context.label, stroke: p.lines[0], width: 2, paths: uPlot.paths.stepped({ align: 1 }) }],
    scales: { y: { range: (u, least, most) => [0, Math.max(most ?? 0, 1) * 1.15] } },
  }),
};

function faint(text) {
  return text.startsWith("rgb(") ? text.replace("rgb(", "rgba(").replace(")", ", 0.12)") : "transparent";
}

class TimeCharts extends HTMLElement {
  #plots = [];
  #numbers = null;
  #stop = new AbortController();
  #sizes = new ResizeObserver(() => this.#resize());
  #themes = new MutationObserver(() => this.#draw());
  #asked = 0;

  connectedCallback() {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    this.#sizes.observe(this);
    this.#themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw(), { signal });
    if (this.dataset.live) {
      document.addEventListener("htmx:after:swap", () => this.#again(), { signal });
    }
    this.#ask();
  }

  disconnectedCallback() {
    this.#stop.abort();
    this.#sizes.disconnect();
    this.#themes.disconnect();
    this.#clear();
  }

  // again asks once more after the live part changed, at most every ten seconds.
  #again() {
    if (Date.now() - this.#asked > 10000) this.#ask();
  }

  async #ask() {
    this.#asked = Date.now();
    try {
      const [uPlot, answer] = await Promise.all([load(), fetch(this.dataset.src, { headers: { Accept: "application/json" } })]);
      if (!answer.ok) throw new Error(`the numbers were answered with ${answer.status}`);
      this.#numbers = await answer.json();
      this.uPlot = uPlot;
      this.#draw();
    } catch (error) {
      if (!this.#stop.signal.aborted) console.warn(error);
    }
  }

  #clear() {
    for (const plot of this.#plots) plot.destroy();
    this.#plots = [];
  }

  #draw() {
    const d = this.#numbers;
    if (!d || !this.isConnected) return;
    this.#clear();
    const p = palette();
    for (const place of this.querySelectorAll("[data-plot]")) {
      const made = kinds[place.dataset.plot](d, p, this.uPlot);
      place.replaceChildren();
      if (!made.data.slice(1).some((line) => line.some((v) => v != null))) {
        place.textContent = this.dataset.none;
        continue;
      }
      this.#plots.push(new this.uPlot({
        width: place.clientWidth,
        height: Number(place.dataset.height),
        scales: { x: { time: true, range: () => [d.from, d.to] }, y: { range: (u, least, most) => [0, Math.max(most ?? 0, 1) * 1.1] }, ...made.scales },
        axes: axes(p, 52),
        cursor: { y: false, drag: { x: false, y: false } },
        legend: { live: true },
        series: [{ label: this.dataset.when, value: when }, ...made.series.map((s) => ({ value, points: { show: d.x.length < 40 ? true : undefined, size: 5, fill: s.stroke }, ...s }))],
        hooks: { drawClear: [bands(d.bands, p)] },
      }, made.data, place));
    }
  }

  #resize() {
    for (const plot of this.#plots) {
      const place = plot.root.parentElement;
      if (place && place.clientWidth > 0 && place.clientWidth !== plot.width) {
        plot.setSize({ width: place.clientWidth, height: Number(place.dataset.height) });
      }
    }
  }
}

customElements.define("time-charts", TimeCharts);
