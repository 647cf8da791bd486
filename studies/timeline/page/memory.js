// Memory of the ranks over the window, by uPlot where the page has it; else the picture stays.

const GIB = 1024 ** 3, CHART_HEIGHT = 300;

/** [times, bytes from then on]: a forward takes, a whole backward or a weight gradient gives back. */
function memorySteps(scene, rank) {
  const { kept, always } = scene.data, changes = [];
  for (let i = 0; i < rank.count; ++i) {
    const bytes = kept[rank.stage[i]];
    if (rank.kind[i] === 0) changes.push([rank.start[i], bytes]);
    if (rank.kind[i] === 1 || rank.kind[i] === 3) changes.push([rank.end[i], -bytes]);
  }
  changes.sort((a, b) => a[0] - b[0]);
  let held = always[rank.number] || 0;
  const times = [0], bytes = [held];
  for (const [time, change] of changes) times.push(time), bytes.push((held += change));
  return { times, bytes };
}

/** The most of each column, so that no peak is lost. */
function memoryColumns({ times, bytes }, from, to, columns) {
  const values = [], column = (to - from) / columns;
  for (let i = firstAbove(times, from) - 1, x = 0; x <= columns; ++x) {
    let most = bytes[Math.max(i, 0)];
    while (i + 1 < times.length && times[i + 1] < from + (x + 1) * column) most = Math.max(most, bytes[++i]);
    values.push(most / GIB);
  }
  return values;
}

class MemoryChart {
  constructor(scene, view) {
    Object.assign(this, { scene, view, box: byId("memory-chart") });
    const curves = [...document.querySelectorAll("#memory-picture .wide .curve[data-rank]")];
    this.curves = curves.map((path, number) => ({ number, rank: scene.ranks[Number(path.dataset.rank)] }));
    for (const curve of this.curves) curve.steps = memorySteps(scene, curve.rank);
    this.most = 1.06 * Math.max(scene.data.capacity / GIB, ...curves.map((path) => Number(path.dataset.peakBytes) / GIB));
    this.box.hidden = false;
    document.documentElement.classList.add("charted");
    this.build();
    const rebuild = oncePerFrame(() => this.build());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", rebuild);
    new ResizeObserver(() => { if (this.box.clientWidth !== this.plot.width) rebuild(); }).observe(this.box);
    view.on(oncePerFrame(() => this.plot.setData(this.columns())));
  }

  columns() {
    const { from, to } = this.view, n = Math.max(100, Math.min(1200, this.box.clientWidth));
    const places = Array.from({ length: n + 1 }, (_, i) => from + (i * (to - from)) / n);
    const limit = this.scene.data.capacity > 0 ? [places.map(() => this.scene.data.capacity / GIB)] : [];
    return [places, ...this.curves.map((curve) => memoryColumns(curve.steps, from, to, n)), ...limit];
  }

  build() {
    this.plot?.destroy();
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
    const [ink, line] = [colour("--ink"), colour("--line")];
    const stroke = (number) => getComputedStyle(document.querySelector(`#memory-picture .m${number}`)).stroke;
    const amount = (_, value) => (value === null ? "-" : `${value.toFixed(value < 9.995 ? 2 : 1)} GiB`);
    const series = this.curves.map((curve) => ({
      label: this.scene.rankName(curve.rank), stroke: stroke(curve.number), width: 1.5, value: amount,
      paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } }));
    if (this.scene.data.capacity > 0) series.push({ label: "capacity", stroke: colour("--out"), width: 1.5, dash: [6, 4], value: amount,
      points: { show: false } });
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const moments = (_, list) => list.map((time) => momentText(time, list.length > 1 ? list[1] - list[0] : 1));
    this.plot = new uPlot({
      width: this.box.clientWidth, height: CHART_HEIGHT,
      scales: { x: { time: false, range: () => [this.view.from, this.view.to] }, y: { range: [0, this.most] } },
      axes: [{ ...axis, values: moments, space: 100 }, { ...axis, values: (_, list) => list.map((value) => `${value} GiB`), size: 68 }],
      series: [{ label: "time", value: (_, time) => (time === null ? "-" : momentText(time, stepOf(this.view.span))) }, ...series],
      cursor: { drag: { x: true, y: false, setScale: false } },
      hooks: { setSelect: [(plot) => this.choose(plot)] },
    }, this.columns(), this.box);
  }
  /** A stretch that was dragged over becomes the window. */
  choose(plot) {
    const { left, width } = plot.select;
    if (width < 4) return;
    const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, width: 0 }, false);
    this.view.set(from, to);
  }
}
