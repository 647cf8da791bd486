// One configuration in full: the pinned one against the best, else the one that is pointed at, else the best.

const DETAIL_FIGURES = ["tokens_per_s_per_gpu", "mfu", "hfu", "bubble", "memory.headroom", "cost", "energy", "micro_batches", "dp"];

class Details {
  constructor(sweep, selection) {
    Object.assign(this, { sweep, selection, panel: byId("details") });
    this.show = oncePerFrame(() => this.fillPanel());
    selection.on("marked", this.show);
    this.fillPanel();
  }

  fillPanel() {
    const row = this.selection.looked, best = this.sweep.best, isPinned = row === this.selection.pinned;
    if (row === this.last && isPinned === this.wasPinned) return;
    [this.last, this.wasPinned] = [row, isPinned];
    const compare = isPinned && row !== best;
    const shares = (which) => (compare ? sharesAgainst(this.sweep, row, best, which) : sharesOf(this.sweep, row, which));
    this.panel.replaceChildren(
      make("h3", { "aria-live": isPinned ? "polite" : null }, this.heading(row, isPinned)),
      this.choices(row, compare ? best : null),
      isPinned ? make("button", { type: "button", onclick: () => this.selection.pin(row) }, "Let go")
        : make("span", { class: "soft" }, "Click a row or a mark to pin it."),
      make("div", { class: "shares" },
        make("div", {}, make("h4", {}, "Step time" + this.interval(row)), ...shares(TIME_SHARES)),
        make("div", {}, make("h4", {}, "Memory of the fullest rank"), ...shares(MEMORY_SHARES),
          make("h4", {}, "Other figures" + (compare ? ", the best in brackets" : "")), this.figures(row, compare ? best : null))));
  }

  heading(row, isPinned) {
    const place = row === this.sweep.best ? "Best" : `Number ${grouped(row.id + 1)}`;
    return `${isPinned ? "Pinned: " : ""}${place} by ${this.sweep.objective.title}${row.front ? ", on the Pareto front" : ""}`;
  }

  interval(row) {
    const range = spreadOf(this.sweep, this.sweep.figure("step_time"), row);
    return range ? `: ${range.map((value) => figureText("seconds", value)).join(" to ")} in 8 of 10 cases` : "";
  }

  /** What there was to choose; underlined where the best has another choice. */
  choices(row, best) {
    return make("ul", { class: "choices" }, ...this.sweep.axes.filter((axis) => axis.isChoice).map((axis) => {
      const isOther = best && axis.text(best) !== axis.text(row);
      return make("li", { title: isOther ? `the best has ${shortened(axis.text(best), 200)}` : null },
        make("span", { class: "soft" }, axis.title + " "),
        make("span", { class: isOther ? "changed" : null }, shortened(axis.text(row), 300)));
    }));
  }

  figures(row, best) {
    const known = DETAIL_FIGURES.map((name) => this.sweep.figure(name)).filter((figure) => figure.value(row) !== null);
    return make("ul", { class: "choices" }, ...known.map((figure) => make("li", { title: figure.doc },
      make("span", { class: "soft" }, figure.title + " "), figure.text(row) + (best ? ` (${figure.text(best)})` : ""))));
  }
}
