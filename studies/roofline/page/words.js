// What is said of a mark: a title and [name, value] pairs, from the document's figures.

const METRIC = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const TIMES = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];

const fitting = (prefixes, value) => prefixes.find(([size]) => value >= 0.9995 * size) || prefixes[prefixes.length - 1];
function metricText(value, unit) {
  const [size, prefix] = fitting(METRIC, value);
  return `${threeDigits(value / size)} ${prefix}${unit}`;
}
function timeText(value) {
  const [size, unit] = value > 0 ? fitting(TIMES, value) : [1, "s"];
  return `${threeDigits(value / size)} ${unit}`;
}
const shareText = (share) => (100 * share).toFixed(1) + " %";
const perByte = (value) => (value >= 999.5e3 ? metricText(value, "") : value >= 999.5 ? grouped(Math.round(value)) : threeDigits(value));
const ridgeText = (value) => (value > 0 ? `${perByte(value)} FLOP/B` : "no FLOPs");
const passText = (pass) => ({ input_grad: "backward, input", weight_grad: "backward, weights" })[pass] || pass;

function intervalWords([low, high], time) { return `${timeText(low * time)} to ${timeText(high * time)}`; }

/** "layer mlp.up", but neither "head head" nor "mtp_head mtp.head". */
function operatorName({ block, name }) {
  const isSaid = (name.replaceAll(".", "_") + " ").startsWith(block + " ");
  return isSaid ? name : `${block} ${name}`;
}

function callWords(calls) { return `${grouped(calls)} ${calls === 1 ? "call" : "calls"}`; }

function pointWords(point) {
  const words = [["shape", `${point.shape}, ${point.precision}, ${passText(point.pass)}`],
    ["intensity", `${ridgeText(point.hbm_flops_per_byte)} by HBM, ${ridgeText(point.l2_flops_per_byte)} by L2`],
    ["rate", point.flops > 0 ? metricText(point.rate_flops_per_s, "FLOP/s") : metricText(point.bandwidth_bytes_per_s, "B/s")],
    ["of its roof", `${shareText(point.share_of_roof)}, bound by ${point.bound}`],
    ["one call", `${timeText(point.time_s)}, in 8 of 10 cases ${intervalWords(point.interval, point.time_s)}`],
    ["in the step", `${callWords(point.calls)}, ${timeText(point.total_s)}, ${shareText(point.share)} of the step`]];
  if (point.measured) words.push(["measured", measuredWords(point)]);
  words.push(["time from", `${point.source}: ${point.law}${point.extrapolated ? "; beyond what was measured" : ""}`]);
  return { title: operatorName(point), words: [...words, ...flags(point)] };
}

function measuredWords({ measured, time_s }) {
  const off = percentText(time_s / measured.time_s - 1), rows = plural(measured.rows, "row", "rows");
  return `${timeText(measured.time_s)} (forecast ${off}), ${shareText(measured.share_of_roof)} of its roof; ${rows}, ${measured.source}`;
}

const flags = ({ outside, warning }) => [...(outside ? [["outside", outside]] : []), ...(warning ? [["warning", warning]] : [])];

function looseWords(point) {
  return { title: `${point.kind}, measured`, words: [["shape", `${point.shape}, ${point.precision}`],
    ["intensity", ridgeText(point.hbm_flops_per_byte)], ["rate", metricText(point.rate_flops_per_s, "FLOP/s")],
    ["of its roof", shareText(point.share_of_roof)], ["one call", timeText(point.time_s)], ["source", point.source], ...flags(point)] };
}

function linkWords(link) {
  const exposed = `${timeText(link.exposed_s)} (${shareText(link.exposed_share)})`;
  return { title: link.name, words: [["move", `${link.kind} of ${link.axis}, ${plural(link.group_size, "GPU", "GPUs")}, over ${link.link}`],
    ["intensity", ridgeText(link.flops_per_byte)], ["reachable", metricText(link.rate_flops_per_s, "FLOP/s") +
      (link.limits ? ", below the peak" : ", above the peak")],
    ["rate", `${metricText(link.bus_bytes_per_s, "B/s")}, ${shareText(link.share_of_roof)} of the link's, bound by ${link.bound}`],
    ["one call", `${metricText(link.received_bytes, "B")}, latency ${timeText(link.latency_s)}`],
    ["in the step", `${callWords(link.calls)}, ${timeText(link.total_s)}`], ["exposed", exposed],
    ["time from", `${link.source}: ${link.law}`], ...(link.because ? [["because", link.because]] : []), ...flags(link)] };
}

function barWords(bar, step) {
  return { title: bar.name, words: [["time", `${timeText(bar.time_s)}, ${shareText(bar.time_s / step)} of the step`], ["", bar.about]] };
}

function crossingWords(operator, row) {
  const rate = row.rate_bytes_per_s > 0 ? `${metricText(row.rate_bytes_per_s, "B/s")}, ${row.basis}` : "not known";
  return { title: `${operatorName(operator)}: ${row.outer} to ${row.inner}`, words: [
    ["crossing", `${metricText(row.crossing_bytes, "B")} a call, ${ridgeText(row.flops_per_byte)}`], ["rate", rate],
    ["takes", `${timeText(row.time_s)}; its multiply-adds ${timeText(operator.compute_s)}`],
    ...(row.ridge_flops_per_byte > 0 ? [["ridge", ridgeText(row.ridge_flops_per_byte)]] : []),
    ["stationary", row.stationary], ...(row.text ? [["how", row.text]] : []),
    ...(row.limits ? [["limits", "this boundary takes longest"]] : [])] };
}

function roofWords(roof) {
  const rate = roof.rate_flops_per_s ? metricText(roof.rate_flops_per_s, "FLOP/s") : metricText(roof.rate_bytes_per_s, "B/s");
  return { title: `${roof.precision || roof.level || roof.name}: ${rate}`, words: [["basis", roof.basis], ["from", roof.from]] };
}

function ridgeWords(ridge) {
  return { title: `Ridge of ${ridge.precision} and ${ridge.level}`, words: [["at", ridgeText(ridge.flops_per_byte)],
    ["rate", metricText(ridge.rate_flops_per_s, "FLOP/s")], ["basis", ridge.basis]] };
}
