#!/usr/bin/env python3
"""Runs seeded random commands with two builds of stepcast and compares all they print and write.

A change of structure changes no output. Usage, from the root of the tree:

    python3 tests/structure/same_outputs.py BEFORE AFTER [--commands 300] [--seed 1] [--list]

BEFORE and AFTER are two programs. Each command runs once with each in an empty folder; the exit code, stdout, stderr
and every written file have to be the same byte for byte. Where they differ BEFORE runs again, five times at most, for a
duration may round to one figure twice: numbers that differ between two runs of one program (measured durations) are
left out of the comparison, nothing else. The exit code is 0 where all are the same, 1 otherwise. --list prints the
commands and runs none.
"""
import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMBER = re.compile(rb"\d[\d.,:]*")
LIMIT_S = 120
MOST_AGAIN = 5


def catalogue(program, noun):
    """The ids of one table of the catalogue."""
    lines = subprocess.run([program, "list", noun, "--csv"], capture_output=True, text=True, check=True).stdout
    return [line.split(",")[0] for line in lines.splitlines()[1:]]


class Draw:
    """One random command after the other; every kind of command has the same chance."""

    def __init__(self, program, seed):
        self.random = random.Random(seed)
        self.rows = {noun: catalogue(program, noun)
                     for noun in ("networks", "machines", "gpus", "profiles", "stacks", "engines", "schedules")}
        self.launches = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "examples/launches").glob("*"))
        self.programs = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "examples").glob("*.flow"))

    def one(self, *values):
        return str(self.random.choice(values))

    def row(self, noun):
        return self.random.choice(self.rows[noun])

    def some(self, chance, *words):
        return [str(w) for w in words] if self.random.random() < chance else []

    def split(self):
        one, some = self.one, self.some
        return ["--gpus", one(8, 16, 64, 96, 512), *some(0.6, "--tp", one(1, 2, 4, 8)),
                *some(0.5, "--pp", one(1, 2, 4, 8)), *some(0.2, "--cp", one(2, 4)),
                *some(0.1, "--cp-kind", one("ring", "gather", "ulysses")), *some(0.15, "--ep", one(2, 8)),
                *some(0.3, "--zero", one(0, 1, 2, 3)), *some(0.1, "--dp-replicate", 2),
                *some(0.3, "--recompute", one("none", "selective", "full", "full:2")),
                *some(0.2, "--schedule", self.row("schedules")), *some(0.15, "--chunks", one(2, 4)),
                *some(0.2, "--precision", one("fp8", "fp16", "fp32")), *some(0.2, "--seq", one("2k", "4k", "32k")),
                *some(0.1, "--layout", one("even", "balanced")), *some(0.1, "--lora", 16),
                *some(0.1, "--tp-overlap", one("on", "off")), *some(0.2, "--stack", self.row("stacks"))]

    def run(self):
        network = self.row("networks") if self.random.random() < 0.6 else self.one("llama3-8b", "llama3-70b")
        return [network, *self.some(0.7, "--machine", self.row("machines")), *self.split(),
                *self.some(0.8, "--global-batch", self.one(64, 128, 256))]

    def served(self):
        one, some = self.one, self.some
        network = self.row("networks") if self.random.random() < 0.5 else one("llama3-8b", "qwen3-30b-a3b")
        return [network, *some(0.6, "--machine", self.row("machines")), *some(0.6, "--engine", self.row("engines")),
                *some(0.5, "--tp", one(1, 2, 4, 8)), *some(0.2, "--weights", one("fp8", "fp8-block", "bf16"))]

    def predict(self):
        return ["predict", *self.run(), *self.some(0.4, self.one("--json", "--explain"))]

    def emit(self):
        return ["predict", *self.run(), "--emit", self.one("megatron", "torchtitan", "nemo", "deepspeed")]

    def launch(self):
        return [self.one("predict", "explain"), *self.some(0.5, "llama3-8b"), "--launch", self.one(*self.launches),
                *self.some(0.3, "--json"), *self.some(0.3, "--lenient")]

    def whatif(self):
        return ["whatif", *self.run(), "--top", self.one(3, 8), *self.some(0.5, "--json")]

    def scale(self):
        return ["scale", *self.run(), *self.some(0.5, self.one("--weak", "--strong")), *self.some(0.4, "--json")]

    def roofline(self):
        return ["roofline", *self.run(), *self.some(0.5, self.one("--json", "-o page.html", "-o plot.svg"))]

    def timeline(self):
        return ["timeline", *self.run(), *self.one("--json", "-o trace.json", "-o page.html").split()]

    def report(self):
        return ["report", *self.run(), "-o", "folder"]

    def job(self):
        return ["job", *self.run(), *self.one("--tokens 1T", "--days 20", "--steps 5000").split(),
                *self.some(0.4, "--json")]

    def sweep(self):
        return ["sweep", self.one("llama3-8b", "gpt3-6.7b", "mixtral-8x7b"), "--gpus", self.one(8, 16), "--global-batch",
                self.one(32, 64), "--recompute", "none", "--micro-batch", self.one("1", "1,2"), "--zero", "1",
                "--top", "5", *self.some(0.6, self.one("--json", "--csv", "--dry-run"))]

    def infer(self):
        return ["infer", *self.served(), *self.one("--phase prefill --prompt 2048", "--context 4096 --batch 16",
                "--prompt 512 --output 64 --batch 8").split(), *self.some(0.5, self.one("--json", "--explain"))]

    def serve(self):
        return ["serve", *self.served(), "--input", self.one(256, 1024), "--output", self.one(32, 128),
                *self.one("--concurrency 8", "--rate 2").split(), "--requests", "60", *self.some(0.4, "--json")]

    def kernel(self):
        size = [self.one(128, 1000, 4096, 8192) for _ in range(3)]
        asked = self.random.choice([
            ["gemm", "--m", size[0], "--n", size[1], "--k", size[2]],
            ["attention", "--seq", size[0], "--heads", self.one(8, 32), "--kv-heads", "8"],
            ["norm", "--rows", size[0], "--columns", size[1]]])
        return ["kernel", *asked, "--machine", self.row("gpus"), *self.some(0.4, "--json")]

    def collective(self):
        return ["collective", self.one("all_reduce", "all_gather", "reduce_scatter", "all_to_all"), "--machine",
                self.row("machines"), "--bytes", self.one("4KiB", "1MiB", "256MiB"), "--gpus", self.one(2, 4, 8),
                *self.some(0.4, "--json")]

    def schedule(self):
        return ["schedule", self.row("schedules"), "--stages", self.one(2, 4, 8), "--micro-batches",
                self.one(4, 8, 16), "--forward", "1", "--input-grad", self.one("1", "1.2"), "--weight-grad", "0.7",
                *self.some(0.2, "--chunks", 2), *self.some(0.7, *self.one("--json", "--csv", "--svg order.svg",
                "--trace trace.json", "--order order.json").split())]

    def dataflow(self):
        return ["dataflow", self.one(*self.programs), *self.some(0.4, "--json")]

    def catalog(self):
        noun = self.one("networks", "machines", "gpus", "profiles", "stacks", "engines")
        return self.random.choice([["list", noun, *self.some(0.7, self.one("--json", "--csv"))],
                                   ["show", noun.rstrip("s"), self.row(noun), *self.some(0.5, "--json")]])

    def validate(self):
        return ["validate", *self.some(0.7, "--json")]

    def command(self):
        kinds = (self.predict, self.emit, self.launch, self.whatif, self.scale, self.roofline, self.timeline,
                 self.report, self.job, self.sweep, self.infer, self.serve, self.kernel, self.collective, self.schedule,
                 self.dataflow, self.catalog, self.validate)
        return [word for words in self.random.choice(kinds)() for word in words.split(" ")]


def outputs(program, command):
    """All that one run leaves: the exit code, what it printed and its files by name."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "examples").symlink_to(ROOT / "examples")
        try:
            done = subprocess.run([program, *command], cwd=folder, capture_output=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return {"exit code": f"none in {LIMIT_S} s".encode()}
        found = {"exit code": str(done.returncode).encode(), "stdout": done.stdout, "stderr": done.stderr}
        for file in sorted(pathlib.Path(folder).rglob("*")):
            inside = file.relative_to(folder)
            if file.is_file() and inside.parts[0] != "examples":
                found[str(inside)] = file.read_bytes()
        return found


def same(old, agains, new):
    """Is the new text the old one, but for numbers that runs of the old program print differently?"""
    if len({NUMBER.sub(b"#", text) for text in (old, new, *agains)}) > 1:
        return False
    numbers = (NUMBER.findall(text) for text in (old, new, *agains))
    return all(a == c or any(a != b for b in more) for a, c, *more in zip(*numbers))


def differing(before, after, command):
    """The names of the outputs that differ, and what the program before left."""
    old, new = outputs(before, command), outputs(after, command)
    agains = []
    names = [] if old == new else sorted(old.keys() | new.keys())
    while names and len(agains) < MOST_AGAIN:
        agains.append(outputs(before, command))
        found = (old, new, *agains)
        names = [name for name in sorted(set().union(*found))
                 if not all(name in one for one in found)
                 or not same(old[name], [one[name] for one in agains], new[name])]
    return names, old


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("before")
    asked.add_argument("after", nargs="?")
    asked.add_argument("--commands", type=int, default=300)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--list", action="store_true")
    given = asked.parse_args()
    before = str(pathlib.Path(given.before).resolve())
    draw = Draw(before, given.seed)
    commands = [draw.command() for _ in range(given.commands)]
    if given.list or not given.after:
        print("\n".join("stepcast " + " ".join(c) for c in commands))
        return 0
    after, wrong, codes = str(pathlib.Path(given.after).resolve()), 0, collections.Counter()
    for command in commands:
        names, found = differing(before, after, command)
        codes[found["exit code"].decode()] += 1
        if names:
            wrong += 1
            print("differs:", "stepcast", " ".join(command), "in", ", ".join(names), flush=True)
    print(f"{len(commands)} commands, {wrong} differ; exit codes:",
          ", ".join(f"{count} x {code}" for code, count in sorted(codes.items())))
    return 1 if wrong or not codes["0"] else 0


if __name__ == "__main__":
    sys.exit(main())
