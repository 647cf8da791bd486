// The page of `stepcast compare`: both timelines zoom together, their sums are those of the window, and the waterfall is there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { assertFitsAcross, assertNear, assertReadable, frames, inTheDark, middle, onPhone, open, pathOf, screenshot, stepcast } from "./harness.mjs";

const RUN = "llama3-8b --gpus 8 --tp 2 --pp 2 --global-batch 16 --seq 2048";
let data;

before(() => {
  stepcast(`timeline ${RUN} --recompute full -o measured.json`);
  stepcast(`compare ${RUN} --trace ${pathOf("measured.json")} -o page.html`);
  const text = readFileSync(pathOf("page.html"), "utf8");
  data = JSON.parse(/<script id="data" type="application\/json">(.*?)<\/script>/s.exec(text)[1]);
});

const window_ = (page) => page.locator("#window").evaluate((span) => ({ from: Number(span.dataset.from), to: Number(span.dataset.to) }));
/** Seconds of the second and third column, all rows. */
const sums = (page) => page.locator("#sums tbody td[data-s]").evaluateAll((cells) => cells.map((cell) => Number(cell.dataset.s)));
const sum = (list) => list.reduce((all, one) => all + one, 0);
const lengths = (side) => sum(side.bars.filter((_, i) => i % 6 === 4)) * 1e-9;

describe("the comparison's page", () => {
  test("shows a waterfall, rows and both timelines", () => open("page.html", {}, async (page) => {
    await assertReadable(page, false);
    assert.equal(await page.locator(".drawing canvas").count(), 2);
    assert.ok((await page.locator("figure.wide .fall").count()) >= 3);
    assert.ok((await page.locator("#rows tbody tr").count()) >= 3);
    const all = await sums(page);
    assertNear(sum(all.filter((_, i) => i % 2 === 0)), lengths(data.expected), 1e-6, "expected");
    assertNear(sum(all.filter((_, i) => i % 2 === 1)), lengths(data.measured), 1e-6, "measured");
    await screenshot(page, "light");
  }));

  test("zooms and moves both together", () => open("page.html", {}, async (page) => {
    const whole = await window_(page), before = await sums(page);
    await page.locator("#in").click();
    await frames(page);
    const half = await window_(page);
    assertNear(half.to - half.from, (whole.to - whole.from) / 2, 2, "half of the window");
    assert.ok(sum(await sums(page)) < sum(before));
    const canvas = page.locator(".drawing canvas").nth(1), at = await middle(canvas);
    await page.mouse.move(at.x, at.y);
    await page.mouse.wheel(0, -120);
    await frames(page);
    const closer = await window_(page);
    assertNear(closer.to - closer.from, 0.8 * (half.to - half.from), 2, "by the wheel");
    await canvas.press("ArrowRight");
    await frames(page);
    assert.ok((await window_(page)).from > closer.from);
    await page.locator("#all").click();
    await frames(page);
    assert.deepEqual(await window_(page), whole);
  }));

  test("in the dark", () => inTheDark("page.html", async (page) => { await assertReadable(page, true); }));

  test("on a phone", () => onPhone("page.html", async (page) => {
    await assertReadable(page, false);
    await assertFitsAcross(page);
    await screenshot(page, "phone");
  }));
});
