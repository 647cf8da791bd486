// Through the spans of a row that are in sight. Those too small to see are passed over in steps of a pixel, so that the work depends
// on the width of the picture and not on how many there are.

/** `each(i, x, width, isMany)` for rising lists of starts and ends; `place` has from, to, at(time) and time(x). */
function walkSpans(start, end, place, each) {
  const n = start.length;
  for (let i = firstAbove(end, place.from); i < n && start[i] < place.to;) {
    const x = place.at(start[i]), width = place.at(end[i]) - x;
    if (width >= 1) {
      each(i, x, width, false);
      ++i;
      continue;
    }
    const next = Math.max(i + 1, firstAbove(end, place.time(x + 1), i));
    each(i, x, Math.max(0.6, Math.min(1, place.at(end[next - 1]) - x)), next - i > 1);
    i = next;
  }
}

/** The window, on a width of pixels. */
class Place {
  constructor(view, width) { Object.assign(this, { from: view.from, to: view.to, width, scale: width / view.span }); }
  at(time) { return (time - this.from) * this.scale; }
  time(x) { return this.from + x / this.scale; }
  /** The same for times that run from `start` and are stretched. */
  within(start, stretch) {
    return { from: (this.from - start) / stretch, to: (this.to - start) / stretch,
      at: (time) => this.at(start + time * stretch), time: (x) => (this.time(x) - start) / stretch };
  }
}
