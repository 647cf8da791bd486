// Spans by their name: all of them are marked, the rest fades.

class Finder {
  constructor(scene, view, chart, picker, tracks, pin) {
    Object.assign(this, { scene, view, chart, picker, tracks, pin, box: byId("find"), said: byId("find-said"), next: -1, found: null });
    this.box.addEventListener("input", () => this.find());
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.go(event.shiftKey ? -1 : 1);
    });
    byId("find-back").addEventListener("click", () => this.go(-1));
    byId("find-next").addEventListener("click", () => this.go(1));
  }

  find() {
    const text = this.box.value.trim().toLowerCase(), names = new Set(), insides = new Map();
    const has = (name) => name.toLowerCase().includes(text);
    this.scene.data.names.forEach((name, i) => { if (has(name)) names.add(i); });
    for (const inside of this.scene.insides) {
      const spans = inside.spans.filter((span) => names.has(span.name));
      if (spans.length) insides.set(inside, spans);
    }
    const stretches = new Set(this.scene.stretches.filter((stretch) => has(stretch.name)));
    this.found = text ? { names, insides, stretches } : null;
    this.count = this.found ? this.countSpans() : 0;
    this.next = -1;
    this.said.value = !text ? "" : this.count === 0 ? "no span has this in its name" : plural(this.count, "span", "spans");
    for (const name of ["find-back", "find-next"]) byId(name).disabled = this.count === 0;
    this.chart.painter.found = this.found;
    this.chart.draw();
  }

  /** Of all ranks and micro-batches; a phase counts once, for it is the same on every rank. */
  countSpans() {
    let count = this.found.stretches.size;
    for (const rank of this.scene.ranks) for (const inside of rank.inside) count += this.found.insides.get(inside)?.length || 0;
    return count;
  }

  go(way) {
    if (!this.found || this.count === 0) return;
    this.next = this.next < 0 && way < 0 ? this.count - 1 : (this.next + way + this.count) % this.count;
    const box = this.boxOf(this.next);
    this.said.value = `${grouped(this.next + 1)} of ${plural(this.count, "span", "spans")}`;
    this.view.show(box.start, box.end);
    this.pin(box);
    this.chart.reveal(box);
  }
  /** By rank, then by time; the phases last. */
  boxOf(number) {
    for (const rank of this.scene.ranks)
      for (let i = 0; i < rank.count; ++i) {
        const spans = this.found.insides.get(rank.inside[i]) || [];
        if (number < spans.length) return this.spanBox(rank, i, spans[number]);
        number -= spans.length;
      }
    const stretch = [...this.found.stretches][number];
    return this.picker.stretchAt(this.tracks.rows[0], stretch.start);
  }
  spanBox(rank, i, span) {
    if (!this.tracks.open.has(rank)) this.tracks.fold(rank);
    const stream = this.scene.streams[span.stream];
    const row = this.tracks.rowOf(rank, stream.key === "compute" ? "compute" : "moves", span.stream) || this.tracks.rowOf(rank, "pipeline");
    return row.type === "pipeline" ? this.picker.action(row, i) : this.picker.span(row, i, span);
  }
}
