// The kinds of marks: where they stand, what they are called, and what is said of them.

const keysOfPoint = (report, point) => {
  const row = report.dataflowOf(point);
  return row < 0 ? [`point:${point.id}`] : [`point:${point.id}`, `operator:${row}`];
};
const keysOfCrossing = (operator, boundary) => [`crossing:${operator}.${boundary}`, `operator:${operator}`];

function roofOf(report, element) {
  const kernels = report.kernels, id = Number(element.dataset.roof);
  if (element.classList.contains("compute")) return kernels.compute_roofs[id];
  return element.classList.contains("memory") ? kernels.memory_roofs[id] : report.network.link_roofs[id];
}

/** selector, and from an element of the picture to {keys, words}. `chosen`: a click isolates it. */
const MARKS = {
  kernel: [
    { selector: "g.point[data-point]", chosen: true, of: (report, element) => {
      const point = report.points[element.dataset.point];
      return { keys: keysOfPoint(report, point), words: pointWords(point) };
    } },
    { selector: "g.loose[data-loose]", chosen: true, of: (report, element) => (
      { keys: [`loose:${element.dataset.loose}`], words: looseWords(report.loose[element.dataset.loose]) }) },
    { selector: "g.ridge[data-ridge]", of: (report, element) => (
      { keys: [`ridge:${element.dataset.ridge}`], words: ridgeWords(report.kernels.ridges[element.dataset.ridge]) }) },
    { selector: ".roof[data-roof]", of: roofMark },
  ],
  network: [
    { selector: "g.link-point[data-link]", chosen: true, of: (report, element) => (
      { keys: [`link:${element.dataset.link}`], words: linkWords(report.links[element.dataset.link]) }) },
    { selector: ".roof[data-roof]", of: roofMark },
  ],
  dataflow: [
    { selector: "g.crossing[data-operator]", chosen: true, of: (report, element) => {
      const { operator, boundary } = element.dataset, one = report.dataflow[operator];
      return { keys: keysOfCrossing(operator, boundary), words: crossingWords(one, one.boundaries[boundary]) };
    } },
  ],
  step: [
    { selector: "g.bar[data-bar]", chosen: true, of: (report, element) => (
      { keys: [`bar:${element.dataset.bar}`],
        words: barWords(report.bars[element.dataset.bar], report.data.waterfall.step_time_s) }) },
  ],
};

function roofMark(report, element) {
  const level = ["compute", "memory", "link"].find((one) => element.classList.contains(one));
  return { keys: [`${level}-roof:${element.dataset.roof}`], words: roofWords(roofOf(report, element)) };
}
