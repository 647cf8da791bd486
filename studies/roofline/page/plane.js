// The logarithmic plane of a picture, as its attributes say it: the formula of studies/roofline/draw/plane.h.

class Plane {
  constructor(svg) {
    for (const key of ["xLow", "xHigh", "yLow", "yHigh", "left", "top", "width", "height"]) this[key] = Number(svg.dataset[key]);
  }
  x(value) { return this.left + (this.width * (Math.log10(value) - this.xLow)) / (this.xHigh - this.xLow); }
  y(value) { return this.top + (this.height * (this.yHigh - Math.log10(value))) / (this.yHigh - this.yLow); }
  get right() { return this.left + this.width; }
  /** -1: left of the frame, 1: right of it. */
  beyondX(value) { return Math.log10(value) < this.xLow ? -1 : Math.log10(value) > this.xHigh ? 1 : 0; }
  /** -1: above the frame, 1: below it. */
  beyondY(value) { return Math.log10(value) > this.yHigh ? -1 : Math.log10(value) < this.yLow ? 1 : 0; }
}
