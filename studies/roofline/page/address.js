// The view in the page's address, so that a link opens what was seen: #level=l2&heaviest=12&chosen=point:3

function addressOf(view) {
  const words = new URLSearchParams();
  for (const [name, usual] of Object.entries(view.usual)) if (view[name] !== usual) words.set(name, view[name]);
  if (view.off.size) words.set("off", [...view.off].join(","));
  if (view.chosen) words.set("chosen", view.chosen[0]);
  return words.toString();
}

/** What is no part of the view, or none of its values, is left alone: links into the page have addresses too. */
function readAddress(view, keysFor) {
  const words = new URLSearchParams(location.hash.slice(1)), changes = {};
  const isOneOf = (name, values) => { if (values.includes(words.get(name))) changes[name] = words.get(name); };
  isOneOf("level", ["hbm", "l2", "both"]);
  isOneOf("precision", ["run", "all", ...view.report.kernels.compute_roofs.map((roof) => roof.precision)]);
  for (const name of ["datasheet", "measured"]) if (words.has(name)) changes[name] = words.get(name) === "true";
  const heaviest = Number(words.get("heaviest"));
  if (Number.isInteger(heaviest) && heaviest >= 1 && heaviest <= view.report.points.length) changes.heaviest = heaviest;
  const known = new Set(view.report.points.flatMap((point) => [`kind ${point.kind}`, `pass ${point.form}`]));
  for (const word of (words.get("off") || "").split(",")) if (known.has(word)) view.off.add(word);
  view.set(changes);
  const keys = words.has("chosen") && keysFor(words.get("chosen"));
  if (keys && view.shows(keys)) view.choose(keys);
}

function keepAddress(view) {
  let last = location.hash;
  const keep = oncePerFrame(() => {
    const words = addressOf(view), hash = words && "#" + words;
    if (hash === last || (hash === "" && !last.includes("="))) return;
    last = hash;
    history.replaceState(null, "", hash || location.pathname + location.search);
  });
  view.on("shown", keep);
  view.on("marked", keep);
}
