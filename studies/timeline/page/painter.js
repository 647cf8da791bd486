// Draws the rows: a rectangle for each span, its name in it where there is room.

const LETTER_WIDTH = 6.1, LEAST_SHARED = 2.5;

class Painter {
  constructor(scene, palette, filters) { Object.assign(this, { scene, palette, filters, found: null, pinned: null, hovered: null }); }

  begin(pen, place) { Object.assign(this, { pen, place }); pen.font = "11px system-ui, sans-serif"; pen.textBaseline = "middle"; }

  colour(name) { return this.palette.get(name); }

  /** A block with rounded-off ends of sight: what lies beyond the picture is not drawn. */
  block(x, y, width, height, colour, text, faint) {
    const from = Math.max(x, -1), to = Math.min(x + width, this.place.width + 1), { pen } = this;
    if (to <= from) return;
    pen.globalAlpha = faint ? 0.16 : 1;
    pen.fillStyle = this.colour(colour);
    pen.fillRect(from, y, to - from - (width > 3 ? 0.7 : 0), height);
    if (text && height >= 11 && !faint) this.name(from + 3, y + height / 2 + 0.5, to - from - 6, this.colour(colour + "-ink"), text);
    pen.globalAlpha = 1;
  }
  name(x, y, room, colour, text) {
    const letters = Math.floor(room / LETTER_WIDTH);
    if (letters < 2 || (letters < text.length && letters < 4)) return;
    this.pen.fillStyle = colour;
    this.pen.fillText(shortened(text, letters), x, y);
  }
  hatch(x, y, width, height) {
    const from = Math.max(x, 0), to = Math.min(x + width, this.place.width), { pen } = this;
    if (to - from < 5) return;
    pen.save();
    pen.beginPath();
    pen.rect(from, y, to - from, height);
    pen.clip();
    pen.beginPath();
    for (let at = from - (from % 6) - height; at < to; at += 6) pen.moveTo(at, y + height), pen.lineTo(at + height, y);
    pen.strokeStyle = this.colour("soft");
    pen.globalAlpha = 0.5;
    pen.stroke();
    pen.restore();
  }

  row(row, y) {
    const { pen, place } = this;
    pen.fillStyle = this.colour("track");
    pen.fillRect(0, y, place.width, row.height);
    if (row.type === "step") this.step(y, row.height);
    if (row.type === "pipeline") this.pipeline(row, y);
    if (row.type === "compute" || row.type === "moves") this.stream(row, y);
    if (row.type === "send") this.sends(row, y);
  }

  step(y, height) {
    const { place, scene } = this, x = place.at(scene.data.begin), end = place.at(scene.pipelineEnd), from = Math.max(x, 0);
    this.block(x, y, end - x, height, "idle", "", false);
    this.name(from + 3, y + height / 2, Math.min(end, place.width) - from, this.colour("ink"), "pipeline");
    this.stretches(y, height);
  }
  stretches(y, height) {
    const { place } = this;
    for (const stretch of this.scene.stretches) {
      const x = place.at(stretch.start), faint = this.found !== null && !this.found.stretches.has(stretch);
      this.block(x, y, Math.max(place.at(stretch.end) - x, 0.6), height, "step", stretch.name, faint);
    }
  }

  pipeline({ rank, height }, y) {
    const { place, scene } = this, idle = place.at(scene.data.begin);
    this.block(idle, y, place.at(scene.pipelineEnd) - idle, height, "idle", "", false);
    this.stretches(y, height);
    const first = firstAbove(rank.end, place.from), last = firstAbove(rank.start, place.to);
    if (last - first > place.width / LEAST_SHARED) return this.shares(rank, y, height);
    walkSpans(rank.start, rank.end, place, (i, x, width) => {
      const faint = this.found !== null && !this.found.insides.has(rank.inside[i]);
      this.block(x, y, width, height, ACTIONS[rank.kind[i]].colour, this.actionText(rank, i, width), faint);
    });
    if (this.filters.has("send"))
      walkSpans(rank.holds.start, rank.holds.end, place, (i, x, width) => {
        this.block(x, y + height * 0.3, width, height * 0.4, "send", "", this.found !== null);
      });
  }
  actionText(rank, i, width) {
    if (width < 60) return width < 14 ? "" : String(rank.unit[i]);
    const stage = rank.stages > 1 && width > 150 ? ` of stage ${rank.stage[i]}` : "";
    return `${ACTIONS[rank.kind[i]].name} ${this.scene.unitText(rank.unit[i])}${stage}`;
  }

  /** Too many to tell apart: each column shows how much of its time goes forward (from above), backward (from below), idle (between). */
  shares(rank, y, height) {
    const { place } = this, back = rank.kind.includes(1) ? "backward" : "input", faint = this.found !== null;
    const sumAt = (list, time) => {
      const i = Math.min(firstAbove(rank.end, time), rank.count - 1), start = rank.start[i], length = rank.end[i] - start;
      const share = length > 0 ? Math.min(Math.max((time - start) / length, 0), 1) : 0;
      return list[i] + share * (list[i + 1] - list[i]);
    };
    const wide = 2, column = wide / place.scale;
    let [busy, ahead] = [sumAt(rank.busy, place.from), sumAt(rank.ahead, place.from)];
    for (let x = 0; x < place.width; x += wide) {
      const until = place.time(x + wide), nextBusy = sumAt(rank.busy, until), nextAhead = sumAt(rank.ahead, until);
      const up = (height * (nextAhead - ahead)) / column, down = (height * (nextBusy - busy - nextAhead + ahead)) / column;
      if (up > 0.1) this.block(x, y, wide, up, "forward", "", faint);
      if (down > 0.1) this.block(x, y + height - down, wide, down, back, "", faint);
      [busy, ahead] = [nextBusy, nextAhead];
    }
  }

  stream(row, y) {
    const { rank } = row, { place } = this;
    walkSpans(rank.start, rank.end, place, (i, x, width, isMany) => {
      const lane = rank.inside[i].lanes.get(row.stream), stretch = rank.stretch(i);
      if (!lane || stretch <= 0) return;
      if (width < 3 || isMany) return this.block(x, y, width, row.height, row.type === "moves" ? "move" : ACTIONS[rank.kind[i]].colour, "",
        this.found !== null && !this.found.insides.has(rank.inside[i]));
      walkSpans(lane.start, lane.end, place.within(rank.start[i], stretch),
        (k, from, wide) => this.span(lane.spans[k], from, y, wide, row.height));
    });
  }
  span(span, x, y, width, height) {
    if (!this.filters.has(SPAN_KINDS[span.kind])) return;
    const colour = span.kind === 1 ? "wait" : span.kind === 2 ? "move" : PASS_COLOURS[span.pass];
    const name = this.scene.data.names[span.name], isFound = this.found === null || this.found.names.has(span.name);
    this.block(x, y, width, height, colour, width < 16 ? "" : name, !isFound);
    if (span.kind === 1 && isFound) this.hatch(x, y, width, height);
    if (this.found !== null && isFound) this.underline(x, y + height - 2, width);
  }
  underline(x, y, width) {
    this.pen.fillStyle = this.colour("found");
    this.pen.fillRect(Math.max(x, -1), y, Math.min(Math.max(width - 0.7, 1), this.place.width - Math.max(x, -1) + 1), 2);
  }

  /** Ahead above, back below. */
  sends({ rank, height }, y) {
    rank.sends.forEach((lane, back) => walkSpans(lane.start, lane.end, this.place, (i, x, width) => {
      const { action } = lane.spans[i];
      this.block(x, y + (back * height) / 2, Math.max(width, 1), height / 2 - 0.5, "send", "", this.found !== null);
      const middle = y + ((back + 0.5) * height) / 2;
      if (width > 60) this.name(Math.max(x, 0) + 3, middle, width, this.colour("send-ink"), this.scene.actionName(rank, action));
    }));
  }

  /** Round what is pointed at or pinned; `box` is of pick.js. */
  frame(box, top, colour) {
    if (!box) return;
    const { pen, place } = this, x = place.at(box.start), width = Math.max(place.at(box.end) - x, 2);
    pen.strokeStyle = this.colour(colour);
    pen.lineWidth = 2;
    pen.strokeRect(Math.max(x, -5), top + box.y + 1, Math.min(x + width, place.width + 5) - Math.max(x, -5), box.height - 2);
    pen.lineWidth = 1;
  }
  /** From the end of what gives to the start of what takes. */
  arrow(from, fromY, to, toY) {
    const { pen, place } = this, x = place.at(from), end = place.at(to), bend = Math.max(18, Math.abs(end - x) / 2);
    pen.strokeStyle = pen.fillStyle = this.colour("pin");
    pen.lineWidth = 1.6;
    pen.beginPath();
    pen.moveTo(x, fromY);
    pen.bezierCurveTo(x + bend, fromY, end - bend, toY, end, toY);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(end, toY);
    pen.lineTo(end - 7, toY - 4);
    pen.lineTo(end - 7, toY + 4);
    pen.fill();
    pen.lineWidth = 1;
  }
}
