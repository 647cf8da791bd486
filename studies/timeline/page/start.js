// Puts the views together, once every script of the page is known.

function startFilters(filters, tracks) {
  const box = byId("filters");
  for (const { key, name } of FILTERS)
    box.append(make("label", {}, make("input", { type: "checkbox", checked: true, value: key, onchange: (event) => {
      if (event.target.checked) filters.add(key);
      else filters.delete(key);
      tracks.change();
    } }), " ", name));
}

function startButtons(view, tracks) {
  const on = (name, work) => byId(name).addEventListener("click", work);
  on("zoom-in", () => view.zoom(1 / ZOOM_STEP));
  on("zoom-out", () => view.zoom(ZOOM_STEP));
  on("zoom-reset", () => view.reset());
  on("unfold", () => tracks.foldAll(true));
  on("fold", () => tracks.foldAll(false));
  const say = () => {
    const step = stepOf(view.span), at = (time) => momentText(time, step);
    const ends = view.isWhole ? ["whole step", ""] : [at(view.from), `to ${at(view.to)}`];
    byId("range-said").replaceChildren(make("b", {}, lengthText(view.span)), ...ends.map((text) => make("span", {}, text)));
    byId("zoom-out").disabled = byId("zoom-reset").disabled = view.isWhole;
  };
  view.on(say);
  say();
}

function startTimeline() {
  const scene = readScene();
  byId("views").hidden = false;
  document.documentElement.classList.add("zoomable");
  const view = new View(scene.end), palette = new Palette(), filters = new Set(FILTERS.map((filter) => filter.key));
  const tracks = new Tracks(scene, filters), painter = new Painter(scene, palette, filters), picker = new Picker(scene, filters);
  const chart = new Chart(scene, view, tracks, painter, palette), details = new Details(scene, view, chart);
  chart.drawNow();  // who points at it before the first frame finds it there
  new Minimap(scene, view, chart, palette);
  new Summary(scene, view);
  startFilters(filters, tracks);
  startButtons(view, tracks);
  new Finder(scene, view, chart, picker, tracks, (box) => details.pin(box));
  new PointerInput(view, chart, picker, new Tip(byId("timeline")), details);
  new KeyInput(view, chart, picker, details);
  if (typeof uPlot !== "undefined") new MemoryChart(scene, view);
}

document.addEventListener("DOMContentLoaded", startTimeline);
