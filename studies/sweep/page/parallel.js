// Every axis that varies and the main figures side by side; a configuration is a line through them.

const PARALLEL = { top: 42, bottom: 22, left: 46, right: 62, least: 88, height: 330, near: 7 };
/** On a phone axes stand closer, and their names take turns on three heights. */
const CLOSE = { ...PARALLEL, top: 160, left: 18, right: 46, least: 30, height: 460 };
const parallelRoom = () => (matchMedia("(max-width:600px)").matches ? CLOSE : PARALLEL);
const MAIN_FIGURES = ["step_time", "tokens_per_s_per_gpu", "mfu", "memory.peak"];

function parallelColumns(sweep) {
  const figures = MAIN_FIGURES.map((name) => sweep.figure(name));
  if (!figures.includes(sweep.objective)) figures.unshift(sweep.objective);
  return [...sweep.varyingAxes, ...figures.filter((figure) => sweep.isKnown(figure))];
}

class Parallel {
  constructor(sweep, selection, ramp) {
    Object.assign(this, { sweep, selection, ramp, columns: parallelColumns(sweep) });
    const box = byId("parallel-surface");
    this.surface = new Surface(box, (width) => this.paint(width));
    this.fit();
    this.tip = new Tip(box);
    byId("ramp").replaceChildren(...ramp.legend());
    this.listen();
  }

  /** Where even close axes find no room the picture scrolls. */
  fit() {
    this.room = parallelRoom();
    const { left, right, least } = this.room;
    this.surface.box.style.minWidth = left + right + (this.columns.length - 1) * least + "px";
  }

  listen() {
    const { canvas } = this.surface;
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => { this.selection.hover(null); this.tip.hide(); });
    canvas.addEventListener("click", (event) => {
      const row = this.nearest(event);
      if (row) this.selection.pin(row);
    });
    this.selection.on("shown", () => { this.surface.paint(); this.axes?.forEach((axis) => axis.show()); });
    this.selection.on("marked", () => this.mark());
  }

  paint(width) {
    this.fit();
    const { top, bottom, left, right, height } = this.room, foot = height - bottom;
    const gap = this.columns.length > 1 ? (width - left - right) / (this.columns.length - 1) : 0;
    this.places = this.columns.map((_, i) => left + i * gap);
    this.scales = this.columns.map((column) => scaleOf(this.sweep, column, this.sweep.rows, foot, top, { room: 0.02 }));
    const pen = this.surface.begin(width, height);
    this.drawLines(pen, rampColours());
    // The axes stay while they are dragged or have the focus.
    if (this.drawn !== width) this.drawAxes(gap), this.drawn = width;
    this.mark();
    const names = this.columns.map((column) => column.title).join(", ");
    this.surface.canvas.setAttribute("aria-label", `${plural(this.selection.shown.length, "line", "lines")} through ${names}`);
  }

  drawAxes(gap) {
    this.marks = draw("g");
    this.axes = this.columns.map((column, i) => new RangeAxis(this, column, i, gap));
    this.surface.over.replaceChildren(this.marks, ...this.axes.map((axis) => axis.group));
  }

  points(row) { return this.columns.map((column, i) => [this.places[i], this.scales[i].at(column.value(row))]); }

  drawLines(pen, colours) {
    const { rows } = this.sweep, { isShown, shown } = this.selection;
    const faint = styleColour("--faint");
    pen.lineWidth = 1;
    this.strokeAll(pen, rows.filter((row) => !isShown[row.id]), () => faint);
    pen.globalAlpha = shown.length > 3000 ? 0.35 : shown.length > 300 ? 0.6 : 0.9;
    pen.lineWidth = shown.length > 300 ? 1 : 1.4;
    this.strokeAll(pen, [...shown].reverse(), (row) => colours[this.ramp.step(row)]);
    pen.globalAlpha = 1;
  }

  strokeAll(pen, rows, colourOf) {
    for (const row of rows) {
      pen.strokeStyle = colourOf(row);
      pen.beginPath();
      trace(pen, this.points(row));
      pen.stroke();
    }
  }

  mark() {
    if (!this.marks) return;
    const known = (row) => this.points(row).filter(([, y]) => Number.isFinite(y));
    const path = (row, name) => draw("polyline", { class: name, points: known(row).join(" ") });
    const { pinned, hovered } = this.selection;
    this.marks.replaceChildren(...(pinned ? [path(pinned, "pinned")] : []), ...(hovered ? [path(hovered, "hovered")] : []));
  }

  /** By the height of the line under the pointer. */
  nearest(event) {
    const [x, y] = this.surface.place(event);
    const right = Math.min(this.places.length - 1, Math.max(1, this.places.findIndex((place) => place >= x)));
    if (this.places.length < 2) return null;
    const share = (x - this.places[right - 1]) / (this.places[right] - this.places[right - 1]);
    const heightOf = (row, i) => this.scales[i].at(this.columns[i].value(row));
    let best = null, least = PARALLEL.near;
    for (const row of this.selection.shown) {
      const far = Math.abs(heightOf(row, right - 1) * (1 - share) + heightOf(row, right) * share - y);
      if (far < least) [best, least] = [row, far];
    }
    return best;
  }

  point(event) {
    const row = this.nearest(event);
    this.selection.hover(row);
    if (!row) return this.tip.hide();
    const lines = MAIN_FIGURES.map((name) => this.sweep.figure(name)).map((figure) => `${figure.title} ${figure.text(row)}`);
    return this.tip.show(...this.surface.place(event), this.sweep.title(row), lines);
  }
}

/** A gap where a figure is not known. */
function trace(pen, points) {
  let pending = true;
  for (const [x, y] of points) {
    if (Number.isFinite(y)) pen[pending ? "moveTo" : "lineTo"](x, y);
    pending = !Number.isFinite(y);
  }
}
