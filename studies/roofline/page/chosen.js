// A line at the foot of the window: what is chosen, where else it is found on the page, and how to let go of it.

class ChosenLine {
  constructor(view) {
    this.view = view;
    this.text = make("b");
    this.links = make("span", { class: "links" });
    this.box = make("div", { id: "chosen", class: "chosen-line", role: "status", hidden: true }, this.text, this.links,
      make("button", { type: "button", onclick: () => view.choose(null) }, "Let go"));
    document.body.append(this.box);
    view.on("marked", () => this.show());
  }

  show() {
    this.box.hidden = this.view.chosen === null;
    if (this.box.hidden) return;
    const marks = [...document.querySelectorAll("figure svg .chosen")], rows = [...document.querySelectorAll("tr.chosen")];
    this.text.textContent = shortened(marks[0]?.getAttribute("aria-label") || rows[0]?.cells[0].textContent || "", 120);
    const places = [...new Set([...marks, ...rows].map((one) => one.closest("section")))];
    this.links.replaceChildren(...places.flatMap((section) => this.linksTo(section, marks, rows)));
  }

  linksTo(section, marks, rows) {
    const name = section.querySelector("h2").textContent, find = (list) => list.find((one) => section.contains(one));
    return [["picture", find(marks)], ["row", find(rows)]].filter(([, target]) => target).map(([word, target]) =>
      make("button", { type: "button", title: name, onclick: () => target.scrollIntoView({ block: "center", inline: "nearest" }) },
        `${section.id}: ${word}`));
  }
}
