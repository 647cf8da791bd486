// One axis of the parallel coordinates, with the range of it that is kept.

const GRIP = 26;        // width that takes the pointer
const CLICK = 4;        // shorter drags let the range go

class RangeAxis {
  constructor(parallel, column, place, gap) {
    const x = parallel.places[place], { top, height, bottom } = parallel.room;
    Object.assign(this, { selection: parallel.selection, surface: parallel.surface, column, scale: parallel.scales[place], x, place });
    this.top = top, this.foot = height - bottom;
    this.bar = draw("rect", { class: "range", x: x - 5, width: 10, visibility: "hidden" });
    this.grip = draw("rect", {
      class: "grip", x: x - GRIP / 2, width: GRIP, y: top - 6, height: this.foot - top + 12, tabindex: 0, role: "slider",
      "aria-orientation": "vertical", "aria-label": `range of ${column.title}`, "aria-valuemin": 0, "aria-valuemax": 100,
    });
    const line = draw("line", { x1: x, x2: x, y1: top, y2: this.foot, class: "axis-line" });
    this.group = draw("g", {}, line, ...this.labels(gap, parallel.room === CLOSE), this.bar, this.grip);
    this.listen();
    this.show();
  }

  /** Of close axes every second name stands higher and every third one higher still, a word on a line. */
  labels(gap, isClose) {
    const letters = Math.max(isClose ? 8 : 5, Math.floor(gap / 7.5)), title = this.column.title;
    const lines = isClose ? title.split(" ") : [shortened(title, letters + 5)];
    const last = this.top - 28 - (isClose ? 48 * (this.place % 3) : 0), first = last - 12 * (lines.length - 1);
    const name = draw("g", {}, draw("title", {}, `${title}: ${this.column.doc}`), ...lines.map((line, i) =>
      draw("text", { x: this.x, y: first + 12 * i, class: "mid axis-name" }, line)));
    const isChoice = this.column.kind === "axis" || this.column.unit === "count";
    const which = isChoice ? "" : this.column.more ? "\u2191 better" : "\u2193 better";
    const ticks = this.scale.ticks.map(({ value, text }) => draw("text", { x: this.x + 7, y: this.scale.at(value) + 4, class: "on-lines" },
      shortened(text, letters), draw("title", {}, shortened(text, 300))));
    return [name, draw("text", { x: this.x, y: last + 12, class: "mid soft" }, isClose ? which.slice(0, 1) : which), ...ticks];
  }

  listen() {
    this.grip.addEventListener("pointerdown", (event) => {
      this.grip.setPointerCapture(event.pointerId);
      this.from = this.surface.place(event)[1];
    });
    this.grip.addEventListener("pointermove", (event) => { if (this.from !== undefined) this.drag(this.surface.place(event)[1]); });
    this.grip.addEventListener("pointerup", (event) => {
      if (Math.abs(this.surface.place(event)[1] - this.from) < CLICK) this.selection.range(this.column, null);
      this.from = undefined;
    });
    this.grip.addEventListener("pointercancel", () => { this.from = undefined; });
    this.grip.addEventListener("keydown", (event) => this.key(event));
  }

  drag(to) {
    if (Math.abs(to - this.from) < CLICK) return;
    const within = (place) => Math.min(this.foot + 6, Math.max(this.top - 6, place));
    this.keep([within(this.from), within(to)].map((place) => this.scale.valueAt(place)));
  }

  keep(limits) { this.selection.range(this.column, limits.sort((a, b) => a - b)); }

  /** The whole axis where nothing is kept yet. */
  limits() { return this.selection.ranges.get(this.column) || [this.scale.valueAt(this.foot), this.scale.valueAt(this.top)]; }

  key(event) {
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (event.key === "Escape" && this.selection.ranges.has(this.column)) {
      event.stopPropagation();
      this.selection.range(this.column, null);
    }
    if (!way) return;
    event.preventDefault();
    const [low, high] = this.limits(), move = way * this.scale.step;
    this.keep(event.shiftKey ? [low, Math.max(low, high + move)] : [Math.min(high, low + move), high]);
  }

  show() {
    const kept = this.selection.ranges.get(this.column), [low, high] = this.limits();
    const foot = Math.min(this.foot + 6, this.scale.at(low)), top = Math.max(this.top - 6, this.scale.at(high));
    this.bar.setAttribute("visibility", kept ? "visible" : "hidden");
    this.bar.setAttribute("y", top);
    this.bar.setAttribute("height", Math.max(2, foot - top));
    this.grip.setAttribute("aria-valuenow", Math.round((100 * (this.foot - foot)) / (this.foot - this.top)));
    this.grip.setAttribute("aria-valuetext", kept ? `from ${this.words(low)} to ${this.words(high)}` : "all");
  }

  words(value) {
    if (this.column.kind === "figure") return figureText(this.column.unit, value);
    return this.column.texts[Math.min(this.column.texts.length - 1, Math.max(0, Math.round(value)))];
  }
}
