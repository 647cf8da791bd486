// The tables below the pictures: sorted by clicking a heading, their rows joined with the marks.

const PASSES = ["forward", "recompute", "input_grad", "weight_grad", "step"];
const kernelFigures = (point, report) => [operatorName(point), point.share, point.kind, PASSES.indexOf(point.pass),
  point.shape, point.precision, point.hbm_flops_per_byte, point.l2_flops_per_byte, point.rate_flops_per_s, point.bandwidth_bytes_per_s,
  point.share_of_roof, point.bound, point.calls, point.time_s, point.interval[1] - point.interval[0], point.total_s,
  ...(report.points.some((one) => one.measured) ? [point.measured ? point.time_s / point.measured.time_s : -1] : []), point.source];
const looseFigures = (point) => [point.kind, point.shape, point.precision, point.hbm_flops_per_byte, point.rate_flops_per_s,
  point.share_of_roof, point.time_s, point.source];
const linkFigures = (link) => [link.name, link.total_s, link.exposed_share, link.axis, link.link, link.group_size,
  PASSES.indexOf(link.pass), link.calls, link.received_bytes, link.latency_s, link.flops_per_byte, link.rate_flops_per_s,
  link.bus_bytes_per_s, link.share_of_roof, link.bound, link.source];
const boundaryFigures = ({ operator, row }) => [operatorName(operator), PASSES.indexOf(operator.pass), row.outer,
  row.crossing_bytes, row.flops_per_byte, row.ridge_flops_per_byte, row.rate_bytes_per_s, row.basis, row.time_s, operator.compute_s,
  row.limits ? 1 : 0, row.stationary, row.text];
const barFigures = (bar) => [bar.name, bar.time_s, bar.time_s, bar.about];

/** Per table: the things that its rows are of, their keys, and a figure per column to sort by. */
const TABLES = {
  "kernel-table": { of: (report) => report.points, keys: (point, id, report) => keysOfPoint(report, point), figures: kernelFigures },
  "loose-table": { of: (report) => report.loose, keys: (point, id) => [`loose:${id}`], figures: looseFigures },
  "network-table": { of: (report) => report.links, keys: (link, id) => [`link:${id}`], figures: linkFigures },
  "dataflow-table": { of: boundariesOf, keys: (one) => keysOfCrossing(one.at, one.boundary), figures: boundaryFigures },
  "step-table": { of: (report) => report.bars, keys: (bar, id) => [`bar:${id}`], figures: barFigures },
};

function boundariesOf(report) {
  return report.dataflow.flatMap((operator, at) => operator.boundaries.map((row, boundary) => ({ operator, row, at, boundary })));
}

class RowTable {
  constructor(id, report, view) {
    const box = byId(id), about = TABLES[id];
    if (!box) return;
    Object.assign(this, { view, body: box.querySelector("tbody"), by: -1, down: false });
    const lines = [...this.body.rows];
    this.rows = about.of(report).map((one, at) => (
      { line: lines[at], at, keys: about.keys(one, at, report), figures: about.figures(one, report) }));
    this.byLine = new Map(this.rows.map((row) => [row.line, row]));
    this.heads = [...box.querySelectorAll("thead th")];
    this.heads.forEach((head, column) => this.offerSort(head, column));
    this.listen();
    view.on("marked", () => this.mark());
    view.on("shown", () => this.show());
  }

  offerSort(head, column) {
    const button = make("button", { type: "button", onclick: () => this.sortBy(column) }, ...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
  }

  /** Numbers begin with the largest, words with the first. */
  sortBy(column) {
    this.down = this.by === column ? !this.down : typeof this.rows[0]?.figures[column] === "number";
    this.by = column;
    const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en"));
    const way = this.down ? -1 : 1;
    const order = [...this.rows].sort((a, b) => way * compare(a.figures[column], b.figures[column]) || a.at - b.at);
    this.body.append(...order.map((row) => row.line));
    this.heads.forEach((head, at) => head.setAttribute("aria-sort", at !== column ? "none" : this.down ? "descending" : "ascending"));
  }

  listen() {
    const rowOf = (event) => this.byLine.get(event.target.closest("tr"));
    this.rows.forEach(({ line }, at) => line.setAttribute("tabindex", at === 0 ? 0 : -1));
    this.body.addEventListener("pointerover", (event) => this.view.hover(rowOf(event)?.keys || null));
    this.body.addEventListener("pointerleave", () => this.view.hover(null));
    this.body.addEventListener("focusin", (event) => this.view.hover(rowOf(event)?.keys || null));
    this.body.addEventListener("focusout", () => this.view.hover(null));
    this.body.addEventListener("click", (event) => {
      const row = rowOf(event);
      if (row && String(getSelection()) === "") this.view.choose(row.keys);
    });
    this.body.addEventListener("keydown", (event) => this.key(event, rowOf(event)));
  }

  key(event, row) {
    const way = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (event.key === "Enter" || event.key === " ") this.view.choose(row.keys);
    else if (!way) return;
    event.preventDefault();
    let next = way && row.line[way];
    while (next && next.classList.contains("off")) next = next[way];
    if (next) row.line.tabIndex = -1, next.tabIndex = 0, next.focus();
  }

  mark() {
    for (const { line, keys } of this.rows) {
      line.classList.toggle("hovered", this.view.isHovered(keys));
      line.classList.toggle("chosen", this.view.isChosen(keys));
    }
  }
  show() { for (const { line, keys } of this.rows) line.classList.toggle("off", !this.view.shows(keys)); }
}
