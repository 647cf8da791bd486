// A canvas with a drawing over it, redrawn when its place, the colours or the paper change.

const styleColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

class Surface {
  /** `paint(width)` draws everything; it begins with begin(). */
  constructor(box, paint) {
    this.box = box;
    this.canvas = box.querySelector("canvas");
    this.over = box.querySelector("svg");
    this.paint = oncePerFrame(() => { if (box.clientWidth > 0) paint(box.clientWidth); });
    this.paintNow = () => { if (box.clientWidth > 0) paint(box.clientWidth); };
    new ResizeObserver(this.paint).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.paint);
    addEventListener("beforeprint", this.paintNow);
    addEventListener("afterprint", this.paint);
  }
  /** Sharp on fine screens, and on paper. */
  begin(width, height) {
    const isPaper = document.documentElement.classList.contains("printing");
    const fine = isPaper ? 3 : devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * fine, height: height * fine });
    Object.assign(this.canvas.style, { width: width + "px", height: height + "px" });
    this.over.setAttribute("viewBox", `0 0 ${width} ${height}`);
    Object.assign(this.over.style, { width: width + "px", height: height + "px" });
    this.box.style.height = height + "px";
    const pen = this.canvas.getContext("2d");
    pen.setTransform(fine, 0, 0, fine, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }
  place(event) {
    const frame = this.canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }
}

/** Paper is light: the class is there before anything is drawn for it. */
function startPrinting() {
  addEventListener("beforeprint", () => document.documentElement.classList.add("printing"));
  addEventListener("afterprint", () => document.documentElement.classList.remove("printing"));
}
