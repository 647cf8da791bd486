// The kernel picture as the controls want it: which bytes a point is placed by, which roofs and which points are seen.

const OFFSET = /translate\(\s*([-\d.e]+)[ ,]+([-\d.e]+)\s*\)/;
const ARROW_ROOM = 10;

class KernelLevels {
  constructor(report, view, picture) {
    Object.assign(this, { report, view, svg: picture.svg, plane: new Plane(picture.svg) });
    this.points = [...this.svg.querySelectorAll("g.point[data-point]")].map((element) => this.point(element));
    this.joined = [...this.svg.querySelectorAll(".joined[data-point], .joined-end[data-point]")];
    this.compute = this.parts(".compute[data-roof]", (part) => report.kernels.compute_roofs[part.dataset.roof]);
    this.memory = this.parts(".memory[data-roof]", (part) => report.kernels.memory_roofs[part.dataset.roof]);
    this.ridges = this.parts(".ridge[data-ridge]", (part) => report.kernels.ridges[part.dataset.ridge]);
    this.labels = [...this.svg.querySelectorAll(".labels")];
    this.names = [...this.svg.querySelectorAll("[data-points]")].map((element) => (
      { element, points: element.dataset.points.split(" ").map((id) => report.points[id]) }));
    view.on("shown", () => this.show());
    view.on("marked", () => this.join());
    this.show();
    this.join();
  }
  parts(selector, of) { return [...this.svg.querySelectorAll(selector)].map((element) => ({ element, roof: of(element) })); }

  /** A point where it was drawn, by HBM bytes; and where its arrow would point by L2 bytes. */
  point(element) {
    const [, x, y] = OFFSET.exec(element.getAttribute("transform")), point = this.report.points[element.dataset.point];
    const radius = element.querySelector(".forecast").getBBox().width / 2;
    return { element, point, radius, x: Number(x), y: Number(y), arrow: element.querySelector(":scope > .arrow"), far: null };
  }

  show() {
    for (const one of this.points) this.place(one);
    const { level, mainType } = this.view;
    for (const { element, roof } of [...this.compute, ...this.ridges]) {
      element.classList.toggle("off", !this.showsBasis(roof) || !this.view.showsType(roof.precision));
      element.classList.toggle("main", roof.precision === mainType);
      element.classList.toggle("quiet", roof.precision !== mainType);
    }
    for (const { element, roof } of this.memory) element.classList.toggle("off", !this.showsBasis(roof));
    for (const one of this.labels) one.style.display = (one.dataset.level === "l2") === (level === "l2") ? "inline" : "none";
    for (const { element, points } of this.names) element.classList.toggle("off", !points.some((point) => this.view.showsPoint(point)));
    for (const { element, roof } of [...this.memory, ...this.ridges])
      element.classList.toggle("aside", level !== "both" && roof.level.toLowerCase() !== level);
  }

  /** Lines from the place by HBM to that by L2: all of them on request, and always that of the chosen point. */
  join() {
    const isAside = this.svg.classList.contains("has-chosen");
    for (const line of this.joined) {
      const point = this.report.points[line.dataset.point], isChosen = this.view.isChosen([`point:${point.id}`]);
      line.classList.toggle("off", !(isChosen || this.view.level === "both") || !this.view.showsPoint(point));
      line.classList.toggle("aside", isAside && !isChosen);
    }
  }

  showsBasis(roof) {
    const isMeasured = roof.basis !== "datasheet" && roof.basis !== "assumed";
    return isMeasured ? this.view.measured : this.view.datasheet;
  }

  /**
   * Without FLOPs there is no place by L2, and what lies beyond the frame by both has its place at the edge: these stay. What only L2
   * brings beyond it goes to the edge.
   */
  place(one) {
    const { element, point, radius } = one, byL2 = point.l2_flops_per_byte, way = byL2 > 0 ? this.plane.beyondX(byL2) : 0;
    const isMoved = this.view.level === "l2" && byL2 > 0 && (way === 0 || one.arrow === null);
    const edge = way < 0 ? this.plane.left + radius + ARROW_ROOM : this.plane.right - radius - ARROW_ROOM;
    const x = !isMoved ? one.x : way === 0 ? this.plane.x(byL2) : edge;
    element.setAttribute("transform", `translate(${x} ${one.y})`);
    element.classList.toggle("off", !this.view.showsPoint(point));
    element.classList.toggle("outside", isMoved ? way !== 0 || this.plane.beyondY(point.rate_flops_per_s) !== 0 : one.arrow !== null);
    one.arrow?.classList.toggle("off", isMoved);
    one.far?.remove();
    one.far = isMoved ? this.farArrow(radius, way, this.plane.beyondY(point.rate_flops_per_s)) : null;
    if (one.far) element.append(one.far);
  }

  farArrow(radius, right, down) {
    if (right === 0 && down === 0) return null;
    const turn = (Math.atan2(down, right) * 180) / Math.PI;
    return draw("path", { class: "arrow", transform: `rotate(${turn})`, d: `M${radius + 2} -4l7 4l-7 4Z` });
  }
}
