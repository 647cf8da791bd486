// The page of `stepcast roofline`: what is drawn is what its JSON says, to a pixel, on every screen and on paper.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { assertFitsAcross, assertNear, assertReadable, inTheDark, jsonOf, middle, middles, onPhone, open, pathOf, screenshot, stepcast,
  write } from "./harness.mjs";
import { RUN, inside, kernelPlane, links, mark, planeOf, point, points, report, tip } from "./roofline.mjs";

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

describe("names", () => {
  const MIXTURE = "mixtral-8x7b --machine dgx-h100 --gpus 64 --pp 2 --ep 8 --global-batch 256";
  let mixture;
  before(() => {
    stepcast(`roofline ${MIXTURE} -o mixture.html -o mixture.json`);
    mixture = jsonOf("mixture.json").kernel_roofline.points;
  });

  /** Pairs of names, or lists of names, of which one lies on the other. */
  const collisions = (page) => page.evaluate(() => {
    const seen = [...document.querySelectorAll("svg .mark-label text, svg .heap-ground, svg .ridge-label, svg .link-point .label")]
      .filter((one) => one.getClientRects().length > 0).map((one) => ({ box: one.getBoundingClientRect(), text: one.textContent }));
    const isOn = (a, b) => a.left + 1 < b.right && b.left + 1 < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
    return seen.flatMap((one, i) => seen.slice(0, i).filter((other) => one.text !== other.text && isOn(one.box, other.box))
      .map((other) => `${one.text} on ${other.text}`));
  });

  for (const name of ["page.html", "mixture.html"])
    test(`of ${name} lie on no other name`, async () => {
      await open(name, {}, async (page) => {
        assert.ok((await page.locator("#kernel-roofline .labels.hbm .label").count()) > 4);
        assert.deepEqual(await collisions(page), []);
        await page.getByLabel("L2", { exact: true }).check();
        assert.deepEqual(await collisions(page), []);
      });
      await onPhone(name, async (page) => assert.deepEqual(await collisions(page), []));
    });

  test("say how many operators a heap has, the products of experts among them", () => open("mixture.html", {}, async (page) => {
    const products = mixture.flatMap((one, id) => (/^expert/.test(one.name) && one.flops > 0 ? [id] : []));
    assert.ok(products.length >= 6);
    const named = await page.locator(".labels.hbm [data-points]").evaluateAll((all) =>
      all.flatMap((one) => one.dataset.points.split(" ").map(Number)));
    for (const id of products) {
      assert.ok(named.includes(id), `${mixture[id].name} has a name`);
      assert.equal(await page.locator(`g.point.in-strip[data-point="${id}"]`).count(), 0);
    }
    for (const heap of await page.locator(".labels.hbm .heap").all()) {
      const count = (await heap.getAttribute("data-points")).split(" ").length;
      assert.ok((await heap.locator(".strong").textContent()).startsWith(`${count} operators here: `));
    }
    await page.getByLabel("show Experts").uncheck();
    assert.equal(await page.locator('.labels.hbm .heap-row:visible', { hasText: "expert" }).count(), 0, "names go with their marks");
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
    const seen = await middle(mark(page, 0));
    assert.ok(seen.x > 0 && seen.x < 390, `the heaviest kernel is at ${seen.x}`);
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
    const axes = (where) => where.locator("#kernel-roofline").evaluate((svg) => JSON.stringify({ ...svg.dataset, top: 0 }));
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
