// Puts the page together, once every script of it is known.

function startRoofline() {
  const report = readReport(), view = new View(report);
  document.documentElement.classList.add("live");
  const pictures = Object.keys(MARKS).map((name) => new Picture(name, report, view)).filter((picture) => picture.svg);
  const kernel = pictures.find((picture) => picture.name === "kernel");
  new Controls(report, view, kernel);
  new KernelLevels(report, view, kernel);
  for (const id of Object.keys(TABLES)) new RowTable(id, report, view);
  new ChosenLine(view);
  pictures.forEach(offerSaving);
  const marks = pictures.flatMap((picture) => picture.marks.filter((mark) => mark.isChoice));
  readAddress(view, (key) => marks.find((mark) => mark.keys[0] === key)?.keys);
  keepAddress(view);
  unfoldForPrint();
  keepSheet();
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const picture of pictures) picture.tip.hide();
    view.choose(null);
  });
}

/** The picture of the other sheet is in the file, and the address keeps the view. Passing changes, as for a print, do not count. */
function keepSheet() {
  const narrow = matchMedia("screen and (max-width:600px)"), isNarrow = narrow.matches;
  narrow.addEventListener("change", () => setTimeout(() => { if (narrow.matches !== isNarrow) location.reload(); }, 300));
}

document.addEventListener("DOMContentLoaded", startRoofline);
