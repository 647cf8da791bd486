// What is shown, what is pointed at and what is chosen, for pictures, tables and controls: they tell it what the reader did and
// hear of what came of it. A mark or row is known by its keys, of which the first is its own: ["point:3", "operator:1"].

class View {
  constructor(report) {
    this.report = report;
    this.usual = { level: "hbm", precision: "run", datasheet: true, measured: true, heaviest: report.points.length };
    Object.assign(this, this.usual);
    this.off = new Set();   // "kind mlp", "pass forward"
    this.hovered = null;
    this.chosen = null;     // keys
    this.listeners = { shown: [], marked: [] };
  }
  on(what, listener) { this.listeners[what].push(listener); }
  tell(what) { for (const listener of this.listeners[what]) listener(); }

  set(changes) {
    Object.assign(this, changes);
    if (this.chosen && !this.shows(this.chosen)) this.chosen = null;
    this.tell("shown");
    this.tell("marked");
  }
  turn(word, isOn) {
    if (isOn) this.off.delete(word);
    else this.off.add(word);
    this.set({});
  }
  /** Only this one of its group; again: all of them. */
  only(word, group) {
    const others = group.filter((one) => one !== word), isAlone = !this.off.has(word) && others.every((one) => this.off.has(one));
    for (const one of group) this.off.delete(one);
    if (!isAlone) for (const one of others) this.off.add(one);
    this.set({});
  }
  reset() {
    this.off.clear();
    this.chosen = null;
    this.set({ ...this.usual });
  }

  showsPoint(point) {
    return point.id < this.heaviest && !this.off.has("kind " + point.kind) && !this.off.has("pass " + point.form);
  }
  /** Roofs are shown of one type, of those that limit operators of the run, or of all. */
  showsType(precision) { return this.precision === "all" || this.report.typesOf(this.precision).includes(precision); }
  /** The type whose roofs stand out. */
  get mainType() { return ["all", "run"].includes(this.precision) ? this.report.data.precision : this.precision; }
  /** What the filters say nothing of is shown. */
  shows(keys) {
    const id = /^point:(\d+)$/.exec(keys[0]);
    return !id || this.showsPoint(this.report.points[id[1]]);
  }
  get shownPoints() { return this.report.points.filter((point) => this.showsPoint(point)); }

  hover(keys) {
    if (this.hovered?.[0] === keys?.[0]) return;
    this.hovered = keys;
    this.tell("marked");
  }
  /** Again on the same: lets go. */
  choose(keys) {
    this.chosen = keys && this.chosen?.[0] !== keys[0] ? keys : null;
    this.tell("marked");
  }
  isHovered(keys) { return this.hovered !== null && this.hovered[0] === keys[0]; }
  isChosen(keys) { return this.chosen !== null && keys.some((key) => this.chosen.includes(key)); }
}
