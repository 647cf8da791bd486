// One picture: marks that can be pointed at, chosen and gone through with the keyboard, and the note beside them.

const WAYS = { ArrowRight: ["x", 1], ArrowLeft: ["x", -1], ArrowDown: ["y", 1], ArrowUp: ["y", -1] };

/** Of the wide picture and the one for phones the one that is seen; the other one would only double all marks. */
function shownSheet(figure) {
  const sheets = [...(figure?.querySelectorAll("svg.picture") || [])], shown = sheets.find((svg) => svg.getClientRects().length > 0);
  for (const other of sheets) if (other !== shown) other.remove();
  if (shown) shown.id = shown.id.replace("-narrow", "");
  return shown;
}

class Picture {
  constructor(name, report, view) {
    Object.assign(this, { name, report, view, figure: byId(name + "-figure") });
    this.svg = shownSheet(this.figure);
    if (!this.svg) return;
    this.tip = new Tip(this.figure.querySelector(".stage"));
    this.marks = MARKS[name].flatMap((set) => [...this.svg.querySelectorAll(set.selector)].map((element) => this.mark(set, element)));
    this.byElement = new Map(this.marks.map((mark) => [mark.element, mark]));
    this.listen();
    this.offerStops();
    view.on("marked", () => this.show());
    view.on("shown", () => this.offerStops());
  }

  /** A thin line is hard to point at: a wide one that is not seen lies over it. */
  mark(set, element) {
    const mark = { ...set.of(this.report, element), element, isChoice: set.chosen === true };
    if (mark.isChoice) {
      fill(element, { role: "button", tabindex: -1, "aria-label": mark.words.title }, []);
    } else if (element.classList.contains("roof")) {
      const wide = element.cloneNode(false);
      fill(wide, { class: "hit", "data-roof": null, "aria-hidden": "true" }, []);
      element.after(wide);
      mark.wide = wide;
    }
    return mark;
  }

  listen() {
    this.svg.setAttribute("role", "group");
    for (const title of this.svg.querySelectorAll("title")) title.remove();
    for (const mark of this.marks) if (mark.wide) this.byElement.set(mark.wide, mark);
    this.svg.addEventListener("pointerover", (event) => this.point(this.markOf(event.target), event));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.svg.addEventListener("focusin", (event) => this.point(this.markOf(event.target)));
    this.svg.addEventListener("focusout", () => this.point(null));
    this.svg.addEventListener("click", (event) => this.choose(this.nextAt(event)));
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  markOf(target) {
    for (let at = target; at && at !== this.svg; at = at.parentNode) if (this.byElement.has(at)) return this.byElement.get(at);
    return null;
  }

  /** Marks that lie over each other, from the top. */
  heapAt({ clientX, clientY }) {
    const marks = document.elementsFromPoint(clientX, clientY).map((element) => this.markOf(element));
    return [...new Set(marks)].filter((mark) => mark?.isChoice);
  }
  /** Clicks on a heap go down through it. */
  nextAt(event) {
    const heap = this.heapAt(event), at = heap.findIndex((mark) => mark.keys[0] === this.view.chosen?.[0]);
    return at < 0 ? this.markOf(event.target) : heap[at + 1] || heap[at];
  }

  point(mark, event) {
    this.view.hover(mark?.keys || null);
    if (!mark) return this.tip.hide();
    const below = event ? this.heapAt(event).filter((one) => one !== mark).map((one) => one.words.title) : [];
    const facts = [...mark.words.words, ...(below.length ? [["below it", below.join(", ")]] : [])];
    const lines = facts.map(([name, value]) =>
      make("span", { class: "fact" }, make("i", {}, name), make("span", {}, shortened(value, 400))));
    const place = this.placeOf(mark, event);
    this.tip.show(...place, mark.words.title, lines);
    return this.keepInWindow(place[1]);
  }

  /** Above the mark where the window ends below it. */
  keepInWindow(y) {
    const { note } = this.tip, { top, bottom, height } = note.getBoundingClientRect();
    if (bottom > innerHeight && top - height - 28 > 0) note.style.top = y - 14 - height + "px";
  }

  /** Beside the middle of a mark; a line is as long as the picture, so that there it is beside the pointer. */
  placeOf(mark, event) {
    const all = this.figure.querySelector(".stage").getBoundingClientRect();
    if (!mark.isChoice && event) return [event.clientX - all.left, event.clientY - all.top];
    const box = (mark.element.querySelector(".mark") || mark.element).getBoundingClientRect();
    return [(box.left + box.right) / 2 - all.left, (box.top + box.bottom) / 2 - all.top];
  }

  choose(mark) {
    if (mark && !mark.isChoice) return;
    this.view.choose(mark ? mark.keys : null);
  }

  stops() { return this.marks.filter((mark) => mark.isChoice && !mark.element.classList.contains("off")); }

  /** One stop for the tab key, the heaviest; from there the arrows go on. */
  offerStops() {
    const stops = this.stops(), at = stops.find((mark) => mark.element.tabIndex === 0) || stops[0];
    for (const mark of this.marks) if (mark.isChoice) mark.element.setAttribute("tabindex", mark === at ? 0 : -1);
  }

  key(event) {
    const mark = this.markOf(event.target);
    if (!mark) return;
    if (event.key === "Enter" || event.key === " ") this.choose(mark);
    else if (WAYS[event.key]) this.go(mark, ...WAYS[event.key]);
    else return;
    event.preventDefault();
  }

  go(mark, axis, way) {
    const stops = this.stops(), place = new Map(stops.map((one) => [one, one.element.getBoundingClientRect()[axis]]));
    stops.sort((a, b) => place.get(a) - place.get(b));
    const next = stops[Math.min(stops.length - 1, Math.max(0, stops.indexOf(mark) + way))];
    for (const one of this.marks) if (one.isChoice) one.element.setAttribute("tabindex", one === next ? 0 : -1);
    next.element.focus();
  }

  show() {
    const has = this.marks.some((mark) => mark.isChoice && this.view.isChosen(mark.keys));
    this.svg.classList.toggle("has-chosen", has);
    for (const curve of this.svg.querySelectorAll(".bent[data-link]"))
      curve.classList.toggle("chosen", this.view.isChosen([`link:${curve.dataset.link}`]));
    for (const { element, keys, isChoice } of this.marks) {
      element.classList.toggle("hovered", this.view.isHovered(keys));
      element.classList.toggle("chosen", isChoice && this.view.isChosen(keys));
      if (isChoice) element.setAttribute("aria-pressed", this.view.isChosen(keys));
    }
  }
}
