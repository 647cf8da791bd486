// Numbers for people: three digits with the unit that fits.

const PREFIXES = {
  seconds: [[1e-9, "ns"], [1e-6, "\u00b5s"], [1e-3, "ms"], [1, "s"]],
  bytes: [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"], [1024 ** 4, "TiB"]],
  joules: [[1, "J"], [1e3, "kJ"], [1e6, "MJ"], [1e9, "GJ"], [1e12, "TJ"]],
  share: [[0.01, "%"]],
};

function threeDigits(value) {
  const size = Math.abs(value);
  if (size >= 99.95 || value === 0) return value.toFixed(0);
  return value.toFixed(size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.01 ? 3 : 5);
}

const grouped = (value) => value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 100 ? 2 : 0 });

/** The largest unit of which there is one at least. */
function prefixOf(unit, value) {
  const list = PREFIXES[unit] || [[1, ""]];
  return list.findLast(([factor]) => Math.abs(value) >= 0.9995 * factor) || list[0];
}

function figureText(unit, value) {
  if (value === null) return "-";
  if (unit === "rate" || unit === "count") return grouped(value);
  if (unit === "dollars") return "$ " + (Math.abs(value) >= 1000 ? grouped(value) : value.toFixed(2));
  if (unit === "seconds" && Math.abs(value) < 1e-12) value = 0;  // rounding of differences
  if (value === 0) return "0 " + (unit === "share" ? "%" : PREFIXES[unit].find(([factor]) => factor === 1)[1]);
  const [factor, name] = prefixOf(unit, value);
  return unit === "share" ? (100 * value).toFixed(1) + " %" : threeDigits(value / factor) + " " + name;
}

function signedText(unit, value) {
  const text = figureText(unit, Math.abs(value)), isNothing = text === figureText(unit, 0);
  return (isNothing || value === 0 ? "" : value > 0 ? "+" : "\u2212") + text;
}
const percentText = (share) => (share > 0 ? "+" : share < 0 ? "\u2212" : "") + Math.abs(100 * share).toFixed(1) + " %";
const plural = (n, one, many) => `${grouped(n)} ${n === 1 ? one : many}`;
