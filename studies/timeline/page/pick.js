// What lies at a place of the picture, with the words that say what it is.

/** The last of a lane's spans that is there at `time`. */
function laneAt(lane, time) {
  const last = firstAbove(lane.start, time) - 1;
  for (let i = last; i >= Math.max(0, last - 20); --i) if (lane.end[i] >= time) return lane.spans[i];
  return null;
}

function actionAt(rank, time) {
  const i = firstAbove(rank.end, time);
  return i < rank.count && rank.start[i] <= time ? i : -1;
}

class Picker {
  constructor(scene, filters) { Object.assign(this, { scene, filters }); }

  /** `y` from the row's top. A box has start, end, y, height (in the row) and what is told of it. */
  at(row, time, y) {
    if (row.type === "step") return this.stretchAt(row, time);
    const isLower = y > row.height / 2;
    if (row.type === "send") return this.send(row, row.rank.sends[Number(isLower)], time, isLower);
    const i = actionAt(row.rank, time);
    if (i < 0) return row.type === "pipeline" ? this.hold(row, time) || this.stretchAt(row, time) : null;
    if (row.type === "pipeline") return this.action(row, i);
    const lane = row.rank.inside[i].lanes.get(row.stream);
    const span = lane && laneAt(lane, (time - row.rank.start[i]) / row.rank.stretch(i));
    return span && this.filters.has(SPAN_KINDS[span.kind]) ? this.span(row, i, span) : null;
  }

  words(row, i) {
    const { rank } = row;
    return [["action", `${ACTIONS[rank.kind[i]].name} (${this.scene.actionName(rank, i)})`], ["pipeline rank", String(rank.number)],
      ["stage", String(rank.stage[i])], ["micro-batch", this.scene.unitText(rank.unit[i])]];
  }
  times(start, end) {
    return [["start", momentText(start, Math.max(stepOf(end - start), 1e-3))], ["duration", lengthText(end - start)],
      ["share of the step", figureText("share", (end - start) / this.scene.end)]];
  }

  action(row, i) {
    const { rank } = row, [start, end] = [rank.start[i], rank.end[i]], { sums } = rank.inside[i], stretch = rank.stretch(i);
    const parts = [["kernels", sums.forward + sums.backward], ["waiting", sums.waiting]].filter(([, time]) => time > 0);
    return { y: row.y, height: row.height, row, rank, i, start, end, key: `action ${rank.number} ${i}`,
      title: `${ACTIONS[rank.kind[i]].name}, micro-batch ${this.scene.unitText(rank.unit[i])}`,
      words: [...this.words(row, i), ...this.times(start, end), ...parts.map(([name, time]) => [name, lengthText(time * stretch)])] };
  }
  span(row, i, span) {
    const { rank } = row, stretch = rank.stretch(i), start = rank.start[i] + span.start * stretch, end = rank.start[i] + span.end * stretch;
    const name = this.scene.data.names[span.name];
    return { y: row.y, height: row.height, row, rank, i, start, end, key: `span ${rank.number} ${i} ${span.stream} ${span.start}`, span,
      title: name,
      words: [["kind", SPAN_KINDS[span.kind]], ["pass", PASSES[span.pass]], ["layer", span.layer < 0 ? "none" : String(span.layer)],
        ["stream", row.name],
        ...this.words(row, i), ...this.times(start, end)] };
  }
  send(row, lane, time, isLower) {
    const send = laneAt(lane, time);
    if (!send) return null;
    const { rank } = row, taker = this.scene.taker(rank, send.action);
    return { row, rank, i: send.action, start: send.start, end: send.end, y: row.y + (isLower ? row.height / 2 : 0), height: row.height / 2,
      key: `send ${rank.number} ${send.action}`,
      title: `send ${this.scene.actionName(rank, send.action)} to ${this.scene.rankName(taker.rank)}`,
      words: [["kind", `send ${send.back ? "back" : "ahead"}`], ...this.words(row, send.action), ...this.times(send.start, send.end)] };
  }
  hold(row, time) {
    const hold = this.filters.has("send") && laneAt(row.rank.holds, time);
    if (!hold) return null;
    return { row, start: hold.start, end: hold.end, y: row.y, height: row.height, key: `hold ${row.rank.number} ${hold.start}`,
      title: "held by sends", words: [["kind", "sends to and from other stages that nothing may overlap"],
        ["pipeline rank", String(row.rank.number)], ...this.times(hold.start, hold.end)] };
  }
  stretchAt(row, time) {
    const stretch = this.scene.stretches.find((one) => time >= one.start && time < one.end);
    if (!stretch) return null;
    return { row, start: stretch.start, end: stretch.end, y: row.y, height: row.height,
      key: `stretch ${row.y} ${stretch.start}`, title: stretch.name,
      words: [["kind", stretch.communication ? "collective, around the pipeline" : "phase around the pipeline"], ["on", "every rank"],
        ...this.times(stretch.start, stretch.end)] };
  }
}
