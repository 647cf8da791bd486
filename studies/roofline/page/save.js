// A picture as a file, as it is shown now: colours, filters and level included. Nothing is asked of any server.

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order"];

function looksOf(element) {
  const style = getComputedStyle(element);
  return LOOKS.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
}

/** The picture with its looks written out, on the page's paper. */
function standalone(svg) {
  const copy = svg.cloneNode(true), [originals, copies] = [svg, copy].map((one) => [...one.querySelectorAll("*")]);
  const gone = [];
  originals.forEach((element, at) => {
    if (getComputedStyle(element).display === "none" || element.classList.contains("hit")) gone.push(copies[at]);
    else copies[at].setAttribute("style", looksOf(element));
  });
  for (const element of gone) element.remove();
  const { x, y, width, height } = svg.viewBox.baseVal;
  fill(copy, { width, height, style: { width: "", height: "" } }, []);
  copy.prepend(draw("rect", { x, y, width, height, fill: getComputedStyle(document.body).backgroundColor }));
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function download(name, url) {
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

function downloadBlob(name, blob) {
  const url = URL.createObjectURL(blob);
  download(name, url);
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function saveSvg(svg, name) { downloadBlob(name + ".svg", new Blob([standalone(svg).text], { type: "image/svg+xml" })); }

/** Twice as fine as the picture's own pixels. The page's policy lets images come from data: alone. */
async function savePng(svg, name) {
  const { text, width, height } = standalone(svg), image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const canvas = make("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => downloadBlob(name + ".png", blob), "image/png");
}

function offerSaving(picture) {
  if (!picture.svg) return;
  const name = `${picture.svg.id || picture.name}`;
  picture.figure.append(make("div", { class: "save" }, make("span", { class: "soft" }, "save as "),
    make("button", { type: "button", onclick: () => saveSvg(picture.svg, name) }, "SVG"),
    make("button", { type: "button", onclick: () => savePng(picture.svg, name) }, "PNG")));
}
