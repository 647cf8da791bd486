// The controls above the kernel picture.

class Controls {
  constructor(report, view, picture) {
    Object.assign(this, { report, view, picture, box: byId("controls"), chips: [] });
    this.box.hidden = false;
    this.offer();
    this.listen();
    view.on("shown", () => this.show());
    this.show();
  }

  offer() {
    const types = [...new Set(this.report.kernels.compute_roofs.map((roof) => roof.precision))];
    const offered = [["run", "this run's"], ...types.map((type) => [type, type]), ["all", "all"]];
    byId("precision").replaceChildren(...offered.map(([value, text]) => make("option", { value }, text)));
    byId("heaviest").max = this.report.points.length;
    this.offerChips("kinds", "kind", (point) => point.kind);
    this.offerChips("passes", "pass", (point) => point.form);
  }

  /** One per kind that occurs, heaviest first, with its part of the step. */
  offerChips(id, word, of) {
    const names = [...new Set(this.report.points.map(of))], group = names.map((name) => `${word} ${name}`);
    byId(id).replaceChildren(...names.map((name, at) => {
      const points = this.report.points.filter((point) => of(point) === name), said = word === "kind" ? kindName(points[0]) : name;
      const box = make("input", { type: "checkbox", "aria-label": `show ${said}`,
        onchange: (event) => this.view.turn(group[at], event.target.checked) });
      this.chips.push({ box, word: group[at] });
      const icon = word === "kind" ? kindIcon(name) : this.passIcon(name, points[0]);
      return make("span", { class: "chip", "data-chip": group[at] }, box,
        make("button", { type: "button", title: `${said} alone; again: all`, onclick: () => this.view.only(group[at], group) },
          icon, said, " ", make("span", { class: "soft" }, shareText(this.report.share(points)))));
    }));
  }

  /** The mark's outline, as the picture draws it. */
  passIcon(name, point) {
    const drawn = this.picture.svg.querySelector(`g.point[data-point="${point.id}"] .forecast`), box = drawn.getBBox();
    const room = 1.3 * Math.max(box.width, box.height), left = box.x + box.width / 2 - room / 2, top = box.y + box.height / 2 - room / 2;
    const mark = drawn.cloneNode(true);
    mark.style.vectorEffect = "non-scaling-stroke";
    return draw("svg", { class: "picture icon", viewBox: `${left} ${top} ${room} ${room}`, "aria-hidden": "true" },
      draw("g", { class: "legend" }, mark));
  }

  listen() {
    for (const radio of this.levels()) radio.addEventListener("change", () => this.view.set({ level: radio.value }));
    byId("precision").addEventListener("change", (event) => this.view.set({ precision: event.target.value }));
    for (const basis of ["datasheet", "measured"])
      byId(basis).addEventListener("change", (event) => this.view.set({ [basis]: event.target.checked }));
    byId("heaviest").addEventListener("input", (event) => this.view.set({ heaviest: Number(event.target.value) }));
    byId("reset").addEventListener("click", () => this.view.reset());
  }
  levels() { return this.box.querySelectorAll("input[name=level]"); }

  show() {
    const { view, report } = this;
    for (const radio of this.levels()) radio.checked = radio.value === view.level;
    byId("precision").value = view.precision;
    for (const basis of ["datasheet", "measured"]) byId(basis).checked = view[basis];
    byId("heaviest").value = view.heaviest;
    for (const { box, word } of this.chips) box.checked = !view.off.has(word);
    const shown = view.shownPoints;
    byId("heaviest-said").value = `${grouped(shown.length)} of ${plural(report.points.length, "operator", "operators")}: ` +
      `${shareText(report.share(shown))} of the step`;
  }
}

/** As the table of operators has it, whose rows are in the document's order until one sorts them. */
const kindName = (point) => byId("kernel-table").querySelectorAll("tbody tr")[point.id].cells[2].textContent;

const kindIcon = (name) => draw("svg", { class: "picture icon", viewBox: "0 0 12 12", "aria-hidden": "true" },
  draw("g", { class: `kind-${name}` }, draw("rect", { class: "swatch", x: 1, y: 1, width: 10, height: 10, rx: 2 })));
