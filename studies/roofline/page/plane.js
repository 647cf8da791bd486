// The logarithmic plane of a picture, as its attributes say it: the formula of studies/roofline/plane.h.

class Plane {
  constructor(svg) {
    for (const key of ["xLow", "xHigh", "yLow", "yHigh", "left", "top", "width", "height"]) this[key] = Number(svg.dataset[key]);
  }
  x(value) { return this.left + (this.width * (Math.log10(value) - this.xLow)) / (this.xHigh - this.xLow); }
  y(value) { return this.top + (this.height * (this.yHigh - Math.log10(value))) / (this.yHigh - this.yLow); }
  get right() { return this.left + this.width; }
  holdsX(value) { return value > 0 && this.x(value) >= this.left && this.x(value) <= this.right; }
}
