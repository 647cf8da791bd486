// The page of `stepcast timeline`: what is drawn, told and summed is what its data and the forecast say, and every control does what
// it says.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { assertFitsAcross, assertNear, assertReadable, frames, inTheDark, onPhone, open, pathOf, screenshot, stepcast, write } from "./harness.mjs";

const RUN = "llama3-8b --gpus 16 --tp 2 --pp 4 --stack megatron-core --global-batch 48";
let data, phases, hasChart;

before(() => {
  stepcast(`timeline ${RUN} -o page.html`);
  phases = JSON.parse(stepcast(`predict ${RUN} --json`)).phases_s;
  const text = readFileSync(pathOf("page.html"), "utf8");
  data = JSON.parse(/<script id="data" type="application\/json">(.*?)<\/script>/s.exec(text)[1]);
  hasChart = text.includes('<div id="memory-chart"');
});

/** Actions of a rank as the page's data has them: {which, start, end: microseconds}. */
function actionsOf(rank) {
  const stages = data.rank_of.flatMap((one, stage) => (one === rank ? [stage] : [])), next = new Map(), actions = [];
  let at = 0, hold = 0;
  for (const [, letter, place, unit, gap, surplus, length] of data.actions[rank].matchAll(
    /([FBIWH])(\d*)(?:u(-?\d+))?(?:g(-?\d+))?(?:s(-?\d+))?(?:l(-?\d+))?/g)) {
    at += Number(gap ?? 0);
    if (letter === "H") {
      at += hold = Number(length ?? hold);
      continue;
    }
    const key = 4 * stages[Number(place)] + "FBIW".indexOf(letter), number = (next.get(key) ?? 0) + Number(unit ?? 0), start = at;
    next.set(key, number + 1);
    const which = data.which[key * data.slices + (number % data.slices)];
    at += data.inside[which].ticks + Number(surplus ?? 0);
    actions.push({ which, letter, unit: number, start: data.begin + start * data.tick, end: data.begin + at * data.tick });
  }
  return actions;
}

/** Spans of an action's inside: {kind, name, start, end: microseconds from its start}. */
function spansOf(which) {
  const spans = [], grain = data.tick / 100;
  for (const [, count, , start, period, ...numbers] of data.inside[which].runs)
    for (let copy = 0; copy < count; ++copy)
      for (let i = 0, at = start + copy * period; i < numbers.length; i += 5) {
        const from = at + numbers[i + 3];
        at = from + numbers[i + 4];
        spans.push({ kind: numbers[i] % 3, name: data.names[numbers[i + 2]], start: from * grain, end: at * grain });
      }
  return spans;
}
const longest = (spans) => spans.reduce((best, span) => (span.end - span.start > best.end - best.start ? span : best));

const text = (page, selector) => page.locator(selector).textContent();
/** Microseconds in the columns of a rank: forward, backward, waiting, held, bubble, around. */
const sums = (page, rank) => page.locator(`#window-table tbody tr:nth-child(${rank + 1}) td[data-us]`)
  .evaluateAll((cells) => cells.map((cell) => Number(cell.dataset.us)));
const sum = (list) => list.reduce((all, one) => all + one, 0);
/** The table follows a moment after the picture: a later timer of the page fires after the page's own. */
const settled = (page) => page.evaluate(() => new Promise((done) => setTimeout(done, 150)));

/** Where a moment of the whole step lies in a row, by the row's name. */
async function placeOf(page, name, time) {
  const chart = await page.locator("#chart").boundingBox();
  const row = await page.locator("#labels .label", { hasText: name }).first().boundingBox();
  return { x: chart.x + (chart.width * time) / data.end, y: row.y + row.height / 2 };
}
/** Zooms at a moment, which stays under the pointer. */
async function zoomAt(page, place, times) {
  await page.mouse.move(place.x, place.y);
  for (let i = 0; i < times; ++i) await page.mouse.wheel(0, -300);
}
const labels = (page) => page.locator("#labels .label").allTextContents();
const pixels = (page, id) => page.evaluate((id) => {
  const canvas = document.getElementById(id), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Map();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) {
    const key = `${data[i]},${data[i + 1]},${data[i + 2]}`;
    colours.set(key, (colours.get(key) ?? 0) + 1);
  }
  return Object.fromEntries([...colours].filter(([, count]) => count > 40));
}, id);

describe("what is drawn", () => {
  test("rows of all ranks, the slowest unfolded, and colours on the canvas", () => open("page.html", {}, async (page) => {
    await frames(page);
    const names = await labels(page);
    assert.equal(names.filter((name) => name.startsWith("stage ")).length, data.actions.length);
    assert.ok(names.includes("compute") && names.includes("step"));
    assert.equal(await page.locator("#labels [aria-expanded=true]").textContent(), `stage ${data.slowest}`);
    const drawn = await pixels(page, "chart");
    for (const colour of ["143,197,240", "217,112,58", "243,217,92", "47,157,120"])
      assert.ok(drawn[colour] > 100, `${colour} of ${JSON.stringify(drawn)}`);
    assert.ok((await pixels(page, "minimap"))["217,112,58"] > 100);
    assert.ok(Object.keys(await pixels(page, "ruler")).length > 0);
    await screenshot(page, "light");
  }));

  test("a span is told by the note that lies over it", () => open("page.html", {}, async (page) => {
    const rank = data.slowest, action = actionsOf(rank)[2], span = longest(spansOf(action.which).filter((one) => one.kind === 0));
    const place = await placeOf(page, "compute", action.start + (span.start + span.end) / 2);
    await zoomAt(page, place, 8);
    await page.mouse.move(place.x + 1, place.y);
    assert.ok(await page.locator(".tip").isVisible());
    assert.equal(await text(page, ".tip b"), span.name);
    const told = await text(page, ".tip");
    assert.match(told, new RegExp(`micro-batch: ${action.unit}`));
    await screenshot(page, "zoomed");
  }));

  test("the whole step's table is the forecast's phases", () => open("page.html", {}, async (page) => {
    const [forward, backward, waiting, held, bubble, around] = await sums(page, data.slowest), step = sum(Object.values(phases)), room = 20;
    assertNear(data.end, 1e6 * step, 1, "the step");
    assertNear(forward, 1e6 * phases.forward, room, "forward");
    assertNear(backward, 1e6 * phases.backward, room, "backward");
    assertNear(waiting + held, 1e6 * phases.exposed_communication, room, "exposed communication");
    assertNear(bubble, 1e6 * phases.bubble, room, "bubble");
    const pipeline = phases.forward + phases.backward + phases.exposed_communication + phases.bubble;
    assertNear(around, 1e6 * (step - pipeline), room, "around the pipeline");
  }));

  test("without script tables and pictures are there", () => open("page.html", { javaScriptEnabled: false }, async (page) => {
    assert.ok(await page.locator("noscript .notice").isVisible());
    assert.ok(await page.locator("svg.pipeline").isVisible());
    assert.ok(await page.locator("svg.memory.wide").isVisible());
    assert.equal(await page.locator("#window-table tbody tr").count(), data.actions.length);
    assert.equal(await page.locator("svg.pipeline g.rank").count(), data.actions.length);
    await screenshot(page, "no_script");
  }));

  test("print has the pictures and no controls", () => open("page.html", {}, async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.ok(await page.locator("svg.pipeline").isVisible());
    assert.ok(await page.locator("svg.memory.wide").isVisible());
    assert.ok(!(await page.locator("#views").isVisible()));
    await screenshot(page, "print");
  }));
});

describe("what moves", () => {
  test("wheel, keys and buttons zoom and move; the table follows", () => open("page.html", {}, async (page) => {
    const whole = await text(page, "#range-said");
    await zoomAt(page, await placeOf(page, "stage 1", data.end / 2), 3);
    const near = await text(page, "#range-said");
    assert.notEqual(near, whole);
    await settled(page);
    const span = data.end * Math.exp(-3 * 300 * 0.0022), [from, to] = [(data.end - span) / 2, (data.end + span) / 2];
    for (let rank = 0; rank < data.actions.length; ++rank) {
      const found = await sums(page, rank), room = span / 200;  // the pointer stands on a whole pixel
      const worked = actionsOf(rank).map((one) => Math.max(0, Math.min(one.end, to) - Math.max(one.start, from)));
      assertNear(sum(found), span, 1, `the window of rank ${rank}`);
      assertNear(sum(found.slice(0, 3)), sum(worked), room, `what actions of rank ${rank} take`);
      const forward = actionsOf(rank).map((one, i) => worked[i] * (one.letter === "F"));
      assert.ok(found[0] > 0.5 * sum(forward) && found[0] <= sum(forward) + room, `kernels of forward: ${found[0]} of ${sum(forward)}`);
    }
    await page.locator("#chart").focus();
    await page.keyboard.press("d");
    assert.notEqual(await text(page, "#range-said"), near);
    await page.keyboard.press("a");
    assert.equal(await text(page, "#range-said"), near);
    await page.keyboard.press("0");
    assert.equal(await text(page, "#range-said"), whole);
    await page.keyboard.press("w");
    assert.notEqual(await text(page, "#range-said"), whole);
    await page.locator("#zoom-reset").click();
    assert.equal(await text(page, "#range-said"), whole);
    assert.ok(await page.locator("#zoom-out").isDisabled());
  }));

  test("who scrolls past the picture does not zoom it", () => open("page.html", {}, async (page) => {
    const whole = await text(page, "#range-said"), chart = await page.locator("#chart").boundingBox();
    await page.mouse.move(chart.x + 300, chart.y - 150);
    await page.mouse.wheel(0, 190);
    await page.waitForFunction(() => scrollY > 150);
    await page.mouse.wheel(0, -40);  // the picture lies under the pointer now
    await page.waitForFunction(() => scrollY < 160);
    assert.equal(await text(page, "#range-said"), whole);
    await page.mouse.move(chart.x + 310, chart.y - 140);
    await page.mouse.wheel(0, -40);
    await page.waitForFunction((whole) => document.getElementById("range-said").textContent !== whole, whole);
  }));

  test("a drag moves the window and one over the strip above chooses it", () => open("page.html", {}, async (page) => {
    const strip = await page.locator("#minimap").boundingBox(), y = strip.y + 20;
    await page.mouse.move(strip.x + strip.width / 4, y);
    await page.mouse.down();
    await page.mouse.move(strip.x + strip.width / 2, y, { steps: 5 });
    await page.mouse.up();
    await settled(page);
    assertNear(sum(await sums(page, 0)), data.end / 4, data.end / 200, "the window");
    const chosen = await text(page, "#range-said"), place = await placeOf(page, "stage 0", data.end / 2);
    await page.mouse.move(place.x, place.y);
    await page.mouse.down();
    await page.mouse.move(place.x + 200, place.y, { steps: 5 });
    await page.mouse.up();
    assert.notEqual(await text(page, "#range-said"), chosen);
    await settled(page);
    assertNear(sum(await sums(page, 0)), data.end / 4, data.end / 200, "the window");
  }));

  test("ranks fold, kinds are left out", () => open("page.html", {}, async (page) => {
    await page.locator("#unfold").click();
    assert.equal((await labels(page)).filter((name) => name === "compute").length, data.actions.length);
    assert.equal((await labels(page)).filter((name) => name === "sends").length, data.actions.length);
    for (const kind of ["send", "move"]) await page.locator(`#filters input[value=${kind}]`).uncheck();
    assert.deepEqual([...new Set((await labels(page)).map((name) => name.replace(/ \d+$/, "")))], ["step", "stage", "compute"]);
    await page.locator("#fold").click();
    assert.equal((await labels(page)).length, 1 + data.actions.length);
    await page.locator("#labels button").first().click();
    assert.equal(await page.locator("#labels button").first().getAttribute("aria-expanded"), "true");
  }));

  test("search counts and finds every span of a name", () => open("page.html", {}, async (page) => {
    const word = "attn";
    let count = 0;
    for (let rank = 0; rank < data.actions.length; ++rank)
      for (const action of actionsOf(rank)) count += spansOf(action.which).filter((span) => span.name.includes(word)).length;
    await page.locator("#find").fill(word);
    assert.ok(count > 100);
    assert.equal(await text(page, "#find-said"), `${count.toLocaleString("en-US")} spans`);
    await page.locator("#find").press("Enter");
    assert.match(await text(page, "#find-said"), /^1 of /);
    assert.match(await text(page, "#details h3"), /attn/);
    await page.locator("#find-next").click();
    assert.match(await text(page, "#find-said"), /^2 of /);
    await page.locator("#find").fill("no such name");
    assert.equal(await text(page, "#find-said"), "no span has this in its name");
    assert.ok(await page.locator("#find-next").isDisabled());
  }));

  test("a click pins an action with its hops; arrow keys go on; Escape lets go", () => open("page.html", {}, async (page) => {
    const action = actionsOf(1)[0], place = await placeOf(page, "stage 1", (action.start + action.end) / 2);
    await frames(page);
    await page.mouse.click(place.x, place.y);
    assert.equal(await text(page, "#details h3"), "forward, micro-batch 0");
    assert.match(await text(page, "#details dl"), /takes from0F0 on stage 0/);
    assert.match(await text(page, "#details dl"), /hands on to2F0 on stage 2/);
    await frames(page);
    assert.ok((await pixels(page, "chart"))["138,15,124"] > 40, "frame and arrows");
    await page.keyboard.press("ArrowRight");
    assert.equal(await text(page, "#details h3"), "forward, micro-batch 1");
    await page.keyboard.press("Escape");
    assert.match(await text(page, "#details"), /Click a span/);
  }));

  test("memory: a chart that follows where there is its library, else the picture", () => open("page.html", {}, async (page) => {
    assert.equal(await page.locator("#memory-chart .uplot canvas").count(), hasChart ? 1 : 0);
    assert.equal(await page.locator("#memory-picture").isVisible(), !hasChart);
    assert.equal(await page.locator("#memory-picture .wide path[data-rank]").count(), Math.min(7, data.actions.length));
    if (!hasChart) return;
    const range = () => page.evaluate(() => document.querySelector("#memory-chart .u-over").getBoundingClientRect().width);
    const over = await page.locator("#memory-chart .u-over").boundingBox(), before = await text(page, "#range-said");
    assert.ok((await range()) > 500);
    await page.locator("#memory-chart").scrollIntoViewIfNeeded();
    const box = await page.locator("#memory-chart .u-over").boundingBox();
    await page.mouse.move(box.x + over.width / 4, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + over.width / 2, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await settled(page);
    assert.notEqual(await text(page, "#range-said"), before);
    assertNear(sum(await sums(page, 0)), data.end / 4, data.end / 100, "the window that was dragged over");
  }));
});

describe("where it is read", () => {
  test("in the dark", () => inTheDark("page.html", async (page) => {
    await frames(page);
    await assertReadable(page, true);
    assert.ok((await pixels(page, "chart"))["63,134,196"] > 100, "the dark scheme's forward");
    await screenshot(page, "dark");
  }));
  test("in the light", () => open("page.html", {}, (page) => assertReadable(page, false)));
  test("on a phone", () => onPhone("page.html", async (page) => {
    await frames(page);
    await assertFitsAcross(page);
    const chart = await page.locator("#chart").boundingBox();
    await page.touchscreen.tap(chart.x + chart.width / 2, chart.y + 35);
    await assertFitsAcross(page);
    await screenshot(page, "phone");
  }));
  test("a hostile name stays text", async () => {
    const network = JSON.parse(stepcast("show network llama3-8b --json"));
    network.name = `<img src=x onerror=alert(1)></script>${"W".repeat(500)}`;
    const file = write("hostile.json", JSON.stringify(network));
    stepcast(`timeline ${file} --gpus 8 --pp 2 --global-batch 16 -o hostile.html`);
    await open("hostile.html", {}, async (page) => {
      assert.match(await text(page, "#run"), /^<img src=x onerror=alert\(1\)><\/script>W+ on 8 GPUs of /);
      assert.equal(await page.locator("img").count(), 0);
      await assertFitsAcross(page);
    });
  });
});
