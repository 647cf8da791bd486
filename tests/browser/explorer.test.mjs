// The page of `stepcast sweep`: rows, filter, both pictures and the details say the same of each configuration.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { assertFitsAcross, assertReadable, inTheDark, middle, onPhone, open, pathOf, screenshot, stepcast, write } from "./harness.mjs";

const PAGE_ROWS = 100;
const DATA = /(<script id="data" type="application\/json">)(.*?)(<\/script>)/s;
let data, rows;

/** What the page's script reads: the result itself. */
function dataOf(name) {
  return JSON.parse(readFileSync(pathOf(name), "utf8").match(DATA)[2]);
}

before(() => {
  stepcast("sweep llama3-8b --machine dgx-h100 --gpus 8 --global-batch 128 -o page.html");
  data = dataOf("page.html");
  rows = data.rows.index.length;
});

const figure = (key, row) => data.rows.figures[data.figures.findIndex((one) => one.name === key)][row];
const choice = (key, row) => {
  const at = data.axes.findIndex((axis) => axis.key === key);
  return data.axes[at].values[data.rows.choices[at][row]];
};
const allRows = () => [...Array(rows).keys()];
const said = (page) => page.locator("#filter-said").innerText();
const lines = (page) => page.locator("#table tbody tr").count();
/** The note of either picture. */
const note = (page, surface) => page.locator(`#${surface} .tip`);

/** Moves the pointer to a configuration of the scatter, which the keyboard finds; says where on the parallel axes it is drawn. */
async function pointSomewhere(page) {
  await page.locator("#scatter-surface canvas").focus();
  await page.keyboard.press("ArrowRight");
  const line = page.locator("#parallel-surface polyline.hovered");
  const points = (await line.getAttribute("points")).split(" ").map((point) => point.split(",").map(Number));
  const at = await middle(page.locator("#scatter-surface circle.hovered"));
  await page.mouse.move(at.x, at.y);
  return points;
}

describe("rows", () => {
  test("are those of the result, best first", () => open("page.html", {}, async (page) => {
    assert.ok(rows > PAGE_ROWS, "all that can run");
    assert.equal(await lines(page), Math.min(rows, PAGE_ROWS));
    assert.ok((await said(page)).startsWith(`${rows} of ${rows} row`));
    const ranks = await page.locator("#table tbody tr th").allInnerTexts();
    assert.equal(parseInt(ranks[0], 10), 1);
    await screenshot(page, "light");
  }));

  test("are sorted by a heading, and the other way round", () => open("page.html", {}, async (page) => {
    const heading = page.locator("#table thead").getByRole("button", { name: /^peak memory/ });
    const first = () => page.locator("#table tbody tr").first().getAttribute("data-row").then(Number);
    const peak = (row) => figure("memory.peak", row), peaks = allRows().map(peak);
    await heading.click();
    assert.equal(peak(await first()), Math.min(...peaks));
    await heading.click();
    assert.equal(peak(await first()), Math.max(...peaks));
  }));
});

describe("the filter", () => {
  test("keeps what holds", () => open("page.html", {}, async (page) => {
    const varies = data.axes.find((axis) => new Set(allRows().map((row) => choice(axis.key, row))).size > 1);
    assert.ok(varies, "no axis varies");
    const value = choice(varies.key, 0), expected = allRows().filter((row) => choice(varies.key, row) === value).length;
    await page.locator("#filter").fill(`${varies.key}="${value}"`);
    assert.equal(await lines(page), Math.min(expected, PAGE_ROWS));
    assert.ok((await said(page)).startsWith(`${expected} of ${rows} row`));
    await page.locator("#reset").click();
    assert.equal(await lines(page), Math.min(rows, PAGE_ROWS));
  }));

  test("compares figures", () => open("page.html", {}, async (page) => {
    const times = allRows().map((row) => figure("step_time", row)).sort((a, b) => a - b), limit = times[Math.floor(rows / 2)];
    await page.locator("#filter").fill(`step_time<${limit}s`);
    assert.ok((await said(page)).startsWith(`${times.filter((time) => time < limit).length} of ${rows} row`));
  }));

  test("says what is wrong and keeps the rows", () => open("page.html", {}, async (page) => {
    await page.locator("#filter").fill("nonsense<5");
    assert.ok((await said(page)).includes("no axis or figure 'nonsense'"));
    assert.equal(await page.locator("#filter").getAttribute("aria-invalid"), "true");
    assert.equal(await lines(page), Math.min(rows, PAGE_ROWS));
  }));
});

describe("pictures", () => {
  test("pointing at the scatter tells its two figures and marks the row", () => open("page.html", {}, async (page) => {
    await pointSomewhere(page);
    const text = await note(page, "scatter-surface").innerText();
    assert.ok(text.includes("step time") && text.includes("peak memory"), text);
    assert.equal(await page.locator("#table tr.hovered").count(), 1);
    await page.mouse.move(2, 2);
    assert.equal(await note(page, "scatter-surface").isVisible(), false);
  }));

  test("a click pins; again, Escape and the panel's button let go", () => open("page.html", {}, async (page) => {
    const pinned = page.locator("#table tr.pinned"), row = page.locator("#table tbody tr").nth(2);
    await row.click();
    assert.equal(await pinned.count(), 1);
    assert.ok((await page.locator("#details h3").innerText()).startsWith("Pinned"));
    await page.keyboard.press("Escape");
    assert.equal(await pinned.count(), 0);
    await row.click();
    await page.locator("#details").getByRole("button", { name: "Let go" }).click();
    assert.equal(await pinned.count(), 0);
    await pointSomewhere(page);
    await page.mouse.down();
    await page.mouse.up();
    assert.equal(await pinned.count(), 1);
  }));

  test("other figures are drawn on request", () => open("page.html", {}, async (page) => {
    await page.locator("#scatter-x").selectOption("mfu");
    await page.locator("#scatter-y-log").check();
    await page.waitForFunction(() => document.querySelector("#scatter-surface .axis-name").textContent.startsWith("MFU"));
    await pointSomewhere(page);
    assert.ok((await note(page, "scatter-surface").innerText()).includes("MFU"));
  }));

  test("a range on an axis keeps what lies in it, and a click lets it go", () => open("page.html", {}, async (page) => {
    const grip = page.getByRole("slider", { name: "range of step time" });
    await grip.scrollIntoViewIfNeeded();
    const box = await grip.boundingBox(), x = box.x + box.width / 2;
    await page.mouse.move(x, box.y + box.height * 0.5);
    await page.mouse.down();
    await page.mouse.move(x, box.y + box.height, { steps: 4 });
    await page.mouse.up();
    const kept = parseInt((await said(page)).replace(",", ""), 10);
    assert.ok(kept > 0 && kept < rows, `${kept} of ${rows}`);
    assert.ok((await grip.getAttribute("aria-valuetext")).startsWith("from "));
    const slowest = Math.max(...await page.locator("#table tbody tr").evaluateAll((all) => all.map((one) => Number(one.dataset.row)))
      .then((ids) => ids.map((row) => figure("step_time", row))));
    assert.ok(slowest < Math.max(...allRows().map((row) => figure("step_time", row))), "the slow half is gone");
    await page.mouse.click(x, box.y + box.height * 0.5);
    assert.equal(await grip.getAttribute("aria-valuetext"), "all");
  }));

  test("the keyboard goes from point to point and pins", () => open("page.html", {}, async (page) => {
    await page.locator("#scatter-surface canvas").focus();
    for (const key of ["ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
    assert.equal(await page.locator("#table tr.pinned").count(), 1);
  }));

  test("parallel coordinates tell the line that is pointed at", () => open("page.html", {}, async (page) => {
    const [[fromX, fromY], [toX, toY]] = await pointSomewhere(page), canvas = page.locator("#parallel-surface canvas");
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + (fromX + toX) / 2, box.y + (fromY + toY) / 2);
    assert.ok((await note(page, "parallel-surface").innerText()).includes("step time"));
  }));
});

describe("the page", () => {
  test("in the dark", () => inTheDark("page.html", async (page) => {
    await assertReadable(page, true);
    await screenshot(page, "dark");
  }));

  test("on a phone", () => onPhone("page.html", async (page) => {
    await assertReadable(page, false);
    await assertFitsAcross(page);
    await screenshot(page, "phone");
  }));

  test("in print the filter is gone", () => open("page.html", {}, async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator(".filter").isVisible(), false);
    assert.equal(await page.locator("#table").isVisible(), true);
  }));

  /** Ids are plain by rule; a choice may be any text, as a file of mappings has it. */
  test("hostile choices stay text", async () => {
    const page = readFileSync(pathOf("page.html"), "utf8"), text = `<script>alert(1)</script>"'&` + "x".repeat(5000);
    const hostile = { ...data, axes: data.axes.map((axis) => ({ ...axis, values: axis.values.map((value) => text + value) })) };
    write("hostile.html", page.replace(DATA, (all, before, json, after) =>
      before + JSON.stringify(hostile).replaceAll("<", "\\u003c") + after));
    await onPhone("hostile.html", async (opened) => {
      assert.ok((await opened.locator("#details .choices").first().innerText()).includes(`<script>alert(1)</script>"'&xxx`));
      assert.equal(await lines(opened), Math.min(rows, PAGE_ROWS));
      await opened.locator("#table tbody tr").first().tap();
      await assertFitsAcross(opened);
    });
  });
});
