// From values to places on the screen and back, with the places where a scale is labelled.

function niceStep(span, most) {
  const rough = span / most, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough * 0.999) || 10 * power;
}

function evenTicks(low, high, most) {
  const step = niceStep(high - low, most), ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12) && ticks.length < 50; ++i) ticks.push(i * step);
  return ticks;
}

function logTicks(low, high, most) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power)
    for (const factor of [1, 2, 5]) ticks.push(factor * 10 ** power);
  const inside = ticks.filter((tick) => tick >= low && tick <= high);
  if (inside.length < 3) return evenTicks(low, high, most);
  return inside.length <= 2 * most ? inside : inside.filter((tick) => Math.abs(Math.log10(tick) % 1) < 1e-9);
}

/** `values` may hold null. Some room stays free at either end; a single value lies in the middle. */
function numberScale(values, from, to, { log = false, unit = "count", most = 6, room = 0.04 } = {}) {
  const known = values.filter((value) => value !== null && (!log || value > 0));
  let low = known.reduce((a, b) => Math.min(a, b), Infinity), high = known.reduce((a, b) => Math.max(a, b), -Infinity);
  if (known.length === 0) [low, high] = log ? [1, 10] : [0, 1];
  if (high - low <= 1e-12 * Math.abs(high)) [low, high] = low === 0 ? [-1, 1] : [low - 0.1 * Math.abs(low), high + 0.1 * Math.abs(high)];
  const bend = log ? Math.log : (x) => x, straighten = log ? Math.exp : (x) => x;
  const margin = room * (bend(high) - bend(low)), a = bend(low) - margin, b = bend(high) + margin;
  const factor = prefixOf(unit, Math.max(Math.abs(low), Math.abs(high)))[0];
  const ticks = (log ? logTicks : evenTicks)(straighten(a) / factor, straighten(b) / factor, most).map((tick) => tick * factor);
  return {
    at: (value) => (value === null || (log && value <= 0) ? NaN : from + ((bend(value) - a) / (b - a)) * (to - from)),
    valueAt: (place) => straighten(a + ((place - from) / (to - from)) * (b - a)),
    step: (b - a) / 40,
    ticks: ticks.map((value) => ({ value, text: tickText(unit, value, factor) })),
  };
}

function tickText(unit, value, factor) {
  if (unit === "rate" || unit === "count" || unit === "dollars") return (unit === "dollars" ? "$ " : "") + grouped(value);
  const name = (PREFIXES[unit] || []).find(([size]) => size === factor);
  return `${Number((value / factor).toPrecision(6))} ${name ? name[1] : ""}`;
}

/** Words in even steps. */
function stepScale(texts, from, to, most) {
  const last = Math.max(1, texts.length - 1), every = Math.ceil(texts.length / most);
  const at = (step) => (texts.length === 1 ? (from + to) / 2 : from + (step / last) * (to - from));
  return {
    at,
    valueAt: (place) => (texts.length === 1 ? 0 : ((place - from) / (to - from)) * last),
    step: 1,
    ticks: texts.map((text, value) => ({ value, text })).filter((tick) => tick.value % every === 0),
  };
}

const scaleOf = (sweep, column, rows, from, to, options = {}) =>
  column.kind === "axis"
    ? stepScale(column.texts, from, to, options.mostWords || 18)
    : numberScale(rows.map((row) => column.value(row)), from, to, { unit: column.unit, ...options });
