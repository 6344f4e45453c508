// Charts over Chart.js: colours of the page, intervals, a common zoom and hover, keys.

const data = JSON.parse(document.getElementById("data").textContent);
const colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const shapes = ["circle", "rect", "triangle", "rectRot", "crossRot", "star"];
const mostSeries = 12;
const linked = [];
let cross = null;

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
const byId = (id) => document.getElementById(id);
const tone = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (place) => (place % 7 === 6 ? tone("--other") : colours[place % 7]);
const say = (text) => { byId("live").textContent = text; };
function show(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e9)) return value.toExponential(3);
  return Math.abs(value) >= 1e3 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
}
// A value has the digits of its half-width, two significant ones.
function withHalf(value, half) {
  if (half === null || half === undefined) return show(value);
  if (half <= Math.abs(value) * 1e-9) return `${show(value)} ± 0`;
  const digits = Math.max(0, 1 - Math.floor(Math.log10(half)));
  return digits > 6 ? `${show(value)} ± ${show(half)}` : `${value.toFixed(digits)} ± ${half.toFixed(digits)}`;
}
const unit = (label, name) => (name ? `${label} (${name})` : label);

// Bars of intervals, and the line at the place of the pointer in all charts.
const marks = {
  id: "marks",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea: area, scales } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    for (const [place, set] of chart.data.datasets.entries()) {
      if (!chart.isDatasetVisible(place)) continue;
      ctx.strokeStyle = set.borderColor;
      // Where bars are dense, the values stay in front.
      ctx.lineWidth = set.data.length > 60 ? 0.75 : 1.25;
      ctx.globalAlpha = set.data.length > 60 ? 0.25 : 1;
      for (const point of set.data) {
        if (!point.half || point.y === null) continue;
        const x = scales.x.getPixelForValue(point.x);
        // An interval that reaches zero has no end on a logarithmic axis.
        const end = scales.y.type === "logarithmic" ? Math.max(point.y - point.half, scales.y.min) : point.y - point.half;
        const [low, high] = [scales.y.getPixelForValue(end), scales.y.getPixelForValue(point.y + point.half)];
        ctx.beginPath();
        ctx.moveTo(x, low); ctx.lineTo(x, high);
        ctx.moveTo(x - 4, low); ctx.lineTo(x + 4, low);
        ctx.moveTo(x - 4, high); ctx.lineTo(x + 4, high);
        ctx.stroke();
      }
    }
    ctx.globalAlpha = 1;
    if (cross !== null) {
      const x = scales.x.getPixelForValue(cross);
      ctx.strokeStyle = tone("--soft");
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(x, area.top); ctx.lineTo(x, area.bottom);
      ctx.stroke();
    }
    ctx.restore();
    if (chart.$drag) {
      ctx.save();
      ctx.globalAlpha = 0.2;
      ctx.fillStyle = tone("--accent");
      ctx.fillRect(chart.$drag[0], area.top, chart.$drag[1] - chart.$drag[0], area.height);
      ctx.restore();
    }
  },
};

// All charts show the same stretch of their common axis; null shows all.
let range = null;
function zoom(next) {
  range = next;
  for (const chart of linked) {
    Object.assign(chart.options.scales.x, { min: range ? range[0] : chart.$ends[0], max: range ? range[1] : chart.$ends[1] });
    chart.update("none");
  }
}
function scaled(chart, factor) {
  const { min, max } = chart.scales.x;
  const middle = cross !== null && cross >= min && cross <= max ? cross : (min + max) / 2;
  zoom([middle - (middle - min) * factor, middle + (max - middle) * factor]);
}

// Places the hover of all charts at a value of the common axis.
function hover(x) {
  cross = x;
  for (const chart of linked) {
    const near = [];
    if (x !== null) {
      for (const [place, set] of chart.data.datasets.entries()) {
        let best = -1;
        let least = Infinity;
        for (const [index, point] of set.data.entries()) {
          const far = Math.abs(point.x - x);
          if (far < least && point.y !== null) { best = index; least = far; }
        }
        const width = Math.abs(chart.scales.x.max - chart.scales.x.min);
        if (best >= 0 && least <= width * 0.03) near.push({ datasetIndex: place, index: best });
      }
    }
    chart.setActiveElements(near);
    const area = chart.chartArea;
    chart.tooltip.setActiveElements(near, area ? { x: chart.scales.x.getPixelForValue(x ?? 0), y: area.top + 20 } : undefined);
    chart.update("none");
  }
}

function pointers(chart, canvas) {
  let start = null;
  const at = (event) => event.clientX - canvas.getBoundingClientRect().left;
  const clear = () => { start = null; chart.$drag = null; };
  canvas.addEventListener("pointerdown", (event) => { start = at(event); });
  canvas.addEventListener("pointermove", (event) => {
    const x = at(event);
    if (start !== null && Math.abs(x - start) > 6) chart.$drag = [start, x];
    if (canvas.$waits) return;
    canvas.$waits = true;
    requestAnimationFrame(() => { canvas.$waits = false; hover(chart.scales.x.getValueForPixel(x)); });
  });
  canvas.addEventListener("pointerup", (event) => {
    const ends = chart.$drag;
    clear();
    if (ends) zoom([Math.min(...ends), Math.max(...ends)].map((pixel) => chart.scales.x.getValueForPixel(pixel)));
  });
  canvas.addEventListener("pointerleave", () => { clear(); hover(null); });
  canvas.addEventListener("dblclick", () => zoom(null));
  canvas.addEventListener("keydown", (event) => {
    const xs = [...new Set(chart.data.datasets.flatMap((set) => set.data.filter((point) => point.y !== null).map((point) => point.x)))].sort((a, b) => a - b);
    const place = cross === null ? -1 : xs.findIndex((x) => x >= cross);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step && xs.length) {
      const next = Math.min(xs.length - 1, Math.max(0, place + step));
      hover(xs[next]);
      const lines = chart.tooltip.getActiveElements().map(({ datasetIndex, index }) => {
        const set = chart.data.datasets[datasetIndex];
        return `${set.label}: ${withHalf(set.data[index].y, set.data[index].half)} ${chart.$unit}`;
      });
      say(`${chart.$place(xs[next])}. ${lines.join("; ")}`);
    } else if (event.key === "+") scaled(chart, 0.6);
    else if (event.key === "-") scaled(chart, 1.6);
    else if (event.key === "0" || event.key === "Escape") { hover(null); zoom(null); }
    else return;
    event.preventDefault();
  });
}

// Takes the points off a logarithmic axis that it cannot show, and says how many.
function onAxes(spec) {
  const notes = [spec.note];
  let series = spec.series;
  for (const [axis, isLog, label] of [["x", spec.x.log, spec.x.label], ["y", spec.log, spec.title]]) {
    if (!isLog) continue;
    let count = 0;
    const fits = (point) => { const held = point.y === null || point[axis] > 0; if (!held) count += 1; return held; };
    series = series.map((one) => ({ ...one, points: one.points.map((point) => (fits(point) ? point : { ...point, y: null })) }));
    if (axis === "x") series = series.map((one) => ({ ...one, points: one.points.filter((point) => point.x > 0) }));
    if (count) notes.push(`${label}: ${count} ${count === 1 ? "value" : "values"} of zero or less not on the logarithmic axis.`);
  }
  return { ...spec, series, note: notes.filter(Boolean).join(" ") };
}

// Draws `spec`: title, unit, x: {label, unit, names}, series: [{label, points: [{x, y, half}], line, dots, steps, fill}].
function draw(place, given) {
  const spec = onAxes(given);
  const canvas = el("canvas", { tabindex: "0", role: "application", "aria-roledescription": "chart",
    "aria-label": `${spec.title}. Arrow keys go from point to point, plus and minus zoom, 0 shows all. The table below has all values.` });
  const figure = el("figure", { class: spec.wide ? "wide" : "" },
    el("div", { class: "head" }, el("h3", {}, unit(spec.title, spec.unit)), el("div", { class: "tools" },
      el("button", { type: "button", "aria-label": `Zoom in: ${spec.title}`, onclick: () => scaled(chart, 0.6) }, "+"),
      el("button", { type: "button", "aria-label": `Zoom out: ${spec.title}`, onclick: () => scaled(chart, 1.6) }, "−"),
      el("button", { type: "button", "aria-label": `Show all: ${spec.title}`, onclick: () => zoom(null) }, "all"))),
    el("div", { class: "canvas" }, canvas));
  const isNarrow = place.clientWidth < 600;
  // A long legend takes none of the room of the values.
  const lines = spec.series.reduce((sum, series) => sum + 50 + 6 * series.label.length, 0) / Math.max(200, place.clientWidth / (isNarrow || spec.wide ? 1 : 2));
  // Nor do many names, which stand at a slant.
  const slant = spec.x.names?.length > 12 ? Math.min(150, 4 * Math.max(...spec.x.names.map((name) => name.length))) : 0;
  if (lines > 2 || slant) figure.lastChild.style.height = `${Math.round((isNarrow ? 200 : 270) + 20 * lines + slant)}px`;
  if (spec.note) figure.append(el("figcaption", {}, spec.note));
  place.append(figure);
  const xs = spec.series.flatMap((series) => series.points.filter((point) => point.y !== null).map((point) => point.x));
  let [low, high] = xs.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);
  if (!(low <= high)) [low, high] = [0, 1];
  // Names without a value have their places, too.
  if (spec.x.names) [low, high] = [1, Math.max(1, spec.x.names.length)];
  const edge = spec.x.names ? 0.5 : (high - low || Math.abs(high) || 1) * 0.02;
  const ends = spec.x.log ? [low / 1.1, high * 1.1] : [low - edge, high + edge];
  // Axes have all values with their intervals.
  const ys = spec.series.flatMap((series) => series.points.filter((point) => point.y !== null).flatMap((point) => [point.y - (point.half || 0), point.y + (point.half || 0)])).filter((y) => !spec.log || y > 0);
  let [least, greatest] = ys.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
  if (!(least <= greatest)) [least, greatest] = [0, 1];
  const room = (greatest - least || Math.abs(greatest) || 1) * 0.04;
  const heights = spec.log ? { suggestedMin: least / 1.2, suggestedMax: greatest * 1.2 } : spec.stacked || spec.zero ? { min: 0 } : { suggestedMin: least < 0 ? least - room : Math.max(0, least - room), suggestedMax: greatest + room };
  const datasets = spec.series.map((series, number) => ({
    label: series.label, data: series.points, parsing: false, borderColor: series.colour || colour(number),
    backgroundColor: series.fill ? (series.colour || colour(number)) + "66" : series.colour || colour(number),
    borderDash: series.line ? dashes[Math.floor(number / 6) % 4] : [], borderWidth: 2, showLine: Boolean(series.line),
    pointRadius: series.dots === false ? 0 : series.radius || 4, pointHitRadius: 6, pointHoverRadius: 6,
    pointStyle: series.fill ? "rect" : series.dots === false ? "line" : shapes[number % 6], spanGaps: false, stepped: series.steps ? "before" : false, fill: series.fill || false,
  }));
  const ink = tone("--soft");
  const names = spec.x.names;
  const brief = (name = "") => (isNarrow && name.length > 18 ? `${name.slice(0, 17)}…` : name);
  // Of a decade 1, 2 and 5 have a text.
  const decade = (value) => ([1, 2, 5].includes(Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(3))) ? String(Number(value.toPrecision(2))) : "");
  const ticksOf = (isLog) => ({ color: ink, maxRotation: 50, includeBounds: false, ...(isLog ? { callback: decade } : {}) });
  const scale = (title, more) => ({ title: { display: true, text: title, color: ink }, grid: { color: tone("--line") }, ...more });
  const nameOf = (x) => (names ? names[Math.round(x) - 1] ?? "" : `${spec.x.label} ${show(x)}${spec.x.unit ? " " + spec.x.unit : ""}`);
  const chart = new Chart(canvas, {
    type: "line", data: { datasets }, plugins: [marks],
    options: {
      animation: false, normalized: false, maintainAspectRatio: false, responsive: true, events: [],
      layout: { padding: { right: 8 } },
      scales: {
        x: scale(unit(spec.x.label, spec.x.unit), { type: spec.x.log ? "logarithmic" : "linear", ticks: ticksOf(spec.x.log), min: ends[0], max: ends[1], ...(names ? {
          afterBuildTicks: (axis) => { axis.ticks = names.map((_, place) => ({ value: place + 1 })); },
          ticks: { color: ink, autoSkip: names.length > 30 || place.clientWidth < 24 * names.length, maxRotation: isNarrow ? 90 : 50, callback: (x) => brief(names[x - 1]) } } : {}) }),
        y: scale(spec.unit || "", { type: spec.log ? "logarithmic" : "linear", ticks: ticksOf(spec.log), title: { display: Boolean(spec.unit), text: spec.unit, color: ink }, stacked: Boolean(spec.stacked), ...heights }),
      },
      plugins: {
        legend: { position: "bottom", labels: { color: tone("--ink"), usePointStyle: true, boxHeight: 7 }, display: datasets.length > 1 || Boolean(spec.legend) },
        tooltip: { enabled: true, callbacks: {
          title: (items) => (items.length ? nameOf(items[0].raw.x) : ""),
          label: (item) => `${item.dataset.label}: ${withHalf(item.raw.y, item.raw.half)} ${spec.unit || ""}` } },
      },
    },
  });
  Object.assign(chart, { $ends: ends, $unit: spec.unit || "", $place: nameOf });
  linked.push(chart);
  if (spec.onpick) {
    canvas.addEventListener("click", (event) => {
      const found = chart.getElementsAtEventForMode(event, "nearest", { intersect: false }, true);
      if (found.length) spec.onpick(chart.data.datasets[found[0].datasetIndex].data[found[0].index]);
    });
  }
  pointers(chart, canvas);
  if (range) Object.assign(chart.options.scales.x, { min: range[0], max: range[1] });
}

function redraw(place, specs) {
  for (const chart of linked.splice(0)) chart.destroy();
  cross = null;
  place.replaceChildren();
  for (const spec of specs) draw(place, spec);
}

function themeButton(again) {
  const dark = () => document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const text = () => (dark() ? "Light" : "Dark");
  const button = el("button", { type: "button", id: "theme", onclick: () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    button.textContent = text();
    again();
  } }, text());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { button.textContent = text(); again(); });
  return button;
}
