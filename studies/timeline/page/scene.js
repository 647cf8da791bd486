// The step as the page holds it. Times are microseconds from the step's begin; inside of an action, from the action's start.

/** First place of a rising list whose value is above `value`. */
function firstAbove(list, value, from = 0, to = list.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (list[middle] > value) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Spans of one stream by their start, also as lists of numbers to search in. */
class Lane {
  constructor(spans) {
    this.spans = spans.sort((a, b) => a.start - b.start);
    this.start = Float64Array.from(this.spans, (span) => span.start);
    this.end = Float64Array.from(this.spans, (span) => span.end);
  }
}

/** What is inside of all actions of one stage, kind and slice. */
class Inside {
  constructor(packed, tick) {
    this.length = packed.ticks * tick;
    this.spans = packed.runs.flatMap((run) => Inside.unpack(run, tick / 100));
    const streams = new Map();
    for (const span of this.spans) {
      if (!streams.has(span.stream)) streams.set(span.stream, []);
      streams.get(span.stream).push(span);
    }
    this.lanes = new Map([...streams].map(([stream, spans]) => [stream, new Lane(spans)]));
    this.sums = this.sumsWithin(0, Infinity);
  }
  static unpack([layer, count, step, start, period, ...numbers], grain) {
    const spans = [];
    for (let copy = 0; copy < count; ++copy) {
      let at = start + copy * period;
      for (let i = 0; i < numbers.length; i += 5) {
        const from = at + numbers[i + 3];
        at = from + numbers[i + 4];
        spans.push({ kind: numbers[i] % 3, pass: Math.floor(numbers[i] / 3), stream: numbers[i + 1], name: numbers[i + 2],
          layer: layer + copy * step, start: from * grain, end: at * grain });
      }
    }
    return spans;
  }
  /** Of the kernels and waits between two moments. */
  sumsWithin(from, to) {
    const sums = { forward: 0, backward: 0, waiting: 0 };
    for (const span of this.spans) {
      const time = Math.min(span.end, to) - Math.max(span.start, from);
      if (time <= 0 || span.kind === 2) continue;
      sums[span.kind === 1 ? "waiting" : span.pass === 0 ? "forward" : "backward"] += time;
    }
    return sums;
  }
}

const TOKEN = /([FBIWH])(\d*)(?:u(-?\d+))?(?:g(-?\d+))?(?:s(-?\d+))?(?:l(-?\d+))?/g;

/** The actions of a rank, in their order. */
class Rank {
  constructor(scene, number) {
    const { data, insides } = scene, tokens = [...data.actions[number].matchAll(TOKEN)];
    const stages = data.rank_of.flatMap((rank, stage) => (rank === number ? [stage] : []));
    const n = tokens.reduce((count, token) => count + (token[1] !== "H"), 0);
    Object.assign(this, { number, count: n, stages: stages.length, start: new Float64Array(n), end: new Float64Array(n),
      kind: new Uint8Array(n), stage: new Int32Array(n), unit: new Int32Array(n), inside: [] });
    this.unpack(scene, stages, tokens);
    this.addUp();
  }
  /** As RankTokens of timeline_data.cpp wrote them. */
  unpack({ data, insides }, stages, tokens) {
    const next = new Map(), holds = [], moment = (ticks) => data.begin + ticks * data.tick;
    let at = 0, length = 0, i = 0;
    for (const [, letter, place, unit, gap, surplus, other] of tokens) {
      const start = at + Number(gap || 0);
      if (letter === "H") {
        length = Number(other || length);
        holds.push({ start: moment(start), end: moment((at = start + length)) });
        continue;
      }
      const kind = "FBIW".indexOf(letter), stage = stages[Number(place)], key = 4 * stage + kind;
      this.kind[i] = kind;
      this.stage[i] = stage;
      this.unit[i] = (next.get(key) || 0) + Number(unit || 0);
      next.set(key, this.unit[i] + 1);
      const which = data.which[key * data.slices + (this.unit[i] % data.slices)];
      this.inside.push(insides[which]);
      at = start + data.inside[which].ticks + Number(surplus || 0);
      this.start[i] = moment(start);
      this.end[i++] = moment(at);
    }
    this.holds = new Lane(holds);
  }
  addUp() {
    const sum = () => new Float64Array(this.count + 1);
    Object.assign(this, { forward: sum(), backward: sum(), waiting: sum(), busy: sum(), ahead: sum() });
    for (let i = 0; i < this.count; ++i) {
      const time = this.end[i] - this.start[i], { length, sums } = this.inside[i], stretch = length > 0 ? time / length : 0;
      for (const key of ["forward", "backward", "waiting"]) this[key][i + 1] = this[key][i] + stretch * sums[key];
      this.busy[i + 1] = this.busy[i] + time;
      this.ahead[i + 1] = this.ahead[i] + (this.kind[i] === 0 ? time : 0);
    }
  }
  /** An action that takes longer than what is inside of it stretches that. */
  stretch(i) { return this.inside[i].length > 0 ? (this.end[i] - this.start[i]) / this.inside[i].length : 0; }
}

class Scene {
  constructor(data) {
    this.data = data;
    this.insides = data.inside.map((packed) => new Inside(packed, data.tick));
    this.ranks = data.actions.map((_, number) => new Rank(this, number));
    this.end = data.end;
    this.streams = data.streams.map(([key, name]) => ({ key, name }));
    this.stretches = data.around.map(([name, key, communication, start, end]) =>
      ({ name, key, communication: communication === 1, start, end }));
    this.pipelineEnd = this.ranks.reduce((last, rank) => Math.max(last, rank.count ? rank.end[rank.count - 1] : 0), data.begin);
    this.indexActions();
    for (const rank of this.ranks) rank.sends = this.sendsOf(rank);
  }
  /** By (backward or not, stage, unit), for arrows. */
  indexActions() {
    this.units = this.ranks.reduce((most, rank) => rank.unit.reduce((a, b) => Math.max(a, b), most), 0) + 1;
    this.positions = new Int32Array(2 * this.data.rank_of.length * this.units).fill(-1);
    for (const rank of this.ranks)
      for (let i = 0; i < rank.count; ++i)
        if (rank.kind[i] !== 3) this.positions[this.slot(rank.kind[i] > 0, rank.stage[i], rank.unit[i])] = i;
  }
  slot(back, stage, unit) { return (Number(back) * this.data.rank_of.length + stage) * this.units + unit; }
  rankName(rank) { return `${this.data.word} ${rank.number}`; }
  /** {rank, i} or null. */
  action(back, stage, unit) {
    if (stage < 0) return null;
    const i = this.positions[this.slot(back, stage, unit)];
    return i < 0 ? null : { rank: this.ranks[this.data.rank_of[stage]], i };
  }
  taker(rank, i) {
    if (rank.kind[i] === 3) return null;
    const back = rank.kind[i] > 0;
    return this.action(back, (back ? this.data.before : this.data.after)[rank.stage[i]], rank.unit[i]);
  }
  giver(rank, i) {
    if (rank.kind[i] === 3) return null;
    const back = rank.kind[i] > 0;
    return this.action(back, (back ? this.data.after : this.data.before)[rank.stage[i]], rank.unit[i]);
  }
  /** What a rank hands on to another one, each way as a lane of its own. */
  sendsOf(rank) {
    const ways = [[], []];
    for (let i = 0; i < rank.count; ++i) {
      const taker = this.taker(rank, i);
      if (!taker || taker.rank === rank) continue;
      const back = rank.kind[i] > 0, hop = (back ? this.data.back : this.data.ahead)[rank.stage[i]];
      if (hop > 0) ways[Number(back)].push({ start: rank.end[i], end: rank.end[i] + hop, action: i, back });
    }
    return ways.map((sends) => new Lane(sends));
  }
  /** "3F12": virtual stage, kind, micro-batch. */
  actionName(rank, i) { return `${rank.stage[i]}${ACTIONS[rank.kind[i]].letter}${rank.unit[i]}`; }
  unitText(unit) {
    const { slices } = this.data;
    return slices > 1 ? `${Math.floor(unit / slices)}, slice ${unit % slices}` : String(unit);
  }
}

const readScene = () => new Scene(JSON.parse(byId("data").textContent));
