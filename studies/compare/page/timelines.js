// Two timelines with one window: what is zoomed or moved in one is in the other, too.

const data = JSON.parse(byId("data").textContent), NUMBERS = 6, LANE = 26, TOP = 20;
const COLOURS = ["#3b78c2", "#2f5f9e", "#5b8fd0", "#8a5fc0", "#3f9e8c", "#6db36d", "#9bbf5a", "#b8a03c", "#c98a3c", "#7a8f3c",
  "#a0644b", "#888c94", "#d0553f", "#c0862f", "#d8b25a"];
const whole = Math.max(data.expected.seconds, data.measured.seconds) * 1e9;
const view = { from: 0, to: whole };

/** Bars of a side: {lane, kind, name, start, end, events}, nanoseconds. */
const barsOf = (side) => Array.from({ length: side.bars.length / NUMBERS }, (_, i) => {
  const [lane, kind, name, start, length, events] = side.bars.slice(i * NUMBERS, (i + 1) * NUMBERS);
  return { lane, kind, name: side.names[name], start, end: start + length, events };
});

class Drawing {
  constructor(side, what) {
    this.side = side;
    this.bars = barsOf(side);
    this.box = make("div", { class: "drawing", "data-side": what });
    this.canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": `timeline of ${side.title}, zoomed by wheel and keys` });
    this.box.append(make("b", {}, `${what}: ${side.title}`), this.canvas);
    this.tip = new Tip(this.box);
    byId("drawings").append(this.box);
    this.listen();
  }
  get width() { return this.canvas.clientWidth; }
  x(time) { return ((time - view.from) / (view.to - view.from)) * this.width; }
  timeAt(x) { return view.from + (x / this.width) * (view.to - view.from); }

  paint() {
    const ratio = devicePixelRatio || 1, height = this.canvas.clientHeight;
    this.canvas.width = this.width * ratio;
    this.canvas.height = height * ratio;
    const pen = this.canvas.getContext("2d"), style = getComputedStyle(document.body);
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, this.width, height);
    pen.font = "11px system-ui,sans-serif";
    pen.fillStyle = style.color;
    for (const time of evenTicks(view.from, view.to, Math.max(2, Math.floor(this.width / 110)))) {
      const x = this.x(time);
      pen.globalAlpha = 0.25;
      pen.fillRect(x, 0, 1, height);
      pen.globalAlpha = 1;
      pen.fillText(figureText("seconds", time * 1e-9), x + 3, 12);
    }
    for (const bar of this.bars) {
      if (bar.end < view.from || bar.start > view.to) continue;
      const x = Math.max(0, this.x(bar.start)), right = Math.min(this.width, this.x(bar.end));
      pen.fillStyle = bar.lane === 3 ? style.color : COLOURS[bar.kind];
      pen.fillRect(x, TOP + bar.lane * LANE + 2, Math.max(0.5, right - x), LANE - 4);
    }
    const end = this.x(this.side.seconds * 1e9);
    pen.fillStyle = style.color;
    if (end >= 0 && end <= this.width) pen.fillRect(Math.min(end, this.width - 2), TOP, 2, height - TOP);
  }

  barAt(x, y) {
    const lane = Math.floor((y - TOP) / LANE), time = this.timeAt(x), room = 2 * ((view.to - view.from) / this.width);
    return this.bars.find((bar) => bar.lane === lane && bar.start - room <= time && time <= bar.end + room);
  }

  listen() {
    const at = (event) => event.clientX - this.canvas.getBoundingClientRect().left;
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(at(event)));
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => {
      this.held = at(event);
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointerup", () => { this.held = null; });
    this.canvas.addEventListener("pointermove", (event) => {
      const x = at(event), y = event.clientY - this.canvas.getBoundingClientRect().top;
      if (this.held !== null && this.held !== undefined) {
        move(((this.held - x) / this.width) * (view.to - view.from));
        this.held = x;
        return;
      }
      const bar = this.barAt(x, y);
      if (!bar) return this.tip.hide();
      const many = bar.events > 1 ? [plural(bar.events, "event", "events")] : [];
      this.tip.show(x, y, bar.name, [data.lanes[bar.lane] + (bar.lane === 3 ? "" : ", " + data.kinds[bar.kind]),
        figureText("seconds", (bar.end - bar.start) * 1e-9), ...many]);
    });
    this.canvas.addEventListener("pointerleave", () => this.tip.hide());
    this.canvas.addEventListener("keydown", (event) => {
      const middle = (view.from + view.to) / 2, step = 0.2 * (view.to - view.from);
      const acts = { "+": () => zoom(0.8, middle), "=": () => zoom(0.8, middle), "-": () => zoom(1.25, middle), 0: showAll,
        ArrowLeft: () => move(-step), ArrowRight: () => move(step) };
      if (!acts[event.key]) return;
      event.preventDefault();
      acts[event.key]();
    });
  }
}

/** Durations in the window, by what the bars do: nanoseconds. */
function sumsOf(drawing) {
  const sums = new Map();
  for (const bar of drawing.bars) {
    const inside = Math.min(bar.end, view.to) - Math.max(bar.start, view.from);
    if (inside <= 0) continue;
    const kind = bar.lane === 3 ? "host" : data.kinds[bar.kind];
    sums.set(kind, (sums.get(kind) ?? 0) + inside);
  }
  return sums;
}

const drawings = [new Drawing(data.expected, "expected"), new Drawing(data.measured, "measured")];

const refresh = oncePerFrame(() => {
  for (const drawing of drawings) drawing.paint();
  byId("window").textContent = `${figureText("seconds", view.from * 1e-9)} to ${figureText("seconds", view.to * 1e-9)}`;
  byId("window").dataset.from = view.from;
  byId("window").dataset.to = view.to;
  const [expected, measured] = drawings.map(sumsOf);
  const rows = [...new Set([...expected.keys(), ...measured.keys()])].map((kind) => {
    const before = (expected.get(kind) ?? 0) * 1e-9, now = (measured.get(kind) ?? 0) * 1e-9;
    return { kind, before, now };
  }).sort((a, b) => Math.abs(b.now - b.before) - Math.abs(a.now - a.before));
  byId("sums").tBodies[0].replaceChildren(...rows.map(({ kind, before, now }) => make("tr", {}, make("th", {}, kind),
    make("td", { class: "num", "data-s": before }, figureText("seconds", before)),
    make("td", { class: "num", "data-s": now }, figureText("seconds", now)),
    make("td", { class: "num" }, signedText("seconds", now - before)))));
});

function show(from, to) {
  const least = 1000, length = Math.min(whole, Math.max(least, to - from));
  view.from = Math.min(Math.max(0, from), whole - length);
  view.to = view.from + length;
  refresh();
}
function zoom(factor, about) { show(about - (about - view.from) * factor, about + (view.to - about) * factor); }
function move(by) { show(view.from + by, view.to + by); }
function showAll() { show(0, whole); }

byId("in").addEventListener("click", () => zoom(0.5, (view.from + view.to) / 2));
byId("out").addEventListener("click", () => zoom(2, (view.from + view.to) / 2));
byId("all").addEventListener("click", showAll);
addEventListener("resize", refresh);
refresh();
