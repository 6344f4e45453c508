// The page of a table: what is chosen holds for all charts and for the table.

function study() {
  const { keys, metrics, rows } = data;
  // Numbers of runs and ranks are names.
  const isScale = (key) => key.numbers && !key.ordinal;
  const varied = keys.map((key, place) => place).filter((place) => keys[place].values.length > 1);
  const state = {
    metrics: new Set(metrics.map((_, place) => place).filter((place) => (data.compare ? place === 0 || metrics[place].verdicts?.some((verdict) => verdict !== 0) : place < 2)).slice(0, 4)),
    x: varied.find((place) => isScale(keys[place]) && keys[place].values.length > 2) ?? varied.find((place) => isScale(keys[place]))
      ?? varied.find((place) => !keys[place].ordinal) ?? varied[0] ?? 0,
    kept: keys.map((key) => new Set(key.values.keys())), word: "", sort: null, all: false,
    // Published values have the scale that each chart needs, until one is chosen.
    log: data.pair ? null : false,
  };
  const most = 200;
  const mostNames = 40;
  const longest = 40;

  // Rows that the choice leaves, in their order.
  function visible() {
    const found = [];
    const word = state.word.toLowerCase();
    for (let row = 0; row < rows; row += 1) {
      if (!keys.every((key, place) => state.kept[place].has(key.index[row]))) continue;
      if (word && !keys.some((key) => key.values[key.index[row]].toLowerCase().includes(word))) continue;
      found.push(row);
    }
    return found;
  }

  // As many of `places`, the most telling first, as tell rows apart: further keys would only lengthen the names.
  function telling(found, places) {
    const kept = [];
    let left = places;
    let ids = found.map(() => "");
    const distinct = (some) => new Set(some).size;
    // Long values, such as all settings of a model, only where short ones do not tell all rows apart.
    const isShort = (place) => found.every((row) => keys[place].values[keys[place].index[row]].length <= longest);
    while (left.length && distinct(ids) < found.length) {
      const split = (place) => ids.map((id, at) => `${id}|${keys[place].index[found[at]]}`);
      const short = left.filter(isShort);
      const helps = (place) => distinct(split(place)) > distinct(ids);
      const from = short.some(helps) ? short : left;
      const best = from.reduce((best, place) => { const count = distinct(split(place)); return count > best.count ? { place, count } : best; }, { count: distinct(ids) });
      if (best.place === undefined) break;
      ids = split(best.place);
      kept.push(best.place);
      left = left.filter((place) => place !== best.place);
    }
    return kept.sort((a, b) => a - b);
  }
  // Names of rows by `places`. Of long values, such as schemes with all their keys, only the parts that not all of these rows have.
  function namesOf(found, places) {
    const shorten = (place) => {
      const texts = found.map((row) => keys[place].values[keys[place].index[row]]);
      if (texts.every((text) => text.length <= longest)) return texts;
      const parts = [...new Set(texts)].map((text) => new Set(text.split(",")));
      const own = (text) => text.split(",").filter((part) => !parts.every((all) => all.has(part))).join(",");
      return texts.map((text) => own(text) || text).map((text) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text));
    };
    const texts = places.map(shorten);
    const names = found.map((_, at) => places.map((place, number) => {
      const text = texts[number][at];
      return /^[\d.-]/.test(text) || text === "" ? `${keys[place].label} ${text || "–"}` : text;
    }).join(", ") || "all");
    return names.map((name, at) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${at + 1})`));
  }

  // Published values beside ours: a chart for each quantity, as their units differ.
  function pairs(found) {
    const { quantity, order } = data.pair;
    const statements = new Set(data.pair.statements);
    const textOf = (place, row) => (place === null ? "" : keys[place].values[keys[place].index[row]]);
    const groups = new Map();
    for (const row of found.filter((one) => !statements.has(one))) {
      const id = unit(textOf(quantity, row) || "published and ours", textOf(data.pair.unit, row));
      if (!groups.has(id)) groups.set(id, []);
      groups.get(id).push(row);
    }
    return [...groups].map(([title, all]) => {
      const rows = all.slice(0, mostNames);
      const told = telling(rows, varied);
      const places = told.length ? told : varied.slice(0, 1);
      const numbers = order.filter((number) => state.metrics.has(number));
      const series = numbers.map((number, place) => ({ label: metrics[number].label, line: false, radius: place ? 3 : 5,
        points: rows.map((row, at) => ({ x: at + 1 + (place - (numbers.length - 1) / 2) * 0.12, y: metrics[number].values[row], half: metrics[number].halves ? metrics[number].halves[row] : null, row })) }));
      const more = all.length - rows.length;
      const bars = (number) => metrics[number].halves && rows.some((row) => metrics[number].halves[row] !== null);
      const note = [numbers.some(bars) ? "Bars: 95 % intervals of ours." : "No intervals.", more ? `${more} more rows are not drawn: choose fewer.` : ""];
      return { title, unit: "", series, wide: true, legend: true, log: state.log ?? data.pair.log.includes(all[0]), note: note.filter(Boolean).join(" "),
        x: { label: places.map((place) => keys[place].label).join(", "), unit: "", names: namesOf(rows, places), log: false } };
    });
  }

  function specs(found) {
    if (data.pair) return pairs(found);
    const key = keys[state.x];
    if (!key) return [];
    const used = [...new Set(found.map((row) => key.index[row]))].sort((a, b) => (key.numbers ? key.numbers[a] - key.numbers[b] : a - b));
    // One number alone has no scale.
    const names = isScale(key) && used.length > 1 ? null : used.map((value) => key.values[value]);
    // A key that changes with the axis, value by value, makes no series of its own; every other one does.
    const changes = (place) => {
      const pairs = found.map((row) => `${key.index[row]}|${keys[place].index[row]}`);
      const count = new Set(pairs).size;
      return count === used.length && count === new Set(found.map((row) => keys[place].index[row])).size;
    };
    const free = varied.filter((place) => place !== state.x);
    const along = used.length > 1 ? free.filter(changes) : [];
    const others = free.filter((place) => !along.includes(place));
    const groups = new Map();
    for (const row of found) {
      const id = others.map((place) => keys[place].index[row]).join("|");
      if (!groups.has(id)) groups.set(id, []);
      groups.get(id).push(row);
    }
    const shown = [...groups.values()].slice(0, mostSeries);
    const left = groups.size - shown.length;
    const firsts = shown.map((members) => members[0]);
    const labels = namesOf(firsts, telling(firsts, others));
    return [...state.metrics].sort((a, b) => a - b).map((number) => {
      const metric = metrics[number];
      const series = shown.map((members, place) => {
        const shift = names ? (place - (shown.length - 1) / 2) * Math.min(0.12, 0.6 / shown.length) : 0;
        const points = members.map((row) => ({
          x: (names ? used.indexOf(key.index[row]) + 1 : key.numbers[key.index[row]]) + shift,
          y: metric.values[row], half: metric.halves ? metric.halves[row] : null, row }));
        if (!names) points.sort((a, b) => a.x - b.x);
        // Many points need no dots.
        return { label: labels[place], points, line: !names, dots: points.length <= 60, radius: 4 };
      });
      const note = [metric.halves ? "Bars: 95 % intervals." : "No intervals.", left > 0 ? `${left} more series are not drawn: choose fewer.` : "",
        along.length ? `${along.map((place) => keys[place].label).join(", ")} changes with ${key.label}.` : "",
        metric.better > 0 ? "More is better." : metric.better < 0 ? "Less is better." : ""].filter(Boolean).join(" ");
      return { title: metric.label, unit: metric.unit, note, series, log: state.log,
        x: { label: key.label, unit: names ? "" : key.unit ?? "", names, log: state.logX && !names } };
    });
  }

  function fillTable(found) {
    const table = byId("main-table");
    const chosen = [...state.metrics].sort((a, b) => a - b);
    const columns = [...keys.map((key, place) => ({ label: key.label, key: place, order: (row) => (key.numbers ? key.numbers[key.index[row]] : key.values[key.index[row]]), text: (row) => key.values[key.index[row]] })),
      ...chosen.map((number) => {
        const metric = metrics[number];
        return { label: unit(metric.label, metric.unit), metric, order: (row) => metric.values[row],
          text: (row) => withHalf(metric.values[row], metric.halves ? metric.halves[row] : null) };
      })];
    const sort = state.sort && columns.find((column) => column.label === state.sort.label);
    const sorted = sort ? [...found].sort((one, other) => {
      const [a, b] = [sort.order(one), sort.order(other)];
      if (a === null || b === null) return (a === null) - (b === null) || one - other;
      return (a < b ? -1 : a > b ? 1 : 0) * state.sort.way || one - other;
    }) : found;
    const head = el("tr");
    for (const column of columns) {
      const way = sort === column ? state.sort.way : 0;
      head.append(el("th", { scope: "col", class: column.metric ? "" : "word", "aria-sort": way > 0 ? "ascending" : way < 0 ? "descending" : "none" },
        el("button", { type: "button", onclick: () => {
          state.sort = { label: column.label, way: way > 0 ? -1 : 1 };
          fillTable(visible());
          [...table.tHead.querySelectorAll("button")].find((button) => button.textContent.startsWith(column.label))?.focus();
        } }, column.label + (way > 0 ? " ▲" : way < 0 ? " ▼" : ""))));
    }
    table.tHead.replaceChildren(head);
    const limit = state.all ? sorted.length : Math.min(most, sorted.length);
    const body = document.createDocumentFragment();
    for (const row of sorted.slice(0, limit)) {
      const line = el("tr");
      for (const column of columns) {
        let kind = column.metric ? "" : "word";
        if (data.compare && column.metric && column.metric.verdicts) kind = ["bad", "", "good"][column.metric.verdicts[row] + 1];
        line.append(el("td", { class: kind }, column.text(row)));
      }
      body.append(line);
    }
    table.tBodies[0].replaceChildren(body);
    byId("shown").textContent = `${sorted.length} of ${rows} rows` + (limit < sorted.length ? `, the first ${limit} shown` : "");
    byId("more").hidden = limit === sorted.length;
  }

  function update() {
    const found = visible();
    redraw(byId("charts"), specs(found));
    fillTable(found);
    say(`${found.length} of ${rows} rows chosen`);
    document.documentElement.dataset.updates = Number(document.documentElement.dataset.updates || 0) + 1;
  }

  function chooser(key, place) {
    const kept = state.kept[place];
    const order = [...key.values.keys()];
    if (key.numbers) order.sort((a, b) => key.numbers[a] - key.numbers[b]);
    if (key.values.length > 12 || key.values.some((value) => value.length > 40)) {
      const select = el("select", { multiple: true, size: "5", id: `key-${place}`, onchange: () => {
        const some = [...select.selectedOptions].map((option) => Number(option.value));
        state.kept[place] = new Set(some.length ? some : key.values.keys());
        range = null;
        update();
      } }, ...order.slice(0, 500).map((value) => el("option", { value }, key.values[value] || "–")));
      return el("div", {}, el("label", { class: "label", for: `key-${place}` }, `${key.label}: none chosen means all`), select);
    }
    const boxes = order.map((value) => {
      const box = el("input", { type: "checkbox", checked: true, "data-key": key.label, onchange: () => {
        if (box.checked) kept.add(value); else kept.delete(value);
        range = null;
        update();
      } });
      return el("label", {}, box, key.values[value] || "–");
    });
    return el("fieldset", {}, el("legend", {}, key.label), ...boxes);
  }

  const metricBoxes = metrics.map((metric, place) => {
    const box = el("input", { type: "checkbox", checked: state.metrics.has(place), "data-metric": metric.label, onchange: () => {
      if (box.checked) state.metrics.add(place); else state.metrics.delete(place);
      update();
    } });
    // Two metrics of one name, as a lead in dB and in bps, differ by their units.
    const isTwice = metrics.some((other) => other !== metric && other.label === metric.label);
    return el("label", {}, box, isTwice ? unit(metric.label, metric.unit) : metric.label);
  });
  const axis = el("select", { id: "axis", onchange: () => { state.x = Number(axis.value); range = null; update(); } },
    ...(varied.length ? varied : keys.map((_, place) => place)).map((place) => el("option", { value: place, selected: place === state.x }, keys[place].label)));
  const logs = [["log", "logarithmic values"], ["logX", "logarithmic axis"]].slice(0, data.pair ? 1 : 2).map(([name, text]) => {
    const box = el("input", { type: "checkbox", checked: Boolean(data.pair?.log.length), onchange: () => { state[name] = box.checked; range = null; update(); } });
    return el("label", {}, box, text);
  });
  byId("choice").append(el("div", { class: "row" },
    // Sentences are found by their words.
    ...varied.filter((place) => keys[place].values.every((value) => value.length <= 60)).map((place) => chooser(keys[place], place)),
    el("fieldset", {}, el("legend", {}, "metrics"), ...metricBoxes),
    ...(keys.length && !data.pair ? [el("div", {}, el("label", { class: "label", for: "axis" }, "along the axis"), axis)] : []),
    ...(keys.length ? [el("fieldset", {}, el("legend", {}, "scales"), ...logs)] : []),
    el("div", {}, el("span", { class: "label" }, "colours"), themeButton(update))));
  const search = el("input", { type: "search", id: "search", oninput: () => { state.word = search.value; update(); } });
  byId("table-tools").append(el("div", { class: "row" },
    el("div", {}, el("label", { class: "label", for: "search" }, "rows that hold"), search),
    el("div", {}, el("span", { class: "label" }, "shown"), el("span", { id: "shown" })),
    el("div", {}, el("button", { type: "button", id: "more", onclick: () => { state.all = true; fillTable(visible()); } }, "Show all rows"))));
  update();
}
