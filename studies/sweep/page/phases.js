// Where the step goes and what memory holds: parts of a figure, with a colour each.

const PHASES = [["forward", "#2f6fb5"], ["backward", "#6aaee6"], ["pipeline_bubble", "#a9aeb8"], ["exposed_communication", "#d55e00"],
  ["gradient_sync", "#e69f00"], ["clip", "#8c6d31"], ["optimizer", "#009e73"], ["parameter_gather", "#c9b800"], ["host", "#cc79a7"],
  ["other", "#7a5195"]];
const MEMORY_PARTS = [["memory.weights", "#2f6fb5"], ["memory.gradients", "#e69f00"], ["memory.optimizer", "#009e73"],
  ["memory.activations", "#d55e00"]];
const TIME_SHARES = { whole: "step_time", parts: PHASES, rest: "not in a phase" };
const MEMORY_SHARES = { whole: "memory.peak", parts: MEMORY_PARTS, rest: "everything else" };
const REST_COLOUR = "#6b7280";

/** [{name, doc, colour, value}] of a row; the rest makes the whole full where it is more than rounding. */
function partsOf(sweep, row, { whole, parts, rest }) {
  const valueOf = (name) => sweep.figure(name).value(row) || 0;
  const list = parts.map(([name, colour]) => ({ name: sweep.figure(name).title, colour, doc: sweep.figure(name).doc, value: valueOf(name) }));
  const left = valueOf(whole) - list.reduce((sum, part) => sum + part.value, 0);
  const isReal = Math.abs(left) > 1e-3 * Math.abs(valueOf(whole));
  return [...list, { name: rest, colour: REST_COLOUR, doc: `${sweep.figure(whole).title} less the others`, value: isReal ? left : 0 }];
}

/** `full`: the value that takes the whole width. */
function stackBar(name, unit, parts, full) {
  const seen = parts.filter((part) => part.value > 0), words = (part) => `${part.name} ${figureText(unit, part.value)}`;
  const pieces = seen.map((part) =>
    make("i", { title: words(part), style: { width: (100 * part.value) / full + "%", background: part.colour } }));
  const label = `${name}: ${seen.map(words).join(", ")}`;
  return make("div", {}, make("span", { class: "stack-name" }, name),
    make("div", { class: "stack", role: "img", "aria-label": label }, ...pieces));
}

const sumOf = (parts) => parts.reduce((sum, part) => sum + Math.max(0, part.value), 0);
const swatch = (part) => make("i", { class: "swatch", style: { background: part.colour } });

function shareTable(heads, lines) {
  return make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head, i) => make("th", { scope: "col", class: i ? "n" : null }, head)))),
    make("tbody", {}, ...lines)));
}

/** A cell is a text, or {text, class}. */
const shareLine = (name, cells, options = {}) =>
  make("tr", options, make("th", { scope: "row" }, ...name),
    ...cells.map((cell) => make("td", { class: "n " + (cell.class || "") }, cell.text ?? cell)));

/** One row by itself. */
function sharesOf(sweep, row, shares) {
  const whole = sweep.figure(shares.whole), parts = partsOf(sweep, row, shares), total = whole.value(row);
  const lines = parts.filter((part) => part.value !== 0).map((part) => shareLine([swatch(part), part.name],
    [figureText(whole.unit, part.value), figureText("share", total ? part.value / total : null)], { title: part.doc }));
  lines.push(shareLine([whole.title], [whole.text(row), ""], { class: "sum" }));
  return [stackBar(whole.title, whole.unit, parts, sumOf(parts)), shareTable(["part", "", "share"], lines)];
}

function differenceCell(unit, value) {
  return { text: signedText(unit, value), class: value > 0 ? "slower" : value < 0 ? "faster" : "" };
}

/** Against the best, part by part, both bars to one scale. */
function sharesAgainst(sweep, row, best, shares) {
  const whole = sweep.figure(shares.whole), { unit } = whole;
  const [mine, its] = [row, best].map((one) => partsOf(sweep, one, shares));
  const full = Math.max(sumOf(mine), sumOf(its)), total = whole.value(row), least = whole.value(best);
  const pairs = mine.map((part, i) => [part, its[i].value]).filter(([part, other]) => part.value !== 0 || other !== 0);
  const lines = pairs.map(([part, other]) => shareLine([swatch(part), part.name],
    [figureText(unit, other), figureText(unit, part.value), differenceCell(unit, part.value - other)], { title: part.doc }));
  const more = total !== null && least ? `, ${percentText(total / least - 1)} against the best` : "";
  const sum = differenceCell(unit, (total || 0) - (least || 0));
  lines.push(shareLine([whole.title], [whole.text(best), whole.text(row), sum], { class: "sum" }));
  return [stackBar("best", unit, its, full), stackBar("pinned" + more, unit, mine, full),
    shareTable(["part", "best", "pinned", "change"], lines)];
}
