// The filter box: words "NAME OPERATOR VALUES" that must all hold.

const WORD = /(?:"[^"]*"?|[^\s"])+/g;
const CONDITION = /^([A-Za-z][\w.-]*)(<=|>=|!=|==|=|<|>)(.*)$/s;
const SIZES = { "": 1, "%": 0.01, k: 1e3, m: 1e6, g: 1e9, ns: 1e-9, us: 1e-6, "\u00b5s": 1e-6, ms: 1e-3, s: 1, min: 60,
  b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3, tib: 1024 ** 4, j: 1, kj: 1e3, mj: 1e6, gj: 1e9 };

const COMPARE = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };

/** 70GiB as bytes, 40% as 0.4; undefined for what is no quantity. */
function quantity(text) {
  const parts = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z%\u00b5]*)$/i.exec(text.trim());
  const size = parts && parts[2].toLowerCase();
  return parts && Object.hasOwn(SIZES, size) ? Number(parts[1]) * SIZES[size] : undefined;
}

/** Figures are printed with three digits: what reads the same is the same. */
const isAbout = (value, wanted) => Math.abs(value - wanted) <= 5e-3 * Math.abs(wanted);

function orderTest(sweep, name, operator, text) {
  const axis = sweep.findAxis(name), figure = sweep.findFigure(name);
  const limit = quantity(text);
  if (limit === undefined) return { wrong: `'${name}${operator}' wants a number, and '${shortened(text, 30)}' is none` };
  const compare = COMPARE[operator];
  if (axis && axis.numeric) return { test: (row) => compare(Number(axis.text(row)), limit) };
  if (figure) return { test: (row) => figure.value(row) !== null && compare(figure.value(row), limit) };
  return { wrong: `'${name}' has words for values, which are not more or less than others: ${shortened(axis.texts.join(", "), 80)}` };
}

/** A value may hold commas itself, so that the whole text counts too. */
function equalTest(sweep, name, text) {
  const axis = sweep.findAxis(name), figure = sweep.findFigure(name);
  const wanted = [text, ...text.split(",")].map((one) => one.trim().toLowerCase());
  const isChoice = axis && (axis.numeric || !figure || axis.texts.some((value) => wanted.includes(value.toLowerCase())));
  if (isChoice) return { test: (row) => wanted.includes(axis.text(row).toLowerCase()) };
  const numbers = text.split(",").map(quantity);
  if (numbers.includes(undefined)) return { wrong: `'${name}=' wants numbers, and '${shortened(text, 30)}' holds something else` };
  return { test: (row) => figure.value(row) !== null && numbers.some((number) => isAbout(figure.value(row), number)) };
}

function conditionTest(sweep, name, operator, text) {
  if (!sweep.findAxis(name) && !sweep.findFigure(name)) return { wrong: `there is no axis or figure '${shortened(name, 30)}'` };
  if (text === "") return { wrong: `'${name}${operator}' wants a value behind it, without a space` };
  if (COMPARE[operator]) return orderTest(sweep, name, operator, text);
  const equal = equalTest(sweep, name, text);
  return equal.wrong || operator !== "!=" ? equal : { test: (row) => !equal.test(row) };
}

/** A word alone: some choice holds it. */
function wordTest(sweep, word) {
  if (sweep.findAxis(word) || sweep.findFigure(word)) return { wrong: `'${word}' wants a condition behind it: ${word}=, ${word}<` };
  return { test: (row) => sweep.axes.some((axis) => axis.text(row).toLowerCase().includes(word.toLowerCase())) };
}

/** {passes: row -> bool, wrong: "" or what is wrong}. */
function readFilter(sweep, text) {
  const tests = [];
  for (const raw of text.match(WORD) || []) {
    const word = raw.replaceAll('"', "");
    const parts = CONDITION.exec(word);
    const { test, wrong } = parts ? conditionTest(sweep, parts[1], parts[2], parts[3]) : wordTest(sweep, word);
    if (wrong) return { passes: null, wrong };
    tests.push(test);
  }
  return { passes: (row) => tests.every((test) => test(row)), wrong: "" };
}

function startFilter(sweep, selection) {
  const box = byId("filter"), said = byId("filter-said");
  const usual = sweep.varyingAxes.map((axis) => `${axis.key}=${axis.text(sweep.best)}`).filter((word) => /^[\w=.-]+$/.test(word));
  box.placeholder = shortened(usual.slice(0, 3).join(" ") || "mfu>40%", 60);
  box.addEventListener("input", () => {
    const { passes, wrong } = readFilter(sweep, box.value);
    box.setAttribute("aria-invalid", wrong !== "");
    said.classList.toggle("wrong", wrong !== "");
    if (wrong) said.value = wrong;
    else selection.filter(passes);
  });
  byId("reset").addEventListener("click", () => {
    box.value = "";
    box.removeAttribute("aria-invalid");
    selection.clear();
  });
  const say = () => {
    said.classList.remove("wrong");
    said.value = `${grouped(selection.shown.length)} of ${plural(sweep.rows.length, "row", "rows")} shown`;
  };
  selection.on("shown", say);
  say();
}
