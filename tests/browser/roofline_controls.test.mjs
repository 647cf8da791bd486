// The controls of the page of `stepcast roofline`: levels, roofs, filters, pointing, choosing, tables.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertNear, middle, open } from "./harness.mjs";
import { classes, click, inside, isShown, kernelPlane, links, mark, point, points, report, tip } from "./roofline.mjs";

describe("controls", () => {
  test("the level moves points to the intensity by L2 and back", () => open("page.html", {}, async (page) => {
    const plane = await kernelPlane(page), one = inside(points).find((each) => each.l2_flops_per_byte > 10);
    const before = await middle(mark(page, one.id));
    await page.getByLabel("L2", { exact: true }).check();
    assertNear((await middle(mark(page, one.id))).x, plane.x(one.l2_flops_per_byte), 1, `${one.name} by L2`);
    assert.ok(before.x - (await middle(mark(page, one.id))).x > 20, "the levels are told apart");
    assert.equal(await isShown(page.locator(".joined[data-point]").first()), false);
    await page.getByLabel("both, joined").check();
    assert.equal(await isShown(page.locator(".joined[data-point]").first()), true);
    const line = await page.locator(`line.joined[data-point="${one.id}"]`).boundingBox();
    assertNear(line.x, plane.x(one.l2_flops_per_byte), 1.5, "the line begins by L2");
    assertNear(line.x + line.width, plane.x(one.hbm_flops_per_byte), 1.5, "and ends by HBM");
    await page.getByLabel("HBM", { exact: true }).check();
    assertNear((await middle(mark(page, one.id))).x, before.x, 0.1, `${one.name} back`);
  }));

  test("the type and the basis choose roofs", () => open("page.html", {}, async (page) => {
    const shown = () => page.locator(".roof.compute[data-roof]").evaluateAll((all) =>
      all.sort((a, b) => a.dataset.roof - b.dataset.roof).map((one) => one.getClientRects().length > 0));
    const roofs = report.kernel_roofline.compute_roofs, isMeasured = (roof) => !["datasheet", "assumed"].includes(roof.basis);
    const types = new Set([report.precision, ...points.filter((one) => one.flops > 0).map((one) => one.precision)]);
    assert.deepEqual(await shown(), roofs.map((roof) => types.has(roof.precision)), "those of the run");
    await page.locator("#precision").selectOption(report.precision);
    assert.deepEqual(await shown(), roofs.map((roof) => roof.precision === report.precision));
    await page.locator("#precision").selectOption("fp8");
    assert.deepEqual(await shown(), roofs.map((roof) => roof.precision === "fp8"));
    await page.locator("#precision").selectOption("all");
    assert.deepEqual(await shown(), roofs.map(() => true));
    await page.locator("#measured").uncheck();
    assert.deepEqual(await shown(), roofs.map((roof) => !isMeasured(roof)));
    await page.locator("#datasheet").uncheck();
    await page.locator("#measured").check();
    assert.deepEqual(await shown(), roofs.map(isMeasured));
    assert.equal(await isShown(page.locator(".roof-label.compute.datasheet").first()), false, "labels go with their roofs");
  }));

  test("the slider keeps the heaviest operators and says what they cover", () => open("page.html", {}, async (page) => {
    await page.locator("#heaviest").fill("5");
    const shown = await page.locator("g.point:not(.off)").evaluateAll((all) => all.map((one) => Number(one.dataset.point)).sort());
    assert.deepEqual(shown, [0, 1, 2, 3, 4]);
    assert.equal(await isShown(mark(page, 5)), false);
    assert.equal(await page.locator("#kernel-table tbody tr:visible").count(), 5);
    const covered = points.slice(0, 5).reduce((sum, one) => sum + one.share, 0);
    const said = `5 of ${points.length} operators: ${(100 * covered).toFixed(1)} % of the step`;
    assert.equal(await page.locator("#heaviest-said").innerText(), said);
  }));

  test("kinds and passes filter; a name shows it alone", () => open("page.html", {}, async (page) => {
    const shown = () => page.locator("g.point:not(.off)").count(), of = (kind) => points.filter((one) => one.kind === kind).length;
    await page.getByLabel("show MLP").uncheck();
    assert.equal(await shown(), points.length - of("mlp"));
    const alone = page.locator('[data-chip="kind attention"] button');
    await alone.click();
    assert.equal(await shown(), of("attention"));
    await page.getByLabel("show backward").uncheck();
    assert.equal(await shown(), points.filter((one) => one.kind === "attention" && !one.pass.endsWith("_grad")).length);
    await page.locator("#reset").click();
    assert.equal(await shown(), points.length);
    await alone.click();
    await alone.click();
    assert.equal(await shown(), points.length, "again: all");
  }));
});

describe("pointing and choosing", () => {
  test("the note tells the document's figures", () => open("page.html", {}, async (page) => {
    const one = points.findIndex((each) => each.outside === "" && each.calls > 1);
    await point(mark(page, one));
    const said = await tip(page, "kernel").innerText(), { name, shape, precision, law, share, share_of_roof: of, bound } = points[one];
    for (const text of [name, shape, precision, law, bound, `${(100 * share).toFixed(1)} %`, `${(100 * of).toFixed(1)} %`,
      `${(points[one].rate_flops_per_s / 1e12).toFixed(0)} TFLOP/s`, `${points[one].calls.toLocaleString("en-US")} calls`])
      assert.ok(said.includes(text), `no '${text}' in\n${said}`);
    assert.ok((await classes(page.locator("#kernel-table tbody tr").nth(one))).includes("hovered"), "its row is marked");
    await page.locator("h1").hover();
    await page.locator("#kernel-roofline").dispatchEvent("pointerleave");
    assert.equal(await tip(page, "kernel").isVisible(), false);
  }));

  test("a move, a bar, a boundary and a roof have their notes", () => open("page.html", {}, async (page) => {
    await point(page.locator('g.link-point[data-link="0"] .ring'));
    assert.ok((await tip(page, "network").innerText()).includes(links[0].law));
    await point(page.locator('g.bar[data-bar="0"] rect').first());
    assert.ok((await tip(page, "step").innerText()).includes(report.waterfall.bars[0].about));
    await point(page.locator('g.crossing[data-operator="0"][data-boundary="1"]'));
    assert.ok((await tip(page, "dataflow").innerText()).includes(report.dataflow[0].boundaries[1].outer));
    await point(page.locator('.roof.memory[data-roof="0"]'));
    assert.ok((await tip(page, "kernel").innerText()).includes(report.kernel_roofline.memory_roofs[0].from));
  }));

  test("a click isolates, everywhere; Escape lets go", () => open("page.html", {}, async (page) => {
    const paint = (id) => page.locator(`g.point[data-point="${id}"]`).evaluate((element) => Number(getComputedStyle(element).opacity));
    const row = report.dataflow.findIndex((one) => one.name === points[0].name && one.pass === points[0].pass);
    await click(mark(page, 0));
    assert.equal(await paint(0), 1);
    assert.ok((await paint(1)) < 0.3);
    assert.ok((await classes(page.locator("#kernel-table tbody tr").first())).includes("chosen"));
    assert.ok((await classes(page.locator(`g.crossing[data-operator="${row}"]`).first())).includes("chosen"));
    assert.equal(await isShown(page.locator('line.joined[data-point="0"]')), true);
    assert.equal(await page.locator("#chosen").isVisible(), true);
    assert.ok((await page.locator("#chosen").innerText()).includes(points[0].name));
    await page.keyboard.press("Escape");
    assert.equal(await paint(1), 1);
    assert.equal(await page.locator("#chosen").isVisible(), false);
  }));

  test("a chosen move shows its own roof", () => open("page.html", {}, async (page) => {
    const id = await page.locator(".bent[data-link]").first().getAttribute("data-link");
    await click(page.locator(`g.link-point[data-link="${id}"] .ring`));
    assert.ok((await classes(page.locator(`.bent[data-link="${id}"]`))).includes("chosen"));
    assert.equal(await page.locator(".bent.chosen").count(), 1);
  }));

  test("the keyboard reaches every mark", () => open("page.html", {}, async (page) => {
    await page.locator('#kernel-roofline [tabindex="0"]').focus();
    assert.equal(await tip(page, "kernel").isVisible(), true);
    const seen = new Set();
    for (const way of ["ArrowLeft", "ArrowRight"])
      for (let step = 0; step < points.length; ++step) {
        seen.add(await page.evaluate((key) => {
          const { activeElement } = document, { point } = activeElement.dataset;
          activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
          return point;
        }, way));
      }
    assert.equal(seen.size, points.length);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#chosen").isVisible(), true);
  }));

  test("clicks on a heap go down through it", () => open("page.html", {}, async (page) => {
    await page.locator("#kernel-roofline").scrollIntoViewIfNeeded();
    const at = await middle(mark(page, 0)), chosen = () => page.locator("#kernel-roofline g.point.chosen").getAttribute("data-point");
    await page.mouse.click(at.x, at.y);
    const first = await chosen();
    await page.mouse.click(at.x, at.y);
    const heap = await page.evaluate(({ x, y }) => document.elementsFromPoint(x, y).filter((one) => one.closest("g.point")).length, at);
    assert.equal((await chosen()) !== first, heap > 1);
  }));

  test("an address opens the view it was taken from", () => open("page.html", {}, async (page) => {
    await page.getByLabel("L2", { exact: true }).check();
    await page.getByLabel("show Norms").uncheck();
    await click(mark(page, 2));
    await page.waitForFunction(() => location.hash.includes("chosen"));
    const hash = await page.evaluate(() => location.hash);
    await open("page.html", { hash }, async (other) => {
      assert.equal(await other.getByLabel("L2", { exact: true }).isChecked(), true);
      assert.equal(await other.getByLabel("show Norms").isChecked(), false);
      assert.ok((await classes(other.locator('g.point[data-point="2"]'))).includes("chosen"));
    });
  }));
});

describe("tables", () => {
  test("headings sort by the document's figures", () => open("page.html", {}, async (page) => {
    const first = () => page.locator("#kernel-table tbody tr th").first().innerText();
    const name = (one) => (one.name.startsWith(one.block) ? one.name : `${one.block} ${one.name}`);
    for (const [heading, key] of [["rate", "rate_flops_per_s"], ["calls", "calls"], ["FLOP/B, L2", "l2_flops_per_byte"]]) {
      await page.locator("#kernel-table thead").getByRole("button", { name: heading, exact: true }).click();
      assert.equal(await first(), name(points.reduce((best, one) => (one[key] > best[key] ? one : best))), heading);
    }
    assert.equal(await page.locator('#kernel-table th[aria-sort="descending"]').innerText().then((text) => text.includes("L2")), true);
    assert.equal(await page.locator("#kernel-table tbody tr").count(), points.length);
  }));

  test("a row marks its point and chooses it", () => open("page.html", {}, async (page) => {
    const row = page.locator("#kernel-table tbody tr").nth(3);
    await row.hover();
    assert.ok((await classes(page.locator('g.point[data-point="3"]'))).includes("hovered"));
    await row.click();
    assert.ok((await classes(page.locator('g.point[data-point="3"]'))).includes("chosen"));
  }));
});
