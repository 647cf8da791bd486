// The roofline's page in a browser: where its document says that things are, and how they are reached.
import { before } from "node:test";
import { jsonOf, stepcast } from "./harness.mjs";

export const RUN = "--machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 1024";

/** What -o page.json holds; known once the tests begin. */
export let report, points, links;

before(() => {
  stepcast(`roofline llama3-70b ${RUN} -o page.html -o page.json`);
  report = jsonOf("page.json");
  points = report.kernel_roofline.points;
  links = report.network_roofline.points;
});

/** Pixels in the window of a place on a plane, by the document and the picture's own frame. */
export async function planeOf(page, id, frame) {
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
export const kernelPlane = (page) => planeOf(page, "kernel-roofline", report.kernel_roofline.frame);

export const mark = (page, id) => page.locator(`g.point[data-point="${id}"] > .forecast`);
export const inside = (list) => list.map((one, id) => ({ ...one, id })).filter((one) => one.outside === "");
export const classes = (locator) => locator.evaluate((element) => [...element.classList]);
export const isShown = (locator) => locator.evaluate((element) => element.getClientRects().length > 0);
export const tip = (page, figure) => page.locator(`#${figure}-figure .tip`);
/** Marks lie on each other: the event goes to the one that is meant. */
export const click = (locator) => locator.dispatchEvent("click");
export const point = (locator) => locator.dispatchEvent("pointerover");
