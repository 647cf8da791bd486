// A note beside the pointer: which configuration is pointed at, and its main figures.

class Tip {
  constructor(box) { box.append((this.note = make("div", { class: "tip", hidden: true, "aria-hidden": "true" }))); }
  show(x, y, title, lines) {
    this.note.replaceChildren(make("b", {}, shortened(title, 200)), ...lines.map((line) => make("div", {}, line)));
    this.note.hidden = false;
    const width = this.note.offsetWidth, all = this.note.parentElement.clientWidth;
    Object.assign(this.note.style, { left: Math.max(0, x + 14 + width > all ? x - 14 - width : x + 14) + "px", top: y + 14 + "px" });
  }
  hide() { this.note.hidden = true; }
}
