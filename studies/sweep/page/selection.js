// What is shown and what is marked, for all views: they tell it what the reader did and hear of what came of it.

class Selection {
  constructor(sweep) {
    this.sweep = sweep;
    this.passes = () => true;   // of the filter
    this.ranges = new Map();    // column -> [low, high] of its values
    this.hovered = null;
    this.pinned = null;
    this.shown = sweep.rows;
    this.isShown = new Uint8Array(sweep.rows.length).fill(1);
    this.listeners = { shown: [], marked: [] };
  }
  on(what, listener) { this.listeners[what].push(listener); }
  tell(what) { for (const listener of this.listeners[what]) listener(); }

  filter(passes) { this.passes = passes; this.choose(); }
  range(column, limits) {
    if (limits) this.ranges.set(column, limits);
    else this.ranges.delete(column);
    this.choose();
  }
  clear() { this.passes = () => true; this.ranges.clear(); this.choose(); }
  choose() {
    const ranges = [...this.ranges];
    const inside = (row) => ranges.every(([column, [low, high]]) => {
      const value = column.value(row);
      return value !== null && value >= low && value <= high;
    });
    this.shown = this.sweep.rows.filter((row) => this.passes(row) && inside(row));
    this.isShown.fill(0);
    for (const row of this.shown) this.isShown[row.id] = 1;
    if (this.hovered && !this.isShown[this.hovered.id]) this.hover(null);
    this.tell("shown");
  }

  hover(row) {
    if (this.hovered === row) return;
    this.hovered = row;
    this.tell("marked");
  }
  /** Again on the same: lets go. */
  pin(row) {
    this.pinned = this.pinned === row ? null : row;
    this.tell("marked");
  }
  /** The one that the details are of. */
  get looked() { return this.pinned || this.hovered || this.sweep.best; }
}
