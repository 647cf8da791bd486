"""Asks `stepcast predict` for every plan of two cards over the micro-batches of a step. See run.sh."""
import csv
import json
import os
import subprocess
import tempfile

STEPCAST = os.environ["STEPCAST"]
COMMON = "--stack pytorch-fsdp --machine two-2080ti-pc --precision fp16"
SEQUENCES = (1, 2, 4, 8, 16, 32, 64, 128)  # of a step: micro-batches of one sequence
FEW = 8
GIB = 2**30
PARTS = ("weights", "gradients", "optimizer", "activations", "temporary", "framework")
ONE_CARD = "one card"
PLANS = {
    ONE_CARD: "--gpus 1",
    "dp": "--gpus 2 --zero 0",
    "dp zero-1": "--gpus 2 --zero 1",
    "dp zero-3": "--gpus 2 --zero 3",
    "tp": "--gpus 2 --tp 2 --sp off",
}
# Cut along the sequence, which predict does not do: without slices they repeat 1f1b and gpipe.
SLICED = ("seq-1f1b", "terapipe")


def stepcast(words):
    return subprocess.run([STEPCAST, *words.split()], capture_output=True, text=True)


def plans():
    listed = json.loads(stepcast("list schedules --json").stdout)["schedules"]
    found = dict(PLANS)
    for kind in listed:
        if kind["id"] not in SLICED:
            chunks = " --chunks 2" if kind["chunks"] == "2 or more" else ""
            found[kind["id"]] = f"--gpus 2 --pp 2 --schedule {kind['id']}{chunks}"
    return found


def predict(network, flags, sequences, more=""):
    """The report, or the reason why there is none."""
    ran = stepcast(f"predict {network}.json {COMMON} {flags} --global-batch {sequences} --json{more}")
    if ran.returncode:
        return None, ran.stderr.splitlines()[0].partition(": ")[2]
    return json.loads(ran.stdout), ""


def tokens_per_s(report):
    return report["tokens_per_s_per_gpu"] * report["run"]["gpus"]


def row(network, plan, flags, sequences, one_card):
    report, why = predict(network, flags, sequences)
    cells = {"network": network, "plan": plan, "sequences": sequences, "flags": f"{COMMON} {flags}", "refused": why}
    if report:
        memory = report["memory"]
        low, high = report["step_time_interval_s"]
        cells |= {
            "step_s": report["step_time_s"], "step_p10_s": low, "step_p90_s": high,
            "tokens_per_s": tokens_per_s(report), "speedup": tokens_per_s(report) / one_card,
            "bubble": report["bubble_fraction"],
            "memory_gib": memory["peak_bytes"] / GIB, "fits": "yes" if memory["fits"] else "no",
        } | {f"{part}_gib": memory["by_lifetime_bytes"][part] / GIB for part in PARTS}
    return cells


def rounded(cells):
    return {key: f"{value:.5g}" if isinstance(value, float) else value for key, value in cells.items()}


def write(path, rows):
    columns = list(dict.fromkeys(key for cells in rows for key in cells))
    columns.sort(key=lambda column: column == "refused")  # last: it is a sentence
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, columns, lineterminator="\n")
        out.writeheader()
        out.writerows(rounded(cells) for cells in rows)


def forecasts():
    rows = []
    for network, counts in (("gpt2-medium", SEQUENCES), ("gpt2-large", (FEW,))):
        for sequences in counts:
            one_card = tokens_per_s(predict(network, PLANS[ONE_CARD], sequences)[0])
            rows += [row(network, plan, flags, sequences, one_card) for plan, flags in plans().items()]
    return rows


def scaled_profile(kernels, links):
    """The profile with kernels and collectives this many times as slow."""
    profile = json.loads(stepcast("show profile rtx-2080ti --json").stdout)
    for law in (*profile["gemm"], profile["attention"], profile["memory"]):
        for rate in ("compute_flops_per_s", "memory_bytes_per_s"):
            if rate in law:
                law[rate] /= kernels
    for law in profile["collectives"]:
        law["bandwidth_bytes_per_s"] /= links
        law["points"] = [[size, seconds * links] for size, seconds in law["points"]]
    return profile | {"id": "scaled", "aliases": []}


def assumptions():
    """Speed-up over one card where the assumed rates are wrong: all kernels of both cards, or the link."""
    cases = (("as in the profile", 1, 1), ("kernels 1.4 x slower", 1.4, 1), ("kernels 1.33 x faster", 0.75, 1),
             ("link half as fast", 1, 2), ("link twice as fast", 1, 0.5))
    rows = []
    for name, kernels, links in cases:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(scaled_profile(kernels, links), file)
            file.flush()
            reports = {plan: predict("gpt2-medium", flags, FEW, f" --profile {file.name}")[0]
                       for plan, flags in plans().items()}
        one_card = tokens_per_s(reports[ONE_CARD])
        speedups = {plan: tokens_per_s(report) / one_card for plan, report in reports.items() if report}
        rows.append({"case": name} | speedups)
    return rows


def stage_times():
    """What the two cards do per micro-batch, as a file for `stepcast schedule --times`, and a hop between them."""
    report, _ = predict("gpt2-medium", plans()["1f1b"], FEW)
    times = {key: [f"{stage[key + '_s'] * 1e3:.2f} ms" for stage in report["stages"]]
             for key in ("forward", "input_grad", "weight_grad")}
    sends = next(move for move in report["collectives"] if move["kind"] == "send_recv")
    return times, f"{sends['time_s'] / sends['count'] * 1e6:.0f}us"


if __name__ == "__main__":
    write("forecasts.csv", forecasts())
    write("assumptions.csv", assumptions())
    times, hop = stage_times()
    with open("stages.json", "w") as file:
        file.write(json.dumps(times, indent=1) + "\n")
    with open("hop.txt", "w") as file:
        file.write(hop + "\n")
