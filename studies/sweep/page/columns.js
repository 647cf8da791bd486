// What a row can be asked for: its choice on an axis, or a figure of its forecast. Both give a text and a number to draw by.

const isNumber = (text) => /^[0-9]+(\.[0-9]+)?$/.test(text);

/** Drawn in even steps, for most choices are powers of two or words. */
class AxisColumn {
  constructor(axis, place) {
    this.kind = "axis";
    this.key = axis.key;
    this.title = axis.title;
    this.doc = `choice of ${axis.title}; in the filter: ${axis.key}`;
    this.place = place;
    this.offered = axis.offered;
    this.numeric = axis.values.length > 0 && axis.values.every(isNumber);
    const values = axis.values.map((text, number) => ({ text, number }));
    if (this.numeric) values.sort((a, b) => Number(a.text) - Number(b.text));
    this.texts = values.map((value) => value.text);
    this.steps = [];
    values.forEach((value, step) => { this.steps[value.number] = step; });
  }
  value(row) { return this.steps[row.choices[this.place]]; }
  text(row) { return this.texts[this.value(row)]; }
  get varies() { return this.texts.length > 1; }
  /** The question offered several, although all rows may have chosen one. */
  get isChoice() { return this.offered > 1 || this.varies; }
}

/** In base units; null where it is not known. */
class FigureColumn {
  constructor(figure, place) {
    Object.assign(this, figure, { kind: "figure", place, doc: `${figure.doc}; in the filter: ${figure.name}` });
  }
  value(row) { return row.figures[this.place]; }
  text(row) { return figureText(this.unit, this.value(row)); }
  /** Less is better, whatever the figure. */
  badness(row) {
    const value = this.value(row);
    return value === null ? Infinity : this.more ? -value : value;
  }
}

// How the range of the step time carries over: in proportion, or the other way round.
const SPREAD = { step_time: 1, cost: 1, tokens_per_s_per_gpu: -1, mfu: -1, hfu: -1 };

/** [low, high] between the 10th and 90th percentile of the step time, or null. */
function spreadOf(sweep, column, row) {
  const power = column.kind === "figure" ? SPREAD[column.name] : undefined;
  const [step, p10, p90] = ["step_time", "p10", "p90"].map((name) => sweep.figure(name).value(row));
  const value = column.value(row);
  if (power === undefined || value === null || !(step > 0) || !(p10 > 0) || !(p90 > 0)) return null;
  return [value * (p10 / step) ** power, value * (p90 / step) ** power].sort((a, b) => a - b);
}
