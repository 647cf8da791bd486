// The page of `stepcast validate --html`: no script, and all of it readable in light, dark, on a phone and on paper.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { assertFitsAcross, assertReadable, inTheDark, onPhone, open, pathOf, screenshot, stepcast } from "./harness.mjs";

let report;

before(() => { report = JSON.parse(stepcast(`validate --json --html ${pathOf("page.html")}`)); });

/** Marks of a picture that lie outside of it. */
const strayMarks = (page) => page.locator("figure svg").evaluateAll((all) => all.flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll(".in, .out")].filter((mark) => {
    const { left, right, top, bottom } = mark.getBoundingClientRect();
    return left < frame.left - 8 || right > frame.right + 8 || top < frame.top - 8 || bottom > frame.bottom + 8;
  });
}).length);

describe("the validation's page", () => {
  test("has a mark and a row for every case", () => open("page.html", {}, async (page) => {
    await assertReadable(page, false);
    assert.ok(report.cases.length > 100);
    const rows = await page.locator("tbody tr").count();
    assert.ok(rows > report.cases.length, `${rows} rows for ${report.cases.length} cases`);
    assert.ok((await page.locator("svg .in, svg .out").count()) >= report.cases.length);
    assert.equal(await strayMarks(page), 0);
    assert.equal(await page.locator("script").count(), 0);
    await screenshot(page, "light");
  }));

  test("in the dark", () => inTheDark("page.html", async (page) => {
    await assertReadable(page, true);
    await screenshot(page, "dark");
  }));

  test("on a phone", () => onPhone("page.html", async (page) => {
    await assertReadable(page, false);
    await assertFitsAcross(page);
    await screenshot(page, "phone");
  }));

  test("on paper nothing is cut off at the side", () => open("page.html", {}, async (page) => {
    await page.emulateMedia({ media: "print" });
    const cut = await page.locator(".scroll").evaluateAll((all) =>
      all.filter((one) => getComputedStyle(one).overflowX !== "visible").length);
    assert.equal(cut, 0);
  }));
});
