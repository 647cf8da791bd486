// The canvas with its rows, which scroll under it, and the ruler above.

class Chart {
  constructor(scene, view, tracks, painter, palette) {
    Object.assign(this, { scene, view, tracks, painter, palette, scroller: byId("rows"), canvas: byId("chart"), ruler: byId("ruler") });
    this.draw = oncePerFrame(() => this.drawNow());
    new ResizeObserver(this.draw).observe(this.scroller);
    this.scroller.addEventListener("scroll", this.draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { palette.forget(); this.draw(); });
    view.on(this.draw);
    tracks.on(this.draw);
  }
  get width() { return this.canvas.parentElement.clientWidth; }
  get top() { return this.scroller.scrollTop; }

  /** Sharp on fine screens. */
  pen(canvas, width, height) {
    const fine = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * fine) || canvas.height !== Math.round(height * fine)) {
      Object.assign(canvas, { width: Math.round(width * fine), height: Math.round(height * fine) });
      Object.assign(canvas.style, { width: width + "px", height: height + "px" });
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(fine, 0, 0, fine, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  drawNow() {
    const width = this.width, height = Math.min(this.tracks.height, this.scroller.clientHeight);
    if (width <= 0) return;
    this.place = new Place(this.view, width);
    const pen = this.pen(this.canvas, width, height), { painter } = this;
    painter.begin(pen, this.place);
    for (const row of this.tracks.rows) {
      const y = row.y - this.top;
      if (y < height && y + row.height > 0) painter.row(row, y);
    }
    this.grid(pen, height);
    painter.frame(painter.hovered, -this.top, "hover");
    painter.frame(this.placed(painter.pinned), -this.top, "pin");
    this.drawArrows();
    this.drawRuler(width);
  }

  /** Rows may have moved since it was pinned. */
  placed(box) {
    if (!box) return null;
    const row = this.tracks.rowOf(box.row.rank, box.row.type, box.row.stream) || (box.rank && this.tracks.rowOf(box.rank, "pipeline"));
    const within = row?.type === box.row.type ? box.y - box.row.y : 0;
    return row ? { ...box, y: row.y + within, height: Math.min(box.height, row.height) } : null;
  }

  ticks() {
    const step = niceStep(this.view.span, Math.max(2, this.place.width / 110)), list = [];
    for (let i = Math.ceil(this.view.from / step); i * step <= this.view.to; ++i) list.push(i * step);
    return { step, list };
  }
  grid(pen, height) {
    pen.fillStyle = this.palette.get("line");
    pen.globalAlpha = 0.55;
    for (const time of this.ticks().list) pen.fillRect(Math.round(this.place.at(time)), 0, 1, height);
    pen.globalAlpha = 1;
  }
  drawRuler(width) {
    const pen = this.pen(this.ruler, width, 24), { step, list } = this.ticks();
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (const time of list) {
      const x = this.place.at(time), text = time === 0 ? "0" : momentText(time, step), wide = pen.measureText(text).width;
      pen.fillStyle = this.palette.get("soft");
      pen.fillRect(Math.round(x), 16, 1, 8);
      pen.fillStyle = this.palette.get("ink");
      if (x + 4 + wide < width) pen.fillText(text, x + 4, 13);
    }
  }

  /** What an action takes and hands on: from rank to rank. */
  drawArrows() {
    const { pinned } = this.painter;
    if (!pinned?.rank) return;
    const middle = ({ rank }) => {
      const row = this.tracks.rowOf(rank, "pipeline");
      return row.y - this.top + row.height / 2;
    };
    const self = { rank: pinned.rank, i: pinned.i };
    const giver = this.scene.giver(self.rank, self.i), taker = this.scene.taker(self.rank, self.i);
    for (const [from, to] of [[giver, self], [self, taker]])
      if (from && to) this.painter.arrow(from.rank.end[from.i], middle(from), to.rank.start[to.i], middle(to));
  }

  /** What lies under a pointer event, or null. */
  pick(event, picker) {
    const [x, y] = this.placeOf(event), row = this.tracks.at(y + this.top);
    return row && this.place ? picker.at(row, this.place.time(x), y + this.top - row.y) : null;
  }
  placeOf(event) {
    const frame = this.canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }
  /** Scrolls its row into sight. */
  reveal(box) {
    const placed = this.placed(box);
    if (!placed) return;
    const room = this.scroller.clientHeight;
    if (placed.y < this.top || placed.y + placed.height > this.top + room) this.scroller.scrollTop = placed.y - room / 2;
  }
}
