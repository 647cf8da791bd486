// What is pinned, in full.

class Details {
  constructor(scene, view, chart) {
    Object.assign(this, { scene, view, chart, panel: byId("details"), pinned: null });
    this.show();
  }
  pin(box) {
    this.pinned = this.chart.painter.pinned = box;
    this.chart.draw();
    this.show();
  }
  show() {
    const { pinned } = this;
    if (!pinned) {
      this.panel.replaceChildren(make("p", { class: "soft" }, "Click a span, or go to one with the arrow keys, to keep its figures here."));
      return;
    }
    this.panel.replaceChildren(
      make("h3", { "aria-live": "polite" }, shortened(pinned.title, 300)),
      make("dl", {}, ...[...pinned.words, ...this.hops()].map(([name, text]) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, text)))),
      make("p", { class: "controls" },
        make("button", { type: "button", onclick: () => this.view.show(pinned.start, pinned.end) }, "Zoom to it"),
        make("button", { type: "button", onclick: () => this.pin(null) }, "Let go")));
  }
  /** Where its input came from and where its result goes. */
  hops() {
    const { rank, i } = this.pinned;
    if (!rank) return [];
    const text = (other) => `${this.scene.actionName(other.rank, other.i)} on ${this.scene.rankName(other.rank)}`;
    const giver = this.scene.giver(rank, i), taker = this.scene.taker(rank, i);
    return [...(giver ? [["takes from", `${text(giver)}, ${lengthText(rank.start[i] - giver.rank.end[giver.i])} before`]] : []),
      ...(taker ? [["hands on to", `${text(taker)}, ${lengthText(taker.rank.start[taker.i] - rank.end[i])} later`]] : [])];
  }
}
