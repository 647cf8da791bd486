// Where the time of the window goes, rank by rank: sums of what is drawn, cut at the window's ends.

const SUM_KEYS = ["forward", "backward", "waiting"];
const SHOWN_SUMS = [...SUM_KEYS, "held", "bubble", "around"];  // as the columns stand

/** Microseconds; they sum to the window. */
function windowSums(scene, rank, from, to) {
  const sums = { forward: 0, backward: 0, waiting: 0, busy: 0, held: 0 };
  const first = firstAbove(rank.end, from), last = firstAbove(rank.start, to);
  const isCut = (i) => rank.start[i] < from || rank.end[i] > to;
  let [whole, end] = [first, last];
  while (whole < last && isCut(whole)) addCut(sums, rank, whole++, from, to);
  while (end > whole && isCut(end - 1)) addCut(sums, rank, --end, from, to);
  for (const key of [...SUM_KEYS, "busy"]) sums[key] += rank[key][end] - rank[key][whole];
  sums.around = scene.stretches.reduce((sum, one) => sum + Math.max(0, Math.min(one.end, to) - Math.max(one.start, from)), 0);
  for (const { start, end } of holdsWithin(rank, from, to)) sums.held += Math.min(end, to) - Math.max(start, from);
  sums.bubble = Math.max(0, to - from - sums.busy - sums.held - sums.around);
  return sums;
}

function holdsWithin({ holds }, from, to) {
  return holds.spans.slice(firstAbove(holds.end, from), firstAbove(holds.start, to));
}

function addCut(sums, rank, i, from, to) {
  const start = rank.start[i], stretch = rank.stretch(i);
  const time = Math.max(0, Math.min(rank.end[i], to) - Math.max(start, from));
  sums.busy += time;
  if (stretch <= 0) return;
  const inside = rank.inside[i].sumsWithin((from - start) / stretch, (to - start) / stretch);
  for (const key of SUM_KEYS) sums[key] += inside[key] * stretch;
}

class Summary {
  constructor(scene, view) {
    Object.assign(this, { scene, view, said: byId("window-said") });
    this.lines = [...byId("window-table").querySelectorAll("tbody tr")].map((line) => [...line.children]);
    let waiting = 0;
    view.on(() => { clearTimeout(waiting); waiting = setTimeout(() => this.fill(), 80); });
    this.fill();
  }
  fill() {
    const { from, to, span } = this.view;
    this.said.textContent = this.view.isWhole ? `Over the whole step of ${lengthText(to)}.`
      : `From ${rangeText(from, to)}: a window of ${lengthText(span)}.`;
    this.lines.forEach(([head, ...cells], number) => {
      const sums = windowSums(this.scene, this.scene.ranks[number], from, to);
      SHOWN_SUMS.forEach((key, i) => {
        cells[i].textContent = lengthText(sums[key]);
        cells[i].dataset.us = sums[key];
      });
      cells[SHOWN_SUMS.length].textContent = figureText("share", (sums.forward + sums.backward) / span);
    });
  }
}
