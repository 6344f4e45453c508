// The page of one run: all charts over one time; a click on a packet shows its way.

function run() {
  const { panels, parts, packets } = data;
  const count = packets.packet.length;
  const fates = { queue: "dropped at the queue", link: "lost on the link", open: "not arrived at the end of the run", duplicate: "a proxy had it already", delivered: "delivered" };
  const seconds = { label: "time", unit: "s", names: null };
  const isLost = (row) => packets.fate[row] === "queue" || packets.fate[row] === "link";
  const time = (place, row) => packets.times_ms[place][row];

  function specs() {
    const all = panels.map((panel) => ({ title: panel.title, unit: panel.unit, note: panel.note || "", legend: panel.series.length > 1, x: seconds, zero: true,
      series: panel.series.map((series) => ({ label: series.label, line: series.line, steps: series.steps, dots: !series.line, radius: 4,
        colour: series.label.startsWith("sent and lost") ? tone("--bad") : series.label.startsWith("retransmission") ? "#E69F00" : panel.series.filter((one) => one.line).length === 1 ? colours[0] : undefined,
        points: series.x.map((x, place) => ({ x, y: series.y[place] })) })) }));
    if (parts.x.length) {
      all.push({ title: "Where the delay goes", unit: parts.unit, x: seconds, stacked: true, legend: true, note: "Means over stretches of time, of delivered packets; one on top of the other.",
        series: parts.names.map((label, place) => ({ label, line: true, dots: false, fill: place ? "-1" : "origin", points: parts.x.map((x, at) => ({ x, y: parts.y[place][at] })) })) });
    }
    const layers = [["first transmission", (row) => !isLost(row) && packets.copy[row] <= 1, colours[0], 2],
      ["retransmission", (row) => !isLost(row) && packets.copy[row] > 1, "#E69F00", 4], ["lost", isLost, tone("--bad"), 4]];
    const rows = [...Array(count).keys()];
    all.push({ title: "Packets by the time of sending", unit: "number", wide: true, zero: true, x: seconds, onpick: (point) => way(point.row), legend: true,
      note: "Choose a packet by a click, or by its number below.",
      series: layers.map(([label, belongs, tint, radius]) => ({ label, colour: tint, radius, line: false, points: rows.filter(belongs).map((row) => ({ x: time(0, row) / 1000, y: packets.packet[row], row })) })).filter((series) => series.points.length) });
    return all;
  }

  const drawn = (tag, attributes, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };

  // The way of a packet: a bar of the parts of its delay, and its events.
  function way(row) {
    const names = ["sent", "enters the queue", "begins on the link", "leaves the sender of the link", "delivered", "acknowledged"];
    const lines = names.map((name, place) => [name, time(place, row)]).filter(([, at]) => at !== null).map(([name, at]) => `${(at / 1000).toFixed(6)} s: ${name}`);
    if (packets.fate[row] !== "delivered") lines.push(fates[packets.fate[row]] || packets.fate[row]);
    const shares = parts.names.map((name, place) => [name, packets.parts_ms[place][row], place]).filter(([, share]) => share !== null);
    const total = shares.reduce((sum, [, share]) => sum + share, 0);
    const title = `Packet ${packets.packet[row]} of flow ${packets.flow[row]}, copy ${packets.copy[row]}: ${fates[packets.fate[row]] || packets.fate[row]}${total ? ` after ${show(total)} ms` : ""}`;
    const picture = drawn("svg", { class: "way", role: "img", "aria-label": title, viewBox: "0 0 100 4", preserveAspectRatio: "none" });
    let left = 0;
    const order = [1, 2, 3, 0];
    const legend = [];
    for (const [name, share, place] of [...shares].sort((a, b) => order.indexOf(a[2]) - order.indexOf(b[2]))) {
      const width = total ? (share / total) * 100 : 0;
      picture.append(drawn("rect", { x: left, y: 0, width, height: 4, fill: colour(place) }));
      const tint = drawn("svg", { class: "tint", viewBox: "0 0 1 1", "aria-hidden": "true" }, drawn("rect", { width: 1, height: 1, fill: colour(place) }));
      legend.push(el("li", {}, tint, ` ${name}: ${show(share)} ms, ${Math.round(width)} %`));
      left += width;
    }
    byId("way").replaceChildren(el("h3", {}, title), ...(total ? [picture, el("ul", { class: "legend" }, ...legend)] : []), el("ol", {}, ...lines.map((line) => el("li", {}, line))));
    byId("packet").value = several ? `${packets.flow[row]}:${packets.packet[row]}` : packets.packet[row];
    say(title);
  }

  const several = new Set(packets.flow).size > 1;
  const number = el("input", { type: "search", id: "packet", size: "8" });
  const find = () => {
    const [packet, flow] = number.value.trim().split(":").reverse();
    const row = packets.packet.findIndex((one, place) => String(one) === packet && (flow === undefined || String(packets.flow[place]) === flow));
    if (row >= 0) way(row); else byId("way").replaceChildren(el("p", {}, `The page holds no packet ${number.value}; tmt tcp --explain has all.`));
  };
  number.addEventListener("keydown", (event) => { if (event.key === "Enter") find(); });
  const figure = el("figure", { class: "wide" },
    el("h3", {}, "The way of a packet"),
    el("div", { class: "row" }, el("div", {}, el("label", { class: "label", for: "packet" }, several ? "packet, as flow:number" : "number of the packet"), number),
      el("button", { type: "button", onclick: find }, "Show its way")), el("div", { id: "way" }));
  byId("choice").append(el("div", { class: "row" }, el("div", {}, el("span", { class: "label" }, "time"),
    el("button", { type: "button", onclick: () => zoom(null) }, "Show all of the run")), el("div", {}, el("span", { class: "label" }, "colours"), themeButton(update))));
  byId("charts").after(figure);
  function update() {
    redraw(byId("charts"), specs());
    document.documentElement.dataset.updates = Number(document.documentElement.dataset.updates || 0) + 1;
  }
  update();
  const slowest = [...Array(count).keys()].reduce((best, row) => ((time(4, row) ?? 0) - time(0, row) > (time(4, best) ?? 0) - time(0, best) && time(4, row) !== null ? row : best), 0);
  if (count) way(slowest);
}
