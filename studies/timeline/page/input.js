// Wheel, drag, pinch and keys on the picture.

const ZOOM_STEP = 1.5, PAN_STEP = 0.2;

class PointerInput {
  constructor(view, chart, picker, tip, details) {
    Object.assign(this, { view, chart, picker, tip, details, pointers: new Map(), moved: false, isScrolling: false });
    const { canvas } = chart, on = (type, options) => canvas.addEventListener(type, (event) => this[type](event), options);
    for (const type of ["pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave"]) on(type);
    on("wheel", { passive: false });
    canvas.addEventListener("dblclick", (event) => this.view.zoom(1 / 3, this.timeOf(event)));
    // Who scrolls the page past the picture does not mean to zoom it: that begins with a move of the pointer over it.
    addEventListener("scroll", () => { this.isScrolling = true; }, { passive: true });
  }
  timeOf(event) { return this.chart.place.time(this.chart.placeOf(event)[0]); }

  wheel(event) {
    if (this.isScrolling && !event.ctrlKey) return;
    const size = event.deltaMode === 1 ? 30 : 1, across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    const isPan = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const changed = isPan ? this.view.pan((across * size) / this.chart.width)
      : this.view.zoom(Math.exp(event.deltaY * size * (event.ctrlKey ? 0.01 : 0.0022)), this.timeOf(event));
    if (changed || event.ctrlKey || isPan) event.preventDefault();
    if (changed) this.tip.hide();
  }

  pointerdown(event) {
    if (event.button !== 0) return;
    this.chart.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
    this.moved = this.pointers.size > 1;
  }
  pointermove(event) {
    if (event.movementX !== 0 || event.movementY !== 0) this.isScrolling = false;
    const last = this.pointers.get(event.pointerId);
    if (!last) return this.hover(event);
    if (!this.moved && Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY) < 4) return;
    this.moved = true;
    this.tip.hide();
    if (this.pointers.size === 2) this.pinch(event, last);
    else this.drag(event, last);
    this.pointers.set(event.pointerId, event);
  }
  drag(event, last) {
    this.view.pan((last.clientX - event.clientX) / this.chart.width);
    if (event.pointerType === "mouse") this.chart.scroller.scrollTop += last.clientY - event.clientY;
  }
  /** Both fingers stay on the moments that they lie on. */
  pinch(event, last) {
    const other = [...this.pointers.values()].find((one) => one.pointerId !== event.pointerId);
    const before = Math.abs(last.clientX - other.clientX), now = Math.abs(event.clientX - other.clientX);
    if (before > 8 && now > 8) this.view.zoom(before / now, this.timeOf(other));
  }
  pointerup(event) {
    const wasDown = this.pointers.delete(event.pointerId);
    if (!wasDown || this.moved) return;
    const box = this.chart.pick(event, this.picker), isSame = box && this.details.pinned?.key === box.key;
    this.details.pin(isSame ? null : box);
    if (event.pointerType !== "mouse") this.showTip(event, box);
    this.chart.canvas.focus({ preventScroll: true });
  }
  pointercancel(event) { this.pointers.delete(event.pointerId); }
  pointerleave() { this.mark(null); this.tip.hide(); }

  hover(event) {
    const box = this.chart.pick(event, this.picker);
    this.mark(box);
    this.showTip(event, box);
  }
  mark(box) {
    if (this.chart.painter.hovered?.key === box?.key) return;
    this.chart.painter.hovered = box;
    this.chart.draw();
  }
  showTip(event, box) {
    if (!box) return this.tip.hide();
    const frame = this.tip.note.parentElement.getBoundingClientRect();
    const known = new Set(["kind", "pass", "layer", "pipeline rank", "stage", "micro-batch", "start", "duration", "stream", "on"]);
    this.tip.show(event.clientX - frame.left, event.clientY - frame.top, box.title,
      box.words.filter(([name]) => known.has(name)).map(([name, text]) => `${name}: ${shortened(text, 80)}`));
  }
}

/** As in Perfetto and chrome://tracing: w and s zoom, a and d move. */
class KeyInput {
  constructor(view, chart, picker, details) {
    Object.assign(this, { view, chart, picker, details });
    const zoom = (factor) => () => view.zoom(factor, this.middle()), pan = (share) => () => view.pan(share);
    const nearer = zoom(1 / ZOOM_STEP), farther = zoom(ZOOM_STEP);
    this.keys = { w: nearer, s: farther, a: pan(-PAN_STEP), d: pan(PAN_STEP), "+": nearer, "=": nearer, "-": farther,
      0: () => view.reset(), f: () => details.pinned && view.show(details.pinned.start, details.pinned.end),
      "/": () => byId("find").focus() };
    this.steps = { ArrowLeft: () => this.along(-1), ArrowRight: () => this.along(1), ArrowUp: () => this.across(-1),
      ArrowDown: () => this.across(1) };
    addEventListener("keydown", (event) => this.key(event));
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.details.pinned) return this.details.pin(null);
    const active = document.activeElement, isHere = active === this.chart.canvas;
    const key = event.key.toLowerCase(), isKnown = (isHere || active === document.body) && Object.hasOwn(this.keys, key);
    const work = isKnown ? this.keys[key] : isHere && Object.hasOwn(this.steps, event.key) ? this.steps[event.key] : null;
    if (!work) return;
    event.preventDefault();
    work();
  }
  /** Zooming keeps what is pinned where it is, when it is in sight. */
  middle() {
    const box = this.details.pinned, at = box && (box.start + box.end) / 2;
    return at !== null && at > this.view.from && at < this.view.to ? at : (this.view.from + this.view.to) / 2;
  }
  first() {
    const row = this.chart.tracks.rows.find((one) => one.type === "pipeline" && one.y >= this.chart.top);
    const i = Math.min(firstAbove(row.rank.end, this.view.from), row.rank.count - 1);
    return i < 0 ? null : this.picker.action(row, i);
  }
  along(way) {
    const box = this.details.pinned;
    this.take(!box ? this.first() : box.span ? this.nextSpan(box, way) : box.rank ? this.nextAction(box, way) : null);
  }
  nextAction(box, way) {
    const i = box.i + way, row = this.chart.tracks.rowOf(box.rank, "pipeline");
    return i >= 0 && i < box.rank.count ? this.picker.action(row, i) : null;
  }
  nextSpan(box, way) {
    const row = this.chart.tracks.rowOf(box.row.rank, box.row.type, box.row.stream);
    if (!row) return null;
    const isShown = (span) => this.picker.filters.has(SPAN_KINDS[span.kind]);
    let spans = box.rank.inside[box.i].lanes.get(row.stream).spans, k = spans.indexOf(box.span) + way, { i } = box;
    for (;; k += way) {
      while (k < 0 || k >= spans.length) {
        i += way;
        if (i < 0 || i >= box.rank.count) return null;
        spans = box.rank.inside[i].lanes.get(row.stream)?.spans || [];
        k = way > 0 ? 0 : spans.length - 1;
      }
      if (isShown(spans[k])) return this.picker.span(row, i, spans[k]);
    }
  }
  /** What is at its middle in the next row that has something there. */
  across(way) {
    const box = this.details.pinned;
    if (!box) return this.take(this.first());
    const { rows } = this.chart.tracks, time = (Math.max(box.start, this.view.from) + Math.min(box.end, this.view.to)) / 2;
    const here = rows.findIndex((row) => row.y <= this.chart.placed(box).y && this.chart.placed(box).y < row.y + row.height);
    for (let n = here + way; n >= 0 && n < rows.length; n += way) {
      const found = this.picker.at(rows[n], time, 1);
      if (found) return this.take(found);
    }
  }
  take(box) {
    if (!box) return;
    this.details.pin(box);
    this.chart.reveal(box);
    const { view } = this;
    if (box.end < view.from || box.start > view.to) view.set((box.start + box.end - view.span) / 2, (box.start + box.end + view.span) / 2);
  }
}
