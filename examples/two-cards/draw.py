"""Draws throughput.svg and memory.svg from forecasts.csv, and writes the tables of README.md. See run.sh."""
import csv
import math
import re

CARD_GIB = 11
COLORS = {"one card": "#666", "dp": "#b5651d", "tp": "#8c1c8c", "gpipe": "#d62728", "1f1b": "#1f4fb4",
          "interleaved-1f1b": "#17858f", "zb-h1": "#2a8a2a", "zb-v": "#c98a00", "dualpipev": "#e0509a"}
PARTS = {"framework": "#999", "weights": "#1f4fb4", "gradients": "#6f9fd8", "optimizer": "#c98a00",
         "activations": "#2a8a2a", "temporary": "#d62728"}
BARS = ("one card", "dp", "dp zero-1", "tp", "gpipe", "1f1b", "interleaved-1f1b", "gis", "zb-h1", "zb-2p", "zb-v",
        "v-min", "dualpipev")


def read(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def text(x, y, words, anchor="start", fill="#222", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"{more}>{words}</text>'


def line(x0, y0, x1, y1, stroke="#ddd", more=""):
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{stroke}"{more}/>'


def write_svg(path, width, height, parts):
    """On a white ground, so that it reads the same on a light and on a dark page."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    with open(path, "w") as file:
        file.write("\n".join([head + ' font-family="sans-serif" font-size="13">', ground, *parts, "</svg>"]) + "\n")


def apart(places, gap):
    """The same places in the same order, pushed down until they are a gap from each other."""
    moved = {}
    last = -math.inf
    for name, y in sorted(places.items(), key=lambda place: place[1]):
        last = moved[name] = max(y, last + gap)
    return moved


def throughput(rows):
    width, height, left, right, top, bottom = 900, 500, 60, 730, 50, 450
    most = 26000
    def x(sequences):
        return left + math.log2(sequences) / 7 * (right - left)
    def y(tokens):
        return bottom - tokens / most * (bottom - top)
    out = [text(left, 24, "Tokens per second of two RTX 2080 Ti, GPT-2 medium, forecast", more=' font-size="16"'),
           text((left + right) / 2, 488, "micro-batches of 1024 tokens per step", "middle")]
    for tokens in range(0, most, 5000):
        out += [line(left, y(tokens), right, y(tokens)), text(left - 8, y(tokens) + 4, f"{tokens:,}", "end")]
    for count in (2**power for power in range(8)):
        out += [line(x(count), top, x(count), bottom, "#eee"), text(x(count), bottom + 18, str(count), "middle")]
    ends, hollow = {}, []
    for plan, color in COLORS.items():
        of_plan = [row for row in rows if (row["network"], row["plan"]) == ("gpt2-medium", plan)]
        points = [(x(int(row["sequences"])), y(float(row["tokens_per_s"])), row["fits"])
                  for row in of_plan if row["tokens_per_s"]]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py, _ in points)
        dashes = ' stroke-dasharray="2 4"' if plan == "one card" else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>')
        dots = [(px, py, color if fits == "yes" else "#fff") for px, py, fits in points]
        out += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" stroke="{color}" fill="{fill}"/>' for px, py, fill in dots]
        hollow += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="5" stroke="{color}" stroke-width="2" fill="{fill}"/>'
                   for px, py, fill in dots if fill != color]
        ends[plan] = points[-1][1]
    for plan, place in apart(ends, 16).items():
        color = COLORS[plan]
        out += [line(right + 6, ends[plan], right + 24, place, color), text(right + 28, place + 4, plan, fill=color)]
    out += [*hollow, text(right + 28, 440, "hollow: does not fit")]
    write_svg("throughput.svg", width, height, out)


def memory(rows):
    at_8 = {(row["network"], row["plan"]): row for row in rows if row["sequences"] == "8"}
    bar, top = 24, 84
    bottom = top + bar * len(BARS)
    title = "Memory of the fuller card, 8 micro-batches of 1024 tokens, forecast"
    out = [text(130, 24, title, more=' font-size="16"')]
    place = 130
    for part, color in PARTS.items():
        out += [f'<rect x="{place}" y="36" width="12" height="12" fill="{color}"/>', text(place + 16, 47, part)]
        place += 32 + 8 * len(part)
    for panel, network in enumerate(("gpt2-medium", "gpt2-large")):
        left = 130 + panel * 490
        scale = 440 / 18
        out.append(text(left, 72, network, more=' font-weight="bold"'))
        for gib in range(0, 19, 3):
            x = left + gib * scale
            out += [line(x, top, x, bottom), text(x, bottom + 18, str(gib), "middle")]
        for number, plan in enumerate(BARS):
            y = top + number * bar
            if panel == 0:
                out.append(text(left - 8, y + 16, plan, "end"))
            x = left
            for part, color in PARTS.items():
                wide = float(at_8[network, plan][f"{part}_gib"]) * scale
                out.append(f'<rect x="{x:.1f}" y="{y + 4}" width="{wide:.1f}" height="{bar - 8}" fill="{color}"/>')
                x += wide
        limit = left + CARD_GIB * scale
        out += [line(limit, top - 4, limit, bottom, "#000", ' stroke-width="2"'),
                text(limit, top - 10, f"{CARD_GIB} GiB", "middle")]
    out.append(text(565, bottom + 40, "GiB", "middle"))
    write_svg("memory.svg", 1100, bottom + 50, out)


def cell(row):
    if not row["tokens_per_s"]:
        return "-"
    return f"{float(row['tokens_per_s']) / 1e3:.1f}" + ("" if row["fits"] == "yes" else "†")


def throughput_table(rows):
    rows = [row for row in rows if row["network"] == "gpt2-medium"]
    counts = list(dict.fromkeys(row["sequences"] for row in rows))
    lines = ["| plan | " + " | ".join(counts) + " | speed-up at 8 | of two cards | GiB at 8 |",
             "|---|" + "--:|" * (len(counts) + 3)]
    for plan in dict.fromkeys(row["plan"] for row in rows):
        of_plan = {row["sequences"]: row for row in rows if row["plan"] == plan}
        at_8 = of_plan["8"]
        if at_8["tokens_per_s"]:
            speedup = float(at_8["speedup"])
            share = "" if plan == "one card" else f"{speedup * 50:.0f} %"
            lines.append(f"| {plan} | " + " | ".join(cell(of_plan[count]) for count in counts) +
                         f" | {speedup:.2f} | {share} | {float(at_8['memory_gib']):.1f} |")
    return lines


def assumption_table(rows):
    shown = ("dp", "tp", "gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-v", "dualpipev")
    return ["| rates | " + " | ".join(shown) + " |", "|---|" + "--:|" * len(shown)] + [
        f"| {row['case']} | " + " | ".join(f"{float(row[plan]):.2f}" for plan in shown) + " |" for row in rows]


def put_tables(tables):
    with open("README.md") as file:
        page = file.read()
    for name, lines in tables.items():
        block = re.compile(f"(<!-- {name}, from run.sh -->\n).*?(<!-- end -->)", re.DOTALL)
        assert block.search(page), name
        page = block.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], page)
    with open("README.md", "w") as file:
        file.write(page)


if __name__ == "__main__":
    forecasts = read("forecasts.csv")
    throughput(forecasts)
    memory(forecasts)
    put_tables({"throughput": throughput_table(forecasts), "assumptions": assumption_table(read("assumptions.csv"))})
