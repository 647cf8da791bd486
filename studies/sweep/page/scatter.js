// Two figures against each other, with the front that was asked for and the best by these two.

const SCATTER = { left: 62, right: 14, top: 12, bottom: 42, near: 14, mostBars: 150 };

class Scatter {
  constructor(sweep, selection, ramp) {
    Object.assign(this, { sweep, selection, ramp });
    this.surface = new Surface(byId("scatter-surface"), (width) => this.paint(width));
    this.tip = new Tip(byId("scatter-surface"));
    this.choosers = ["x", "y"].map((way) => ({ figure: byId("scatter-" + way), log: byId(`scatter-${way}-log`) }));
    this.offer();
    this.listen();
  }

  /** The objective against memory, or against time where memory is the objective. */
  offer() {
    const known = this.sweep.figures.filter((figure) => this.sweep.isKnown(figure));
    const across = this.sweep.figure("step_time"), up = this.sweep.figure("memory.peak");
    for (const [{ figure }, chosen] of [[this.choosers[0], across], [this.choosers[1], up]])
      figure.replaceChildren(...known.map((one) =>
        make("option", { value: one.name, selected: one === chosen, title: one.doc }, one.title)));
  }

  listen() {
    const { canvas } = this.surface;
    for (const { figure, log } of this.choosers)
      for (const control of [figure, log]) control.addEventListener("change", this.surface.paint);
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => { this.selection.hover(null); this.tip.hide(); });
    canvas.addEventListener("click", (event) => {
      const row = this.nearest(event);
      if (row) this.selection.pin(row);
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.selection.on("shown", this.surface.paint);
    this.selection.on("marked", () => this.mark());
  }

  paint(width) {
    const { left, right, top, bottom } = SCATTER;
    const height = Math.round(Math.min(560, Math.max(280, width * 0.85)));
    this.columns = this.choosers.map(({ figure }) => this.sweep.figure(figure.value));
    const [x, y] = this.columns.map((column, i) => {
      const { log } = this.choosers[i], all = this.sweep.rows.map((row) => column.value(row));
      log.disabled = !all.some((value) => value > 0);
      const [from, to] = i === 0 ? [left, width - right] : [height - bottom, top];
      return numberScale(all, from, to, { log: log.checked && !log.disabled, unit: column.unit, most: width < 420 ? 4 : 6 });
    });
    this.x = x, this.y = y;
    this.frame = { width, height };
    const pen = this.surface.begin(width, height);
    this.drawScales();
    this.drawPoints(pen, rampColours());
    this.mark();
    this.surface.canvas.setAttribute("aria-label", this.words());
  }

  words() {
    const [x, y] = this.columns;
    return `${plural(this.selection.shown.length, "configuration", "configurations")}: ${x.title} across, ${y.title} up`;
  }

  drawScales() {
    const { left, right, top, bottom } = SCATTER, { width, height } = this.frame, foot = height - bottom;
    const parts = [draw("rect", { x: left, y: top, width: width - left - right, height: foot - top, class: "frame" })];
    for (const { value, text } of this.x.ticks) {
      const at = this.x.at(value);
      parts.push(draw("line", { x1: at, x2: at, y1: top, y2: foot, class: "tick" }),
                 draw("text", { x: at, y: foot + 15, class: "mid" }, text));
    }
    for (const { value, text } of this.y.ticks) {
      const at = this.y.at(value);
      parts.push(draw("line", { x1: left, x2: width - right, y1: at, y2: at, class: "tick" }),
                 draw("text", { x: left - 6, y: at + 4, class: "end" }, text));
    }
    const [x, y] = this.columns;
    parts.push(draw("text", { x: (left + width - right) / 2, y: height - 6, class: "mid axis-name" }, `${x.title}, ${better(x)}`),
               draw("text", { transform: `translate(11 ${(top + foot) / 2}) rotate(-90)`, class: "mid axis-name" },
                 `${y.title}, ${better(y)}`));
    this.marks = draw("g");
    this.surface.over.replaceChildren(...parts, this.marks);
  }

  at(row) { return [this.x.at(this.columns[0].value(row)), this.y.at(this.columns[1].value(row))]; }

  drawPoints(pen, colours) {
    const { isShown, shown } = this.selection;
    pen.fillStyle = styleColour("--faint");
    for (const row of this.sweep.rows) if (!isShown[row.id]) disc(pen, this.at(row), 2.5);
    this.drawStair(pen);
    const ink = styleColour("--ink");
    pen.strokeStyle = styleColour("--soft");
    for (const row of shown) if (shown.length <= SCATTER.mostBars || row.front) this.drawBars(pen, row);
    // The best last, so that it lies on top.
    for (let i = shown.length; i-- > 0;) {
      pen.fillStyle = colours[this.ramp.step(shown[i])];
      if (!shown[i].front) disc(pen, this.at(shown[i]), 3.5);
    }
    pen.strokeStyle = ink;
    for (let i = shown.length; i-- > 0;) {
      pen.fillStyle = colours[this.ramp.step(shown[i])];
      if (shown[i].front) diamond(pen, this.at(shown[i]), 5);
    }
  }

  drawBars(pen, row) {
    const [x, y] = this.at(row), [across, up] = this.columns.map((column) => spreadOf(this.sweep, column, row));
    const { left, right, top, bottom } = SCATTER, { width, height } = this.frame;
    const within = (at, low, high) => Math.min(high, Math.max(low, at));
    pen.globalAlpha = 0.55;
    pen.beginPath();
    if (across) for (const [i, value] of across.entries()) pen[i ? "lineTo" : "moveTo"](within(this.x.at(value), left, width - right), y);
    if (up) for (const [i, value] of up.entries()) pen[i ? "lineTo" : "moveTo"](x, within(this.y.at(value), top, height - bottom));
    pen.stroke();
    pen.globalAlpha = 1;
  }

  /** No one of those shown lies on the better side of this line. */
  drawStair(pen) {
    const best = bestOfTwo(this.selection.shown, ...this.columns);
    const points = best.map((row) => this.at(row)).filter((point) => point.every(Number.isFinite));
    pen.beginPath();
    points.forEach(([x, y], i) => {
      if (i === 0) pen.moveTo(x, y);
      else { pen.lineTo(x, points[i - 1][1]); pen.lineTo(x, y); }
    });
    pen.setLineDash([5, 4]);
    pen.strokeStyle = styleColour("--out");
    pen.lineWidth = 1.4;
    pen.stroke();
    pen.setLineDash([]);
    pen.lineWidth = 1;
  }

  mark() {
    if (!this.marks) return;
    const rings = [];
    for (const [row, name, radius] of [[this.selection.pinned, "pinned", 9], [this.selection.hovered, "hovered", 7]]) {
      const [cx, cy] = row ? this.at(row) : [NaN, NaN];
      if (Number.isFinite(cx + cy)) rings.push(draw("circle", { cx, cy, r: radius, class: name }));
    }
    this.marks.replaceChildren(...rings);
  }

  nearest(event) {
    const [x, y] = this.surface.place(event);
    let best = null, least = SCATTER.near;
    for (const row of this.selection.shown) {
      const at = this.at(row), far = Math.hypot(at[0] - x, at[1] - y);
      if (far < least) [best, least] = [row, far];
    }
    return best;
  }

  point(event) {
    const row = this.nearest(event);
    this.selection.hover(row);
    this.surface.canvas.style.cursor = row ? "pointer" : "default";
    if (!row) return this.tip.hide();
    const lines = this.columns.map((column) => `${column.title} ${column.text(row)}`);
    return this.tip.show(...this.surface.place(event), this.sweep.title(row), lines);
  }

  /** From point to point in their order across. */
  key(event) {
    const ways = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
    if (event.key === "Enter" && this.selection.hovered) this.selection.pin(this.selection.hovered);
    if (!ways[event.key]) return;
    event.preventDefault();
    const order = this.selection.shown.filter((row) => this.at(row).every(Number.isFinite));
    order.sort((a, b) => this.at(a)[0] - this.at(b)[0] || a.id - b.id);
    const at = order.indexOf(this.selection.hovered);
    if (order.length) this.selection.hover(order[at < 0 ? 0 : Math.min(order.length - 1, Math.max(0, at + ways[event.key]))]);
  }
}

const better = (column) => (column.unit === "count" ? "a choice" : column.more ? "more is better" : "less is better");

function disc(pen, [x, y], radius) {
  if (!Number.isFinite(x + y)) return;
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

function diamond(pen, [x, y], radius) {
  if (!Number.isFinite(x + y)) return;
  pen.beginPath();
  pen.moveTo(x, y - radius), pen.lineTo(x + radius, y), pen.lineTo(x, y + radius), pen.lineTo(x - radius, y);
  pen.closePath();
  pen.fill();
  pen.stroke();
}
