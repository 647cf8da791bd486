// The rows as a table: sorted by any column, a page at a time.

const PAGE_ROWS = 100;
const TABLE_FIGURES = ["step_time", "tokens_per_s_per_gpu", "mfu", "bubble", "memory.peak", "memory.headroom", "cost", "energy"];

/** Where the row stands by the objective, and whether it is on the front. */
const PLACE = { title: "#", doc: "place by the objective among these rows; a diamond: on the Pareto front that was asked for", kind: "place",
  value: (row) => row.id, text: (row) => `${row.id + 1}${row.front ? " \u25c6" : ""}` };

/** The interval beside the time says how sure it is. */
function intervalColumn(sweep) {
  const [p10, p90] = [sweep.figure("p10"), sweep.figure("p90")];
  return { title: "8 of 10 cases", doc: "10th to 90th percentile of the step time", kind: "figure",
    value: (row) => (p90.value(row) === null || p10.value(row) === null ? null : p90.value(row) - p10.value(row)),
    text: (row) => `${p10.text(row)} to ${p90.text(row)}` };
}

function tableColumns(sweep) {
  const figures = TABLE_FIGURES.map((name) => sweep.figure(name)).filter((figure) => sweep.isKnown(figure));
  if (!figures.includes(sweep.objective)) figures.unshift(sweep.objective);
  const columns = [PLACE, ...sweep.varyingAxes, ...figures];
  const time = columns.indexOf(sweep.figure("step_time"));
  if (time >= 0) columns.splice(time + 1, 0, intervalColumn(sweep));
  return columns;
}

class RowTable {
  constructor(sweep, selection) {
    Object.assign(this, { sweep, selection, columns: tableColumns(sweep), by: PLACE, down: false, page: 0 });
    this.body = make("tbody");
    this.heads = this.columns.map((column) => this.head(column));
    this.said = make("span", { "aria-live": "polite" });
    this.back = make("button", { type: "button", onclick: () => this.turn(-1) }, "Previous");
    this.forth = make("button", { type: "button", onclick: () => this.turn(1) }, "Next");
    byId("table").replaceChildren(
      make("div", { class: "scroll", role: "region", "aria-label": "Configurations" },
        make("table", {}, make("thead", {}, make("tr", {}, ...this.heads)), this.body)),
      make("div", { class: "pages" }, this.back, this.forth, this.said));
    this.listen();
    this.sort();
  }

  head(column) {
    const isText = column.kind === "axis" && !column.numeric;
    return make("th", { scope: "col", class: isText ? null : "n", title: column.doc, "aria-sort": "none" },
      make("button", { type: "button", onclick: () => this.sortBy(column) }, column.title));
  }

  listen() {
    const rowOf = (event) => this.sweep.rows[event.target.closest("tr")?.dataset.row];
    this.body.addEventListener("pointerover", (event) => this.selection.hover(rowOf(event)));
    this.body.addEventListener("pointerleave", () => this.selection.hover(null));
    this.body.addEventListener("focusin", (event) => this.selection.hover(rowOf(event)));
    this.body.addEventListener("click", (event) => this.selection.pin(rowOf(event)));
    this.body.addEventListener("keydown", (event) => this.key(event, rowOf(event)));
    this.selection.on("shown", () => { this.page = 0; this.sort(); });
    this.selection.on("marked", () => this.mark());
  }

  /** Best first where a figure has a best end; again on the same: the other way round. */
  sortBy(column) {
    this.down = this.by === column ? !this.down : column.more === true;
    this.by = column;
    this.page = 0;
    this.sort();
  }

  sort() {
    const sign = this.down ? -1 : 1, key = (row) => this.by.value(row);
    const isUnknown = (row) => key(row) === null;
    this.order = [...this.selection.shown].sort((a, b) => isUnknown(a) - isUnknown(b) || sign * (key(a) - key(b)) || a.id - b.id);
    const way = this.down ? "descending" : "ascending";
    this.heads.forEach((head, i) => head.setAttribute("aria-sort", this.columns[i] === this.by ? way : "none"));
    this.showPage();
  }

  turn(way) { this.page += way; this.showPage(); }

  showPage() {
    const first = this.page * PAGE_ROWS, rows = this.order.slice(first, first + PAGE_ROWS);
    this.body.replaceChildren(...rows.map((row, i) => this.line(row, i === 0)));
    this.back.disabled = this.page === 0;
    this.forth.disabled = first + PAGE_ROWS >= this.order.length;
    this.back.hidden = this.forth.hidden = this.order.length <= PAGE_ROWS;
    this.said.textContent = this.order.length === 0 ? "No row passes the filter and the ranges."
      : `Rows ${grouped(first + 1)} to ${grouped(first + rows.length)} of ${grouped(this.order.length)}`;
    this.markLines();
  }

  /** One stop for the tab key; from there the arrows go on. */
  line(row, isFirst) {
    return make("tr", { "data-row": row.id, tabindex: isFirst ? 0 : -1 }, ...this.columns.map((column, i) => {
      const text = column.text(row), isText = column.kind === "axis" && !column.numeric;
      const about = { scope: i === 0 ? "row" : null, class: isText ? null : "n", title: text.length > 24 ? text : null };
      return make(i === 0 ? "th" : "td", about, shortened(text, 200));
    }));
  }

  /** The page on which a row stands that was pinned elsewhere. */
  find(row) {
    const page = Math.floor(this.order.indexOf(row) / PAGE_ROWS);
    if (page >= 0 && page !== this.page) this.page = page, this.showPage();
  }

  mark() {
    const isNew = this.selection.pinned !== this.lastPinned;
    this.lastPinned = this.selection.pinned;
    if (isNew && this.lastPinned) this.find(this.lastPinned);
    this.markLines();
  }

  markLines() {
    for (const [name, row] of [["hovered", this.selection.hovered], ["pinned", this.selection.pinned]]) {
      for (const old of this.body.querySelectorAll("tr." + name)) old.classList.remove(name), old.removeAttribute("aria-current");
      const line = row && this.body.querySelector(`tr[data-row="${row.id}"]`);
      line?.classList.add(name);
      if (name === "pinned") line?.setAttribute("aria-current", "true");
    }
  }

  key(event, row) {
    const line = event.target.closest("tr");
    const next = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
    if (event.key === "Enter" || event.key === " ") this.selection.pin(row);
    else if (!next) return;
    event.preventDefault();
    if (next) line.tabIndex = -1, next.tabIndex = 0, next.focus();
  }
}
