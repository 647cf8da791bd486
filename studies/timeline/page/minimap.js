// The whole step in one strip: how much of all ranks' time goes forward, backward and nowhere; a frame round what is in sight.

const MINIMAP_HEIGHT = 44;

class Minimap {
  constructor(scene, view, chart, palette) {
    Object.assign(this, { scene, view, chart, palette, canvas: byId("minimap"), sums: null });
    this.draw = oncePerFrame(() => this.drawNow());
    new ResizeObserver(() => { this.sums = null; this.draw(); }).observe(this.canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.draw);
    view.on(this.draw);
    this.listen();
  }

  /** Microseconds of forward and of all actions in each column, all ranks together. */
  addUp(width) {
    const forward = new Float64Array(width), busy = new Float64Array(width), column = this.scene.end / width;
    for (const rank of this.scene.ranks)
      for (let i = 0; i < rank.count; ++i)
        for (let x = Math.floor(rank.start[i] / column); x < width && x * column < rank.end[i]; ++x) {
          const time = Math.min(rank.end[i], (x + 1) * column) - Math.max(rank.start[i], x * column);
          busy[x] += time;
          if (rank.kind[i] === 0) forward[x] += time;
        }
    this.sums = { width, forward, busy, all: column * this.scene.ranks.length };
  }

  drawNow() {
    const width = Math.floor(this.canvas.parentElement.clientWidth);
    if (width <= 0) return;
    if (this.sums?.width !== width) this.addUp(width);
    const pen = this.chart.pen(this.canvas, width, MINIMAP_HEIGHT), { sums } = this, per = this.scene.end / width;
    pen.fillStyle = this.palette.get("track");
    pen.fillRect(0, 0, width, MINIMAP_HEIGHT);
    for (const stretch of this.scene.stretches) {
      pen.fillStyle = this.palette.get("step");
      pen.fillRect(stretch.start / per, 0, Math.max(1, (stretch.end - stretch.start) / per), MINIMAP_HEIGHT);
    }
    for (let x = 0; x < width; ++x) {
      const all = (MINIMAP_HEIGHT * sums.busy[x]) / sums.all, up = (MINIMAP_HEIGHT * sums.forward[x]) / sums.all;
      pen.fillStyle = this.palette.get("backward");
      pen.fillRect(x, MINIMAP_HEIGHT - all, 1, all - up);
      pen.fillStyle = this.palette.get("forward");
      pen.fillRect(x, MINIMAP_HEIGHT - up, 1, up);
    }
    this.frame(pen, width, per);
  }
  frame(pen, width, per) {
    const x = this.view.from / per, wide = Math.max(2, this.view.span / per);
    pen.fillStyle = this.palette.get("paper");
    pen.globalAlpha = 0.62;
    pen.fillRect(0, 0, x, MINIMAP_HEIGHT);
    pen.fillRect(x + wide, 0, width - x - wide, MINIMAP_HEIGHT);
    pen.globalAlpha = 1;
    pen.strokeStyle = this.palette.get("dot");
    pen.lineWidth = 2;
    pen.strokeRect(x + 1, 1, Math.max(wide - 2, 1), MINIMAP_HEIGHT - 2);
  }

  /** Drag within the frame moves it, elsewhere chooses another one; a click brings it there. */
  listen() {
    const timeOf = (event) => (event.offsetX / this.canvas.clientWidth) * this.scene.end;
    let drag = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      const time = timeOf(event), inside = !this.view.isWhole && time >= this.view.from && time <= this.view.to;
      drag = { time, from: this.view.from, span: this.view.span, inside, moved: false, x: event.offsetX };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!drag || (!drag.moved && Math.abs(event.offsetX - drag.x) < 3)) return;
      drag.moved = true;
      const time = timeOf(event);
      if (drag.inside) this.view.set(drag.from + time - drag.time, drag.from + time - drag.time + drag.span);
      else this.view.set(Math.min(time, drag.time), Math.max(time, drag.time));
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const span = this.view.span, time = timeOf(event);
      if (drag && !drag.moved && !this.view.isWhole) this.view.set(time - span / 2, time + span / 2);
      drag = null;
    });
    this.canvas.addEventListener("pointercancel", () => { drag = null; });
  }
}
