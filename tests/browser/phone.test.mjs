// Every kind of page on a screen of 390 pixels: nothing is cut off at the side, and only tables scroll in boxes of their own.
import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { before, describe, test } from "node:test";
import { assertFitsAcross, frames, hiddenAcross, onPhone, open, pathOf, screenshot, stepcast, write } from "./harness.mjs";

const LLAMA = "llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 128";
const MIXTURE = "mixtral-8x7b --machine dgx-h100 --gpus 64 --pp 2 --ep 8 --chunks 8 --global-batch 256";
const REPORT = ["index", "roofline", "timeline", "memory", "mapping", "sweep"];

before(() => {
  stepcast(`roofline ${LLAMA} -o dense.html`);
  stepcast(`roofline ${MIXTURE} -o mixture.html`);
  stepcast(`timeline ${LLAMA} -o timeline.html`);
  stepcast("sweep llama3-8b --machine dgx-h100 --gpus 8 --global-batch 128 -o sweep.html");
  stepcast(`validate --html ${pathOf("validate.html")}`);
  rmSync(pathOf("report"), { recursive: true, force: true });
  stepcast(`report ${MIXTURE} -o report`);
});

async function assertNothingHidden(page, name) {
  await page.waitForLoadState("networkidle");
  await frames(page);  // canvases have no picture before the first
  assert.deepEqual(await hiddenAcross(page), []);
  await assertFitsAcross(page);
  await screenshot(page, "phone_" + name.replace("/", "_").replace(".html", ""));
}

describe("on a phone nothing is hidden", () => {
  for (const name of ["dense", "mixture", "timeline", "sweep", "validate", ...REPORT.map((page) => "report/" + page)])
    test(`of ${name}`, () => onPhone(name + ".html", (page) => assertNothingHidden(page, name)));

  test("of any page that a report has", () => {
    const pages = readdirSync(pathOf("report")).filter((name) => name.endsWith(".html"));
    assert.deepEqual(pages.sort(), REPORT.map((name) => name + ".html").sort());
  });

  test("and the test finds what is", async () => {
    write("wrong.html", `<meta name="viewport" content="width=device-width"><p style="width:500px">beyond</p>` +
      `<p style="width:60px;overflow:hidden;white-space:nowrap">more words than room</p>` +
      `<svg viewBox="0 0 100 20" width="100"><text x="90" y="10">longer</text></svg>`);
    await onPhone("wrong.html", async (page) => {
      const found = (await hiddenAcross(page)).map((text) => text.split(":")[0]);
      for (const why of ["beyond the window", "cut off", "beyond its picture"]) assert.ok(found.includes(why), `${why} in ${found}`);
    });
  });
});

describe("pictures of a phone", () => {
  test("hold the same marks as those of a wide screen", async () => {
    const marks = (page) => page.evaluate(() => [".point[data-point]", ".link-point", ".bar[data-bar]", ".ridge[data-ridge]"]
      .map((selector) => document.querySelectorAll(selector).length));
    await open("mixture.html", {}, async (wide) => {
      const expected = await marks(wide);
      assert.ok(expected[0] > 20);
      await onPhone("mixture.html", async (phone) => assert.deepEqual(await marks(phone), expected));
    });
  });

  test("begin anew when the screen is turned", () => onPhone("mixture.html", async (page) => {
    assert.ok(await page.locator("#kernel-roofline.narrow").isVisible());
    await Promise.all([page.waitForEvent("load"), page.setViewportSize({ width: 844, height: 390 })]);
    assert.ok(await page.locator("#kernel-roofline.wide").isVisible());
  }));
});
