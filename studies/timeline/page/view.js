// Which part of the step is in sight, and times as text.

class View {
  constructor(end) {
    Object.assign(this, { from: 0, to: end, end, listeners: [] });
    this.least = Math.max(end * 1e-9, 0.02);
  }
  on(listener) { this.listeners.push(listener); }
  get span() { return this.to - this.from; }
  get isWhole() { return this.from <= 0 && this.to >= this.end; }
  set(from, to) {
    const span = Math.min(Math.max(to - from, this.least), this.end), middle = (from + to) / 2;
    const start = Math.min(Math.max(to - from === span ? from : middle - span / 2, 0), this.end - span);
    if (start === this.from && start + span === this.to) return false;
    [this.from, this.to] = [start, start + span];
    for (const listener of this.listeners) listener();
    return true;
  }
  /** What is at the moment `at` stays where it is. */
  zoom(factor, at = (this.from + this.to) / 2) {
    const span = Math.min(Math.max(this.span * factor, this.least), this.end), share = (at - this.from) / this.span;
    return this.set(at - share * span, at - share * span + span);
  }
  pan(share) { return this.set(this.from + share * this.span, this.to + share * this.span); }
  reset() { return this.set(0, this.end); }
  /** In the middle of the window, with room around. */
  show(from, to) { const room = Math.max((to - from) * 1.5, this.least); this.set(from - room, to + room); }
}

const TIME_UNITS = [[1e6, "s"], [1e3, "ms"], [1, "\u00b5s"]];

/** Digits behind the point that tell multiples of `step` apart; 0.25 needs two. */
function digitsFor(step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), tens = step * 10 ** digits;
  return Math.abs(tens - Math.round(tens)) > 1e-6 ? digits + 1 : digits;
}

/** A moment as exactly as `step` needs it, in the largest unit that needs no more than four digits behind the point. */
function momentText(time, step) {
  const [size, name] = TIME_UNITS.find(([size]) => digitsFor(step / size) <= 4) || TIME_UNITS[2];
  const digits = Math.min(6, digitsFor(step / size));
  return `${(time / size).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${name}`;
}
const lengthText = (time) => figureText("seconds", time * 1e-6);
/** Steps of powers of ten, a few hundred of which are the window. */
const stepOf = (span) => 10 ** Math.floor(Math.log10(span / 200));
const rangeText = (from, to) => `${momentText(from, stepOf(to - from))} to ${momentText(to, stepOf(to - from))}`;

/** Colours of the style sheet. */
class Palette {
  constructor() { this.colours = new Map(); }
  get(name) {
    if (!this.colours.has(name)) this.colours.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
    return this.colours.get(name);
  }
  forget() { this.colours.clear(); }
}
