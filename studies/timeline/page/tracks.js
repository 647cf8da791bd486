// Rows of the picture: the step, and each rank's pipeline with its streams below where it is unfolded.

/** On a phone names of moves stand on two lines. */
const MOVES_HEIGHT = matchMedia("(max-width:600px)").matches ? 27 : 17;
const TRACK_HEIGHTS = { step: 22, pipeline: 24, compute: 24, moves: MOVES_HEIGHT, send: 17 };
const RANK_GAP = 4;

class Tracks {
  constructor(scene, filters) {
    Object.assign(this, { scene, filters, listeners: [] });
    const slowest = scene.ranks[scene.data.slowest] || scene.ranks[0];
    this.open = new Set(scene.ranks.length <= 3 ? scene.ranks : [slowest]);
    this.box = byId("labels");
    this.lay();
  }
  on(listener) { this.listeners.push(listener); }

  /** Streams of a rank's actions, in the order of the scene. */
  streamsOf(rank) {
    const used = new Set(), seen = new Set(rank.inside);
    for (const inside of seen) for (const stream of inside.lanes.keys()) used.add(stream);
    return [...used].sort((a, b) => a - b);
  }
  holds(stream, rank) {
    const isShown = (span) => this.filters.has(SPAN_KINDS[span.kind]);
    return [...new Set(rank.inside)].some((inside) => inside.lanes.get(stream)?.spans.some(isShown));
  }

  lay() {
    let y = 0;
    this.rows = [];
    const add = (row) => { this.rows.push({ ...row, y, height: TRACK_HEIGHTS[row.type] }); y += TRACK_HEIGHTS[row.type] + 1; };
    add({ type: "step", name: "step" });
    for (const rank of this.scene.ranks) {
      y += RANK_GAP;
      add({ type: "pipeline", rank, name: this.scene.rankName(rank) });
      if (this.open.has(rank)) this.layStreams(rank, add);
    }
    this.height = y + RANK_GAP;
    this.label();
  }
  layStreams(rank, add) {
    for (const stream of this.streamsOf(rank)) {
      if (!this.holds(stream, rank)) continue;
      const { key, name } = this.scene.streams[stream];
      add({ type: key === "compute" ? "compute" : "moves", rank, stream, name });
    }
    if (this.filters.has("send") && rank.sends.some((lane) => lane.spans.length)) add({ type: "send", rank, name: "sends" });
  }

  label() {
    const focused = document.activeElement?.dataset?.rank;
    this.box.style.height = this.height + "px";
    this.box.replaceChildren(...this.rows.map((row) => this.labelOf(row)));
    if (focused !== undefined) this.box.querySelector(`[data-rank="${focused}"]`)?.focus();
  }
  labelOf(row) {
    const style = { top: row.y + "px", height: row.height + "px" };
    if (row.type !== "pipeline") return make("span", { class: "label", style, title: row.name }, shortened(row.name, 60));
    const isOpen = this.open.has(row.rank);
    return make("button", { type: "button", class: "label", style, "aria-expanded": String(isOpen), "data-rank": row.rank.number,
      onclick: () => this.fold(row.rank) }, row.name);
  }

  fold(rank) {
    if (!this.open.delete(rank)) this.open.add(rank);
    this.change();
  }
  foldAll(isOpen) { this.open = new Set(isOpen ? this.scene.ranks : []); this.change(); }
  change() { this.lay(); for (const listener of this.listeners) listener(); }

  at(y) { return this.rows.find((row) => y >= row.y && y < row.y + row.height); }
  rowOf(rank, type, stream) {
    return this.rows.find((row) => row.rank === rank && row.type === type && (stream === undefined || row.stream === stream));
  }
}
