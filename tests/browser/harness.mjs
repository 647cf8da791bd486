// What all tests of pages share: pages written by the program itself, opened in Chromium, watched for whatever a page must not do.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";

const { STEPCAST_PROGRAM: program, STEPCAST_DRIVER: driver, STEPCAST_OUTPUT: output, STEPCAST_CHROMIUM: chromium } = process.env;
const require = createRequire(join(driver, "package.json"));
const WIDE = { width: 1280, height: 900 }, PHONE = { width: 390, height: 844 };

let browser = null;
before(async () => {
  // As root it does not start within its sandbox; names are not looked up, so that nothing could be fetched unseen.
  browser = await require("playwright-core").chromium.launch({ executablePath: chromium,
    args: ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"] });
});
after(async () => { await browser?.close(); });

/** Two pictures on: what the page does once per picture is done. */
export const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Pages draw what an action brings about with the next picture, so an action has ended when that is drawn. */
function endWithPicture(owner, names, pageOf) {
  for (const name of names) {
    const act = owner[name];
    assert.equal(typeof act, "function", name);
    owner[name] = async function (...given) {
      const result = await act.apply(this, given);
      await frames(pageOf(this));
      return result;
    };
  }
}

let haveLocatorsPictures = false;
function actionsEndWithPicture(page) {
  endWithPicture(page.mouse, ["click", "down", "move", "up", "wheel"], () => page);
  endWithPicture(page.keyboard, ["press"], () => page);
  endWithPicture(page.touchscreen, ["tap"], () => page);
  if (haveLocatorsPictures) return;
  haveLocatorsPictures = true;
  endWithPicture(Object.getPrototypeOf(page.locator("body")), ["check", "click", "dispatchEvent", "fill", "focus", "hover", "press",
    "scrollIntoViewIfNeeded", "selectOption", "tap", "uncheck"], (locator) => locator.page());
}

export const pathOf = (name) => join(output, name);
export const jsonOf = (name) => JSON.parse(readFileSync(pathOf(name), "utf8"));
export function write(name, text) { writeFileSync(pathOf(name), text); return pathOf(name); }

/** Runs the program. `line` is split at spaces; a name after -o becomes a path of this test, where nothing of an earlier run is left. */
export function stepcast(line) {
  const words = line.split(" ").map((word, at, all) => (all[at - 1] === "-o" ? pathOf(word) : word));
  for (const [at, word] of words.entries()) if (words[at - 1] === "-o") rmSync(word, { force: true });
  return execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/**
 * Opens a page that was written, hands it to `use` and then asserts that it stayed silent: no error, no word on the console, no
 * dialog, no request but for itself. options: viewport, colorScheme, hash, and what Playwright takes for a context.
 */
export async function open(name, options, use) {
  const { hash = "", ...rest } = options, context = await browser.newContext({ viewport: WIDE, acceptDownloads: true, ...rest });
  const page = await context.newPage(), heard = [], address = pathToFileURL(pathOf(name)).href;
  page.setDefaultTimeout(60000);  // machines that build at the same time are slow
  actionsEndWithPicture(page);
  page.on("console", (message) => heard.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => heard.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { heard.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    const isOwn = request.url().split("#")[0] === address || /^(data|blob):/.test(request.url());
    if (!isOwn) heard.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(address + hash);
    await use(page);
    assert.deepEqual(heard, []);
  } finally {
    await context.close();
  }
}
export const onPhone = (name, use) => open(name, { viewport: PHONE, hasTouch: true, isMobile: true }, use);
export const inTheDark = (name, use) => open(name, { colorScheme: "dark" }, use);

export const screenshot = (page, name) => page.screenshot({ path: pathOf(name + ".png"), fullPage: true });

/** Middle of an element's box in the window. */
export async function middle(locator) {
  const box = await locator.boundingBox();
  assert.ok(box, "the element is not drawn");
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Middles of all elements of a locator, by a number of their dataset or their parent's: {3: {x, y}}. */
export async function middles(locator, key) {
  return Object.fromEntries(await locator.evaluateAll((all, name) => all.map((element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return [element.dataset[name] ?? element.parentNode.dataset[name], { x: (left + right) / 2, y: (top + bottom) / 2 }];
  }), key));
}

/** [red, green, blue] of the page's ink and paper. */
export function colours(page) {
  return page.evaluate(() => {
    const style = getComputedStyle(document.body);
    return [style.color, style.backgroundColor].map((text) => text.match(/\d+/g).slice(0, 3).map(Number));
  });
}

/** Contrast ratio of the WCAG, 1 to 21. */
export function contrast(a, b) {
  const light = (colour) => {
    const [r, g, blue] = colour.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * blue;
  };
  const [low, high] = [light(a), light(b)].sort((one, other) => one - other);
  return (high + 0.05) / (low + 0.05);
}

/** A page must be read downwards only. Phones make the window itself as wide as what it holds. */
export async function assertFitsAcross(page) {
  const [content, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= room, `the page is ${content} pixels wide in a window of ${room}`);
}

/**
 * What a phone would hide: elements beyond the window, texts of pictures beyond their picture, words cut off by their own box. Tables
 * may scroll in boxes of their own.
 */
export const hiddenAcross = (page) => page.evaluate(() => {
  const isSeen = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";
  const said = (why, element) => `${why}: ${element.tagName} ${element.id || element.className.baseVal || element.className} ` +
    `'${element.textContent.trim().slice(0, 40)}'`;
  const wrong = [], room = document.documentElement.clientWidth;
  for (const element of [...document.body.querySelectorAll("*")].filter(isSeen)) {
    const { left, right } = element.getBoundingClientRect(), svg = element.ownerSVGElement;
    if (!element.closest(".scroll") && (left < -0.5 || right > room + 0.5)) wrong.push(said("beyond the window", element));
    const frame = element.localName === "text" && svg.getBoundingClientRect();
    if (frame && (left < frame.left - 1 || right > frame.right + 1)) wrong.push(said("beyond its picture", element));
    const style = svg ? {} : getComputedStyle(element), isWider = element.scrollWidth > element.clientWidth + 1;
    if (["hidden", "clip"].includes(style.overflowX) && isWider) wrong.push(said("cut off", element));
    if (["auto", "scroll"].includes(style.overflowX) && isWider && !element.querySelector("table")) wrong.push(said("scrolls", element));
  }
  return wrong;
});

export async function assertReadable(page, isDark) {
  const [ink, paper] = await colours(page);
  assert.ok(contrast(ink, paper) > 7, `ink ${ink} on paper ${paper}`);
  assert.equal(paper[0] < 128, isDark);
}

export function assertNear(found, expected, room, what) {
  assert.ok(Math.abs(found - expected) <= room, `${what}: ${found} instead of ${expected}`);
}
