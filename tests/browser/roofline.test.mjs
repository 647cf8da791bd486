// The page of `stepcast roofline`: what is drawn is what its JSON says, to a pixel, and every control does what it says.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { assertFitsAcross, assertNear, assertReadable, inTheDark, jsonOf, middle, middles, onPhone, open, pathOf, screenshot, stepcast,
  write } from "./harness.mjs";

const RUN = "--machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 1024";
let report, points, links;

before(() => {
  stepcast(`roofline llama3-70b ${RUN} -o page.html -o page.json`);
  report = jsonOf("page.json");
  points = report.kernel_roofline.points;
  links = report.network_roofline.points;
});

/** Pixels in the window of a place on a plane, by the document and the picture's own frame. */
async function planeOf(page, id, frame) {
  const { left, top, width, height, box, view } = await page.locator(`#${id}`).evaluate((svg) => {
    const [left, top, width, height] = ["left", "top", "width", "height"].map((key) => Number(svg.dataset[key]));
    const { x, y, width: wide } = svg.getBoundingClientRect();
    return { left, top, width, height, box: { x, y, wide }, view: svg.viewBox.baseVal.width };
  });
  const scale = box.wide / view;
  const along = (value, low, high) => (Math.log10(value) - low) / (high - low);
  return {
    x: (value) => box.x + scale * (left + width * along(value, frame.x_low, frame.x_high)),
    y: (value) => box.y + scale * (top + height * (1 - along(value, frame.y_low, frame.y_high))),
  };
}
const kernelPlane = (page) => planeOf(page, "kernel-roofline", report.kernel_roofline.frame);
const mark = (page, id) => page.locator(`g.point[data-point="${id}"] > .forecast`);
const inside = (list) => list.map((one, id) => ({ ...one, id })).filter((one) => one.outside === "");
const classes = (locator) => locator.evaluate((element) => [...element.classList]);
const isShown = (locator) => locator.evaluate((element) => element.getClientRects().length > 0);
const tip = (page, figure) => page.locator(`#${figure}-figure .tip`);
/** Marks lie on each other: the event goes to the one that is meant. */
const click = (locator) => locator.dispatchEvent("click");
const point = (locator) => locator.dispatchEvent("pointerover");

describe("what is drawn", () => {
  test("marks, roofs and rows are those of the document", () => open("page.html", {}, async (page) => {
    const count = (selector) => page.locator(selector).count(), { kernel_roofline: kernels, network_roofline: network } = report;
    assert.ok(points.length > 20 && links.length > 10);
    assert.equal(await count("#kernel-roofline g.point"), points.length);
    assert.equal(await count("#kernel-roofline .roof.compute[data-roof]"), kernels.compute_roofs.length);
    assert.equal(await count("#kernel-roofline .roof.memory[data-roof]"), kernels.memory_roofs.length);
    assert.equal(await count("#kernel-roofline g.ridge"), kernels.ridges.length);
    assert.equal(await count("#network-roofline g.link-point"), links.length);
    assert.equal(await count("#network-roofline .roof.link[data-roof]"), network.link_roofs.length);
    assert.equal(await count("#waterfall g.bar[data-bar]"), report.waterfall.bars.length);
    assert.equal(await count("#kernel-table tbody tr"), points.length);
    assert.equal(await count("#network-table tbody tr"), links.length);
    assert.equal(await count("#step-table tbody tr"), report.waterfall.bars.length);
    assert.equal(await count("#lever-table tbody tr"), report.waterfall.levers.length);
    assert.equal(await count("#dataflow-table tbody tr"), report.dataflow.reduce((sum, one) => sum + one.boundaries.length, 0));
    assert.equal(await count("#warnings li"), report.warnings.length);
    await screenshot(page, "light");
  }));

  test("each kernel lies where its figures say", () => open("page.html", {}, async (page) => {
    const plane = await kernelPlane(page), within = inside(points);
    const places = await middles(page.locator("g.point[data-point] > .forecast"), "point");
    assert.ok(within.length > 10);
    for (const one of within) {
      const at = places[one.id];
      assertNear(at.x, plane.x(one.hbm_flops_per_byte), 1, `x of ${one.name}`);
      // The triangle's centre is not that of its box.
      if (one.pass !== "recompute") assertNear(at.y, plane.y(one.rate_flops_per_s), 1, `y of ${one.name}`);
    }
    const flagged = await page.locator("g.point.outside").evaluateAll((all) => all.map((one) => Number(one.dataset.point)));
    const outside = points.flatMap((one, id) => (one.outside === "" ? [] : [id]));
    assert.deepEqual(flagged.sort((a, b) => a - b), outside);
  }));

  test("each move lies where its figures say", () => open("page.html", {}, async (page) => {
    const plane = await planeOf(page, "network-roofline", report.network_roofline.frame);
    const places = await middles(page.locator("g.link-point[data-link] > .ring"), "link");
    for (const one of inside(links)) {
      const at = places[one.id];
      assertNear(at.x, plane.x(one.flops_per_byte), 1, `x of ${one.name}`);
      assertNear(at.y, plane.y(one.rate_flops_per_s), 1, `y of ${one.name}`);
    }
  }));

  test("ridges lie where a slope meets a flat roof", () => open("page.html", { hash: "#precision=all&level=both" }, async (page) => {
    const plane = await kernelPlane(page), { ridges, memory_roofs: slopes, compute_roofs: flats } = report.kernel_roofline;
    const places = await middles(page.locator("g.ridge[data-ridge] > circle"), "ridge");
    for (const [id, ridge] of ridges.entries()) {
      const at = places[id];
      assertNear(at.x, plane.x(ridge.flops_per_byte), 1, `x of ridge ${id}`);
      assertNear(at.y, plane.y(ridge.rate_flops_per_s), 1, `y of ridge ${id}`);
      assert.ok(flats.some((roof) => roof.precision === ridge.precision && roof.rate_flops_per_s === ridge.rate_flops_per_s));
      const onSlope = slopes.filter((roof) => roof.level === ridge.level)
        .map((roof) => Math.abs((roof.rate_bytes_per_s * ridge.flops_per_byte) / ridge.rate_flops_per_s - 1));
      assert.ok(Math.min(...onSlope) < 1e-9, `ridge ${id} lies on no ${ridge.level} slope`);
    }
  }));

  test("roofs lie at their rates", () => open("page.html", { hash: "#precision=all" }, async (page) => {
    const plane = await kernelPlane(page), places = await middles(page.locator(".roof.compute[data-roof]"), "roof");
    for (const [id, roof] of report.kernel_roofline.compute_roofs.entries())
      assertNear(places[id].y, plane.y(roof.rate_flops_per_s), 1, `roof ${id}`);
  }));
});

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

describe("measured kernels", () => {
  const isProduct = (one) => one.pass === "forward" && /^\d+ x \d+ x \d+$/.test(one.shape);
  let timed = null, measured = null;

  /** One kernel of the run, a tenth faster than forecast, and one that is none of it. */
  before(() => {
    timed = points.find(isProduct);
    const row = (shape, time) => [0, time, ...shape.split(" x ").map(Number), "bf16"];
    const rows = [row(timed.shape, 0.9 * timed.time_s), row("4096 x 4096 x 4096", 2.2e-4)];
    write("timed.json", JSON.stringify({ stepcast_measurements: 1, contexts: [{ gpu: "h100-sxm", software: "cublas 13.1" }],
      gemm: { columns: ["context", "time_s", "m", "n", "k", "precision"], rows } }));
    stepcast(`roofline llama3-70b ${RUN} --measured ${pathOf("timed.json")} -o measured.html -o measured.json`);
    measured = jsonOf("measured.json").kernel_roofline;
  });

  test("stand filled beside the forecast, others small behind", () => open("measured.html", {}, async (page) => {
    const plane = await kernelPlane(page), pairs = measured.points.map((one, id) => ({ ...one, id })).filter((one) => one.measured);
    assert.ok(pairs.some((one) => one.name === timed.name && one.pass === timed.pass));
    assert.equal(await page.locator("g.point .measured").count(), pairs.length);
    for (const one of pairs) {
      const at = await middle(page.locator(`g.point[data-point="${one.id}"] > .measured`));
      assertNear(at.x, plane.x(one.hbm_flops_per_byte), 1, `x of ${one.name}`);
      assertNear(at.y, plane.y(one.measured.rate_flops_per_s), 1, `y of ${one.name}`);
    }
    const other = measured.other_measurements;
    assert.equal(other.length, 1);
    const at = await middle(page.locator('g.loose[data-loose="0"]'));
    assertNear(at.x, plane.x(other[0].hbm_flops_per_byte), 1, "x of the other kernel");
    assertNear(at.y, plane.y(other[0].rate_flops_per_s), 1, "y of the other kernel");
    assert.equal(await page.locator("#loose-table tbody tr").count(), 1);
    await point(page.locator('g.loose[data-loose="0"] .mark'));
    assert.ok((await tip(page, "kernel").innerText()).includes("cublas 13.1"));
    await screenshot(page, "measured");
  }));

  test("are told beside the forecast", () => open("measured.html", {}, async (page) => {
    const id = measured.points.findIndex((one) => one.measured);
    await point(mark(page, id));
    assert.match(await tip(page, "kernel").innerText(), /\(forecast \+11\.1 %\)/);
    assert.ok((await page.locator("#kernel-table tbody tr").nth(id).innerText()).includes("(+11.1 % forecast)"));
    await page.getByLabel("L2", { exact: true }).check();
    const plane = await kernelPlane(page), at = await middle(page.locator(`g.point[data-point="${id}"] > .measured`));
    assertNear(at.x, plane.x(measured.points[id].l2_flops_per_byte), 1, "it moves along");
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

describe("the page", () => {
  test("in the dark", () => inTheDark("page.html", async (page) => {
    await assertReadable(page, true);
    const paper = await page.locator("#kernel-roofline .paper").evaluate((element) => getComputedStyle(element).fill);
    assert.ok(Number(paper.match(/\d+/)[0]) < 64, `the picture's paper is ${paper}`);
    await screenshot(page, "dark");
  }));

  test("on a phone", () => onPhone("page.html", async (page) => {
    await assertReadable(page, false);
    await assertFitsAcross(page);
    assert.equal(await page.locator("#kernel-roofline").isVisible(), true);
    await page.locator("#kernel-figure .sideways").evaluate((box) => { box.scrollLeft = 300; });
    await mark(page, 0).scrollIntoViewIfNeeded();
    const at = await middle(mark(page, 0));
    await page.touchscreen.tap(at.x, at.y);
    assert.equal(await tip(page, "kernel").isVisible(), true);
    await assertFitsAcross(page);
    await screenshot(page, "phone");
  }));

  test("in print controls are gone and tables whole", () => open("page.html", { hash: "#heaviest=3" }, async (page) => {
    assert.equal(await page.locator("#kernel-table tbody tr:visible").count(), 3);
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 718, height: 1040 });  // A4 with margins
    assert.equal(await page.locator("#controls").isVisible(), false);
    assert.equal(await page.locator(".save").first().isVisible(), false);
    assert.equal(await page.locator("#kernel-table tbody tr:visible").count(), points.length);
    assert.equal(await page.locator("#kernel-table .scroll").evaluate((box) => box.scrollHeight <= box.clientHeight + 1), true);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("details:not([open])").count(), 0);
    const wide = await page.locator(".scroll").evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
    assert.equal(wide, 0, "tables are cut off at the side");
    await screenshot(page, "print");
  }));

  test("without script all of it stands there", () => open("page.html", { javaScriptEnabled: false }, async (page) => {
    assert.equal(await page.locator("#controls").isVisible(), false);
    assert.equal(await page.locator("#kernel-table tbody tr:visible").count(), points.length);
    assert.equal(await page.locator("g.point").first().isVisible(), true);
    assert.ok((await page.locator("noscript").textContent()).includes("needs JavaScript"));
  }));

  test("pictures are saved as SVG and PNG", () => open("page.html", {}, async (page) => {
    for (const [form, begins] of [["SVG", "<svg"], ["PNG", "\x89PNG"]]) {
      const [file] = await Promise.all([page.waitForEvent("download"),
        page.locator("#kernel-figure .save").getByRole("button", { name: form }).click()]);
      assert.equal(file.suggestedFilename(), `kernel-roofline.${form.toLowerCase()}`);
      const stream = await file.createReadStream(), parts = [];
      for await (const part of stream) parts.push(part);
      const bytes = Buffer.concat(parts);
      assert.equal(bytes.subarray(0, begins.length).toString("latin1"), begins);
      assert.ok(bytes.length > 10000);
    }
  }));

  test("two reports of one machine have the same axes", () => open("page.html", {}, async (page) => {
    stepcast("roofline llama3-8b --machine dgx-h100 --gpus 8 --global-batch 64 -o other.html -o other.json");
    const frames = (one) => ["kernel_roofline", "network_roofline"].map((key) => one[key].frame);
    assert.deepEqual(frames(jsonOf("other.json")), frames(report));
    const axes = (where) => where.locator("#kernel-roofline").evaluate((svg) => JSON.stringify({ ...svg.dataset }));
    await open("other.html", {}, async (other) => assert.equal(await axes(other), await axes(page)));
  }));

  test("hostile names stay text", async () => {
    const name = `<script>alert(1)</script>"'&` + "x".repeat(5000);
    const network = { id: "hostile", name, layers: 4, hidden: 1024, ffn_hidden: 4096, heads: 16, vocab: 32000, sequence: 2048,
      norm: "rmsnorm", activation: "swiglu", positions: "rope" };
    stepcast(`roofline ${write("hostile.json", JSON.stringify(network))} --machine dgx-h100 --gpus 8 --global-batch 64 -o hostile.html`);
    await onPhone("hostile.html", async (page) => {
      assert.ok((await page.locator("h1").innerText()).includes(`<script>alert(1)</script>"'&xxx`));
      assert.ok((await page.title()).includes("<script>alert(1)</script>"));
      await assertFitsAcross(page);
      await point(mark(page, 0));
    });
  });
});
