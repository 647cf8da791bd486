// Puts the views together, once every script of the page is known.

function startExplorer() {
  const sweep = readSweep();
  byId("empty").hidden = sweep.rows.length > 0;
  if (sweep.rows.length === 0) return;
  byId("views").hidden = false;
  const selection = new Selection(sweep), ramp = new Ramp(sweep);
  startPrinting();
  startFilter(sweep, selection);
  new Scatter(sweep, selection, ramp);
  new Details(sweep, selection);
  new Parallel(sweep, selection, ramp);
  new RowTable(sweep, selection);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && selection.pinned) selection.pin(selection.pinned);
  });
}

document.addEventListener("DOMContentLoaded", startExplorer);
