// The kernel picture as the controls want it: which bytes a point is placed by, which roofs and which points are seen.

const OFFSET = /translate\(\s*([-\d.e]+)[ ,]+([-\d.e]+)\s*\)/;

class KernelLevels {
  constructor(report, view, picture) {
    Object.assign(this, { report, view, svg: picture.svg, plane: new Plane(picture.svg) });
    this.points = [...this.svg.querySelectorAll("g.point")].map((element) => {
      const [, x, y] = OFFSET.exec(element.getAttribute("transform"));
      return { element, point: report.points[element.dataset.point], x: Number(x), y: Number(y) };
    });
    this.joined = [...this.svg.querySelectorAll(".joined, .joined-end")];
    this.compute = this.parts(".compute[data-roof]", (part) => report.kernels.compute_roofs[part.dataset.roof]);
    this.memory = this.parts(".memory[data-roof]", (part) => report.kernels.memory_roofs[part.dataset.roof]);
    this.ridges = this.parts(".ridge", (part) => report.kernels.ridges[part.dataset.ridge]);
    view.on("shown", () => this.show());
    this.show();
  }
  parts(selector, of) { return [...this.svg.querySelectorAll(selector)].map((element) => ({ element, roof: of(element) })); }

  show() {
    for (const one of this.points) this.place(one);
    for (const line of this.joined) {
      const { element, point } = this.points.find((one) => one.element.dataset.point === line.dataset.point);
      line.classList.toggle("off", this.view.level !== "both" || element.classList.contains("off") || point.outside !== "");
    }
    const { precision, level } = this.view;
    for (const { element, roof } of [...this.compute, ...this.ridges])
      element.classList.toggle("off", !this.showsBasis(roof) || (precision !== "all" && roof.precision !== precision));
    for (const { element, roof } of this.memory) element.classList.toggle("off", !this.showsBasis(roof));
    for (const { element, roof } of [...this.memory, ...this.ridges])
      element.classList.toggle("aside", level !== "both" && roof.level.toLowerCase() !== level);
  }

  showsBasis(roof) {
    const isMeasured = roof.basis !== "datasheet" && roof.basis !== "assumed";
    return isMeasured ? this.view.measured : this.view.datasheet;
  }

  /** A point without a place at this level stays at the frame's edge where it was drawn, or goes to the edge, with an arrow. */
  place({ element, point, x, y }) {
    const value = this.view.level === "l2" ? point.l2_flops_per_byte : point.hbm_flops_per_byte;
    const isMoved = this.view.level === "l2" && value > 0 && point.flops > 0;
    const edge = value < 10 ** this.plane.xLow ? this.plane.left : this.plane.right, isInside = this.plane.holdsX(value);
    const at = !isMoved ? x : isInside ? this.plane.x(value) : edge;
    element.setAttribute("transform", `translate(${at} ${y})`);
    element.classList.toggle("beyond", isMoved && !isInside);
    element.classList.toggle("off", !this.view.showsPoint(point));
  }
}
