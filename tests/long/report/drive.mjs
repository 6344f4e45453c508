// Drives the pages: no request, no message on the console, choices answered, keys reach all, no serious finding of axe-core.
import { readFileSync, mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const profile = mkdtempSync(join(tmpdir(), "report-"));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM, headless: true, bypassCSP: false,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
mkdirSync("screens", { recursive: true });
let passed = 0;
const failures = [];
const check = (name, holds, found = "") => {
  if (holds) passed += 1; else { failures.push(name); console.log(`failed: ${name} ${found}`); }
};
const updates = (page) => page.evaluate(() => Number(document.documentElement.dataset.updates || 0));

async function open(name, options = {}) {
  const page = await browser.newPage();
  await page.setViewportSize({ width: options.width || 1280, height: 900 });
  await page.emulateMedia({ colorScheme: options.theme || "light" });
  const requests = [];
  const messages = [];
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) requests.push(request.url()); });
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) messages.push(message.text()); });
  page.on("pageerror", (error) => messages.push(error.message));
  const session = await browser.newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const begun = Date.now();
  await page.goto(pathToFileURL(`${name}.html`).href);
  await page.waitForFunction(() => Number(document.documentElement.dataset.updates) > 0);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return { page, requests, messages, ms: Date.now() - begun, worked: await work(session), session };
}
// Time of the processor that the page has taken, ms: unlike the time that passes, the same on a busy machine.
async function work(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find((metric) => metric.name === "TaskDuration").value * 1000;
}
// The vertical lines that a chart draws at the places of its points, as their lower and upper ends in pixels.
const bars = (page, number) => page.evaluate((number) => {
  const chart = linked[number];
  const { ctx } = chart;
  const xs = chart.data.datasets.flatMap((set) => set.data.map((point) => chart.scales.x.getPixelForValue(point.x)));
  const found = [];
  let from = null;
  ctx.moveTo = (x, y) => { from = [x, y]; CanvasRenderingContext2D.prototype.moveTo.call(ctx, x, y); };
  ctx.lineTo = (x, y) => {
    if (x === from[0] && xs.includes(x)) found.push([from[1], y]);
    CanvasRenderingContext2D.prototype.lineTo.call(ctx, x, y);
  };
  chart.draw();
  delete ctx.moveTo;
  delete ctx.lineTo;
  return found;
}, number);
async function quiet(name, { page, requests, messages }) {
  check(`${name}: no request`, requests.length === 0, requests.join());
  check(`${name}: no message on the console`, messages.length === 0, messages.join("; "));
  await page.close();
}
async function accessible(name, page) {
  // Typed at the console, which a policy does not bind; with `page.addScriptTag` the policy would refuse it.
  const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
  const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  check(`${name}: no serious finding of axe-core`, serious.length === 0, serious.map((one) => `${one.id}: ${one.nodes[0].html} ${one.nodes[0].failureSummary}`).join("\n"));
}

for (const name of ["sweep", "run", "compare", "tcp", "reproduced", "hostile"]) {
  for (const [theme, width] of [["light", 1280], ["dark", 1280], ["light", 390]]) {
    const opened = await open(name, { theme, width });
    const isOpen = await opened.page.evaluate(() => document.querySelector("#choice > .row").checkVisibility());
    check(`${name} ${theme} ${width}: controls are open on a wide screen only`, isOpen === (width > 700));
    await opened.page.screenshot({ path: `screens/${name}-${theme}-${width}.png`, fullPage: true });
    const wide = await opened.page.evaluate(() => document.documentElement.scrollWidth);
    check(`${name} ${theme} ${width}: fits the width`, wide <= width, wide);
    const empty = await opened.page.evaluate(() => [...document.querySelectorAll("h1, h2, h3, th, legend, caption, summary, label")]
      .filter((node) => node.checkVisibility() && !node.textContent.trim()).map((node) => node.outerHTML));
    check(`${name} ${theme} ${width}: no empty heading`, empty.length === 0, empty.join());
    const blank = await opened.page.evaluate(() => [...document.querySelectorAll("#main-table thead th")]
      .filter((head) => [...document.querySelectorAll(`#main-table tbody td:nth-child(${head.cellIndex + 1})`)].every((cell) => !cell.textContent)).map((head) => head.textContent));
    check(`${name} ${theme} ${width}: no empty column`, blank.length === 0, blank.join());
    const long = await opened.page.evaluate(() => linked.flatMap((chart) => chart.data.datasets.map((set) => set.label)).filter((label) => label.length > 60));
    check(`${name} ${theme} ${width}: no long name of a series`, long.length === 0 || name === "hostile", long[0]);
    const ground = await opened.page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3);
    check(`${name} ${theme} ${width}: ${theme}`, theme === "dark" ? ground < 60 : ground > 200, ground);
    await accessible(`${name} ${theme} ${width}`, opened.page);
    if (!isOpen) {
      await opened.page.locator("#choice > summary").click();
      await accessible(`${name} ${theme} ${width}, controls open`, opened.page);
    }
    await quiet(`${name} ${theme} ${width}`, opened);
  }
}

{ // A choice changes charts and table at once.
  const opened = await open("sweep");
  const { page } = opened;
  const state = () => page.evaluate(() => [linked.length, linked[0].data.datasets.flatMap((set) => set.data).length, document.querySelectorAll("#main-table tbody tr").length]);
  const [charts, points, rows] = await state();
  await page.locator('input[data-key="scheme"]').first().uncheck();
  const [, fewer, shorter] = await state();
  check("a scheme less: fewer points and rows", points === 12 && rows === 12 && fewer === 8 && shorter === 8, `${points} ${rows} ${fewer} ${shorter}`);
  await page.locator("input[data-metric]").nth(2).check();
  check("a metric more: a chart more", (await state())[0] === charts + 1);
  await page.locator("#main-table thead button").nth(3).click();
  const goodput = async () => (await page.locator("#main-table tbody td:nth-child(4)").allTextContents()).map(parseFloat);
  const rising = await goodput();
  check("sorted by goodput", rising.every((value, place) => place === 0 || value >= rising[place - 1] - 1e-9), rising.join());
  await page.locator("#main-table thead button").nth(3).click();
  check("sorted the other way", (await goodput()).join() === [...rising].reverse().join() && rising[0] < rising.at(-1), (await goodput()).join());
  await page.fill("#search", "harq");
  check("filtered by a word", (await state())[2] === 4);
  // Zoom holds for all charts.
  const spans = () => page.evaluate(() => linked.map((chart) => chart.scales.x.max - chart.scales.x.min));
  const whole = await spans();
  await page.getByRole("button", { name: /^Zoom in/ }).first().click();
  const near = await spans();
  check("zoom of all charts", near.length === 3 && near.every((span, place) => Math.abs(span - 0.6 * whole[place]) < 1e-9), `${whole} ${near}`);
  await page.getByRole("button", { name: /^Show all/ }).last().click();
  check("all charts show all again", (await spans()).join() === whole.join(), (await spans()).join());
  // The values at the pointer stand in all charts.
  const canvas = page.locator("canvas").first();
  await canvas.scrollIntoViewIfNeeded();
  const [x, y] = await page.evaluate(() => { const point = linked[0].getDatasetMeta(0).data[0]; return [point.x, point.y]; });
  await canvas.hover({ position: { x, y } });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const tips = await page.evaluate(() => linked.map((chart) => chart.tooltip.body?.flatMap((part) => part.lines).join("; ") ?? ""));
  const values = await page.evaluate(() => linked.map((chart) => withHalf(chart.data.datasets[0].data[0].y, chart.data.datasets[0].data[0].half)));
  check("hover shows the values of all charts", tips.length === 3 && tips.every((tip, place) => tip.includes(values[place])), `${tips.join(" | ")}; ${values}`);
  await quiet("sweep, chosen", opened);
}

{ // A narrow screen shows the first chart with nothing but the answer before it, and keys open the controls.
  const opened = await open("sweep", { width: 390 });
  const { page } = opened;
  const [block, row] = await page.evaluate(() => [document.querySelector("#controls").offsetHeight, document.querySelector("#choice > .row").checkVisibility()]);
  check("a narrow screen: a line for the controls", block > 0 && block < 60 && !row, block);
  for (let step = 0; step < 5 && !(await page.evaluate(() => document.activeElement?.matches("#choice > summary"))); step += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  check("a narrow screen: keys open the controls", await page.evaluate(() => Boolean(document.activeElement?.matches("#choice[open] input"))));
  await page.keyboard.press("Space");
  check("a narrow screen: keys choose", (await page.evaluate(() => document.querySelectorAll("#main-table tbody tr").length)) === 8);
  await quiet("sweep, narrow", opened);
}

{ // The keyboard alone reaches every control.
  const opened = await open("sweep");
  const { page } = opened;
  const all = await page.evaluate(() => {
    const found = [...document.querySelectorAll("a[href], button, input, select, summary, canvas, pre, .frame")].filter((node) => node.checkVisibility());
    found.forEach((node, place) => { node.dataset.place = place; });
    return found.length;
  });
  const reached = new Set();
  for (let step = 0; step < all + 5; step += 1) {
    await page.keyboard.press("Tab");
    const place = await page.evaluate(() => document.activeElement?.dataset.place ?? "");
    if (place !== "") reached.add(place);
  }
  check("keys reach every control", reached.size === all, `${reached.size} of ${all}`);
  await page.locator("canvas").first().focus();
  await page.keyboard.press("ArrowRight");
  const said = await page.locator("#live").textContent();
  check("an arrow key says the values", /\d/.test(said) && /Mbps/.test(said), said);
  await quiet("sweep, by keys", opened);
}

{ // Paper has the pictures and all of the table, light, and nothing to choose.
  const opened = await open("sweep", { theme: "dark" });
  const { page } = opened;
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const shown = await page.evaluate(() => ["#controls", "#table-tools", "#charts", "#pictures", "#main-table"].filter((one) => document.querySelector(one).checkVisibility()).join());
  check("paper: pictures and table", shown === "#pictures,#main-table", shown);
  const frame = await page.evaluate(() => { const node = document.querySelector("#results .frame"); return [node.scrollHeight - node.clientHeight, getComputedStyle(document.body).backgroundColor]; });
  check("paper: the whole table, light", frame[0] <= 1 && frame[1] === "rgb(255, 255, 255)", frame.join());
  await page.emulateMedia({ media: "screen" });
  await quiet("sweep, on paper", opened);
}

{ // Regressions come first, and are marked.
  const opened = await open("compare");
  const kinds = await opened.page.evaluate(() => [...document.querySelectorAll("#main-table tbody tr")].map((row) => row.querySelector("td.bad, td.good")?.className ?? ""));
  const order = kinds.map((kind) => ["bad", "", "good"].indexOf(kind));
  check("regressions first", kinds[0] === "bad" && order.every((place, at) => at === 0 || place >= order[at - 1]), kinds.join());
  await quiet("compare, marked", opened);
}

{ // The only value of an axis has no scale; a rank is none either.
  const opened = await open("tcp");
  const ticks = await opened.page.evaluate(() => linked[0].scales.x.ticks.map((tick) => tick.label).join());
  check("one seed has one tick", ticks === "1", ticks);
  await quiet("tcp, ticks", opened);
}

{ // Published values stand beside ours, each quantity in a chart of its own.
  const opened = await open("reproduced");
  const charts = await opened.page.evaluate(() => linked.map((chart) => chart.data.datasets.map((set) => `${set.label} ${set.data.length}`).join()));
  const rows = JSON.parse(readFileSync("reproduced.json", "utf8")).results.flatMap((figure) => figure.rows);
  const wanted = [...new Set(rows.map((row) => row.quantity))].map((quantity) => {
    const count = rows.filter((row) => row.quantity === quantity).length;
    return `published ${count},ours ${count}`;
  });
  check("published beside ours", wanted.length > 1 && charts.join("; ") === wanted.join("; "), `${charts.join("; ")}, expected ${wanted.join("; ")}`);
  const command = await opened.page.locator("pre[aria-label=Commands]").textContent();
  check("the command that repeats it", command.startsWith("tmt reproduce celandroni-table1 --seeds 2 --json > reproduced.json\n"), command);
  check("what was asked", (await opened.page.locator("#detail-0 caption").textContent()).startsWith("Asked"));
  await quiet("reproduced, charts", opened);
}

{ // Values of several decades have a logarithmic scale, on which zero has no place; a chart of few decades beside it has none.
  const opened = await open("decades");
  const { page } = opened;
  const state = () => page.evaluate(() => linked.map((chart) => [chart.scales.y.type, chart.data.datasets[0].data.map((point) => point.y).join()].join()));
  check("scales by decades", (await state()).join(";") === "logarithmic,0.01,,10;linear,1,2", (await state()).join(";"));
  const notes = await page.locator("figcaption").allTextContents();
  check("zero is counted", notes[0].includes("loss: 2 values of zero or less not on the logarithmic axis") && !notes[1].includes("zero"), notes.join(";"));
  const drawn = await bars(page, 0);
  const wanted = await page.evaluate(() => {
    const { chartArea: { bottom }, scales: { y } } = linked[0];
    return [[0.010, 0.012].map((value) => y.getPixelForValue(value)), [bottom, y.getPixelForValue(22)]];
  });
  const near = drawn.length === wanted.length && drawn.every((ends, place) => ends.every((end, at) => Math.abs(end - wanted[place][at]) < 1));
  check("bars have the ends of their intervals, and one that reaches zero ends at the axis", near, JSON.stringify([drawn, wanted]));
  await page.getByLabel("logarithmic values").uncheck();
  check("a scale as chosen", (await state()).join(";") === "linear,0.01,0,10;linear,1,2", (await state()).join(";"));
  await quiet("decades", opened);
}

{ // A line joins no points of different schemes or controls, and no two have one name.
  const opened = await open("incomplete");
  await opened.page.selectOption("#axis", { label: "load" });
  const series = await opened.page.evaluate(() => linked[0].data.datasets.map((set) => ({ label: set.label, of: [...new Set(set.data.map(({ row }) => Math.floor(row / 3) + 2 * (row % 2)))] })));
  check("a series has one scheme and one control", series.length === 4 && series.every((one) => one.of.length === 1), JSON.stringify(series));
  check("each series has a name of its own", new Set(series.map((one) => one.label)).size === series.length, JSON.stringify(series));
  await quiet("incomplete", opened);
}

{ // A packet shows its way.
  const opened = await open("run");
  const { page } = opened;
  await page.fill("#packet", "100");
  await page.keyboard.press("Enter");
  check("the way of a packet by its number", (await page.locator("#way h3").textContent()).startsWith("Packet 100 of flow 0"));
  const at = await page.evaluate(() => { const chart = linked.at(-1); const point = chart.getDatasetMeta(0).data[500]; return [point.x, point.y, chart.data.datasets[0].data[500].row]; });
  const canvas = page.locator("canvas").last();
  await canvas.scrollIntoViewIfNeeded();
  await canvas.click({ position: { x: at[0], y: at[1] } });
  await page.waitForFunction(() => !document.querySelector("#way h3").textContent.startsWith("Packet 100 "), null, { timeout: 5000 }).catch(() => {});
  const way = await page.locator("#way h3").textContent();
  const wanted = await page.evaluate((row) => data.packets.packet[row], at[2]);
  check("the way of a packet by a click", Math.abs(parseInt(way.match(/Packet (\d+)/)[1], 10) - wanted) < 30, `${way} ${wanted}`);
  await quiet("run, chosen", opened);
}

{ // Names of any content stay text.
  const opened = await open("hostile");
  check("hostile names stay text", (await opened.page.title()).startsWith("Study") && (await opened.page.locator("img").count()) === 0);
  const cells = await opened.page.locator("#main-table tbody td:first-child").allTextContents();
  check("hostile names are shown", cells.some((cell) => cell.startsWith("</script><script>")), cells.join());
  await quiet("hostile", opened);
}

{ // Without script: tables and pictures. A script of another's does not run.
  const bare = await browser.browser()?.newContext({ javaScriptEnabled: false }) ?? null;
  if (bare) {
    const page = await bare.newPage();
    await page.goto(pathToFileURL("sweep.html").href);
    check("without script: pictures and a table", (await page.locator("figure svg").count()) >= 2 && (await page.locator("#main-table tbody tr").count()) === 12);
    await bare.close();
  } else {
    const page = await browser.newPage();
    const session = await browser.newCDPSession(page);
    await session.send("Emulation.setScriptExecutionDisabled", { value: true });
    await page.goto(pathToFileURL("sweep.html").href);
    const { result } = await session.send("Runtime.evaluate", { expression: "1" }).catch(() => ({ result: {} }));
    await page.screenshot({ path: "screens/sweep-without-script.png", fullPage: true });
    const document = await session.send("DOM.getDocument", { depth: -1 });
    const count = async (selector) => (await session.send("DOM.querySelectorAll", { nodeId: document.root.nodeId, selector })).nodeIds.length;
    check("without script: pictures and a table", (await count("#pictures:not([hidden]) figure svg")) >= 2 && (await count("#main-table tbody tr")) === 12 && (await count("#controls[hidden]")) === 1, JSON.stringify(result));
    await page.close();
  }
}

for (const [name, bar] of [["rows-10000", 1000], ["rows-1000000", 3000]]) {
  const opened = await open(name);
  const before = await updates(opened.page);
  const begun = await work(opened.session);
  const answered = await opened.page.evaluate(async () => {
    const begun = performance.now();
    document.querySelector("input[data-key]").click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - begun;
  });
  const bytes = await opened.page.evaluate(() => document.getElementById("data").textContent.length);
  check(`${name}: the choice is answered`, (await updates(opened.page)) > before);
  check(`${name}: data of at most 1 MB`, bytes <= 1e6, bytes);
  const filtered = (await work(opened.session)) - begun;
  console.log(`report: ${name}: first chart after ${opened.ms} ms, ${opened.worked.toFixed(0)} ms of work; a filter after ${answered.toFixed(0)} ms, ${filtered.toFixed(0)} ms of work; ${bytes} B of data`);
  check(`${name}: times`, opened.worked < bar && filtered < bar, `${opened.worked} ${filtered}`);
  await quiet(name, opened);
}

await browser.close();
rmSync(profile, { recursive: true, force: true });
console.log(`report: ${passed} passed, ${failures.length} failed`);
process.exit(failures.length ? 1 : 0);
