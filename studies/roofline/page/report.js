// The report as the page holds it: the document of `-o report.json`, with what the pictures and tables call their marks.

class Report {
  constructor(data) {
    Object.assign(this, { data, kernels: data.kernel_roofline, network: data.network_roofline, dataflow: data.dataflow });
    this.points = this.kernels.points.map((point, id) => ({ ...point, id, form: passForm(point.pass) }));
    this.loose = this.kernels.other_measurements;
    this.links = this.network.points;
    this.bars = data.waterfall.bars;
  }
  /** Number of the dataflow view's row of an operator, -1 where it has none. */
  dataflowOf(point) {
    return this.dataflow.findIndex((row) => ["block", "name", "pass", "shape"].every((key) => row[key] === point[key]));
  }
  /** Those that limit the run's multiply-adds, or the named one. */
  typesOf(precision) {
    if (precision !== "run") return [precision];
    return [this.data.precision, ...this.points.filter((point) => point.flops > 0).map((point) => point.precision)];
  }
  /** Part of the step that these points are. */
  share(points) { return points.reduce((sum, point) => sum + point.share, 0); }
}

/** Both halves of a backward pass have one shape. */
const passForm = (pass) => ({ input_grad: "backward", weight_grad: "backward" })[pass] || pass;

const readReport = () => new Report(JSON.parse(byId("data").textContent));
