// Colours by the objective: the best is the strongest.

const RAMP_STEPS = 48;

const rgbOf = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** Of the style sheet's five colours, RAMP_STEPS between them. */
function rampColours() {
  const stops = [0, 1, 2, 3, 4].map((i) => rgbOf(styleColour("--c" + i)));
  return Array.from({ length: RAMP_STEPS }, (_, step) => {
    const at = (4 * step) / (RAMP_STEPS - 1), i = Math.min(3, Math.floor(at));
    return `rgb(${stops[i].map((low, part) => Math.round(low + (at - i) * (stops[i + 1][part] - low))).join(",")})`;
  });
}

class Ramp {
  constructor(sweep) {
    this.figure = sweep.objective;
    const bad = sweep.rows.map((row) => this.figure.badness(row)).filter(Number.isFinite);
    this.low = bad.reduce((a, b) => Math.min(a, b), Infinity);
    this.high = bad.reduce((a, b) => Math.max(a, b), -Infinity);
  }
  /** The square root spreads the many that are nearly as good as the best. */
  step(row) {
    const bad = this.figure.badness(row);
    if (!Number.isFinite(bad)) return RAMP_STEPS - 1;
    return this.high > this.low ? Math.round(Math.sqrt((bad - this.low) / (this.high - this.low)) * (RAMP_STEPS - 1)) : 0;
  }
  legend() {
    const text = (bad) => figureText(this.figure.unit, Number.isFinite(bad) ? (this.figure.more ? -bad : bad) : null);
    return [`${this.figure.title}: ${text(this.low)}`, make("i"), text(this.high)];
  }
}
