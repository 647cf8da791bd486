// The result as the page holds it: rows, best first, and the columns that they can be asked for.

class Sweep {
  constructor(data) {
    this.data = data;
    this.axes = data.axes.map((axis, place) => new AxisColumn(axis, place));
    this.figures = data.figures.map((figure, place) => new FigureColumn(figure, place));
    this.rows = data.rows.index.map((index, id) => ({
      id, index, rank: data.rows.rank[id], front: data.rows.front[id] === 1,
      choices: data.rows.choices.map((column) => column[id]),
      figures: data.rows.figures.map((column) => column[id]),
    }));
    this.objective = this.findFigure(data.objective) || this.figure("step_time");
  }
  /** By its own name, which the page's scripts know. */
  figure(name) { return this.figures.find((figure) => figure.name === name); }
  /** By any name that the command line takes. */
  findFigure(name) {
    const plain = name.toLowerCase().replaceAll("-", "_");
    return this.figures.find((f) => [f.name, f.alias, f.key, f.name.replace(".", "_")].includes(plain));
  }
  findAxis(name) {
    const plain = name.toLowerCase().replaceAll("-", "_");
    return this.axes.find((axis) => axis.key.toLowerCase() === plain);
  }
  get best() { return this.rows[0]; }
  get varyingAxes() { return this.axes.filter((axis) => axis.varies); }
  isKnown(figure) { return this.rows.some((row) => figure.value(row) !== null); }
  /** "tp 8, pp 4" */
  title(row) {
    return this.varyingAxes.map((axis) => `${axis.title} ${shortened(axis.text(row), 30)}`).join(", ") || `configuration ${row.index}`;
  }
}

const readSweep = () => new Sweep(JSON.parse(byId("data").textContent));
