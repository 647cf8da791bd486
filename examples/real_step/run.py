#!/usr/bin/env python3
"""Runs the rows of settings.py on one GPU and writes results.jsonl and environment.json.

    python3 run.py --out FOLDER [--only SUBSTRING,...] [--budget SECONDS] [--list] [--profile none|summary|all]
"""

import argparse
import dataclasses
import gc
import json
import os
import subprocess
import sys
import time

# CUDA graphs and a profiler that is taken down and set up again do not go together,
# so the profiler stays once it has been used.
os.environ.setdefault("TEARDOWN_CUPTI", "0")
os.environ.setdefault("DISABLE_CUPTI_LAZY_REINIT", "1")

from settings import ROWS  # noqa: E402

LONGEST_ROW = 150  # Seconds after which a row counts as hung.
BROKEN = 3         # The exit status of a worker whose GPU state may be broken.


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results", help="the folder for the results; rows in it are not run again")
    parser.add_argument("--only", default="", help="run only rows whose name holds one of these, comma-separated")
    parser.add_argument("--budget", type=float, default=1e9, help="start no row that would end after so many seconds")
    parser.add_argument("--list", action="store_true", help="list the rows and end")
    parser.add_argument("--profile", choices=("none", "summary", "all"), default="summary",
                        help="summary profiles a step of each row and keeps traces of the marked rows; "
                             "all keeps every trace")
    parser.add_argument("--device", default="cuda", help="cpu is for a test of this program")
    parser.add_argument("--tiny", action="store_true", help="tiny networks, for a test of this program")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def chosen(args):
    rows = [row for row in ROWS if not args.only or any(word in row.name for word in args.only.split(","))]
    if args.tiny:
        rows = [dataclasses.replace(row, length=max(32, row.length // 64 // 16 * 16), batch=min(row.batch, 4),
                                    micro=min(row.micro, 4), cost=0.1) for row in rows]
    return rows


def write(args, record):
    with open(os.path.join(args.out, "results.jsonl"), "a") as file:
        file.write(json.dumps(record) + "\n")
        file.flush()


def done(args):
    try:
        with open(os.path.join(args.out, "results.jsonl")) as file:
            return [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []


def error_text(error):
    return f"{type(error).__name__}: {str(error)[:1500]}"


def one_row(row, net, args, watch):
    """Runs one row and returns its record."""
    from decode import Decoding, Prefill
    from measure import measure, profile, profiled
    from train import Training
    record = {"name": row.name, "status": "done", "setting": dataclasses.asdict(row),
              "tiny": args.tiny, "parameters": sum(p.numel() for p in net.parameters())}
    begun = time.perf_counter()
    run = {"train": Training, "decode": Decoding, "prefill": Prefill}[row.kind](row, net, args.device)
    try:
        record["shape"] = dataclasses.asdict(net.shape)
        record["grouped_query_path"] = run.gqa
        record["set_up_s"] = time.perf_counter() - begun
        record.update(measure(run.step, args.device, watch))
        record["tokens_per_step"] = run.tokens()
        record["tokens_per_second"] = run.tokens() / record["step_ms"]["median"] * 1e3
        record.update(run.facts())
        if args.profile != "none":
            # The CPU side of many micro-batches is long to read, and a graph has none.
            record.update(profiled(run.step, args.device, row.micro <= 4 and not row.graph))
        if args.profile == "all" or args.profile == "summary" and row.trace:
            try:
                path = os.path.join(args.out, row.name.replace("/", "_") + ".trace.json.gz")
                for turns in (3, 1):
                    _, size = profile(run.step, args.device, True, turns, path)
                    if size < 4_000_000:
                        break
                record["trace"] = {"steps": turns, "bytes": size, "kept": size < 4_000_000,
                                   "file": os.path.basename(path)}
            except Exception as error:
                record["trace_error"] = error_text(error)
    finally:
        run.close()
    record["row_s"] = time.perf_counter() - begun
    return record


def free(device):
    gc.collect()
    if device != "cpu":
        import torch
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def work(args):
    """Runs the rows that results.jsonl does not hold yet. It ends early when the GPU state may be broken."""
    begun = time.perf_counter()
    import torch
    from measure import Watch, environment
    from networks import paths
    from train import build, build_key
    torch.manual_seed(1)
    path = os.path.join(args.out, "environment.json")
    watch = Watch(args.device)
    facts = {**environment(args.device), "watch": watch.source}
    with open(path, "w") as file:
        json.dump(facts, file, indent=1)
    names = {record["name"] for record in done(args)}
    net, key, broken = None, None, False
    for row in chosen(args):
        if row.name in names:
            continue
        if time.perf_counter() - begun + row.cost > args.budget:
            write(args, {"name": row.name, "status": "left out", "error": "budget"})
            continue
        with open(os.path.join(args.out, "running.txt"), "w") as file:
            file.write(row.name)
        try:
            if build_key(row) != key:
                net = None
                free(args.device)
                net, key = build(row, args.device, args.tiny), build_key(row)
            record = one_row(row, net, args, watch)
        except Exception as error:
            record = {"name": row.name, "status": "failed", "setting": dataclasses.asdict(row),
                      "error": error_text(error)}
            out_of_memory = isinstance(error, getattr(torch, "OutOfMemoryError", ()))
            # A capture or a kernel that failed can leave the GPU of this process unusable.
            broken = row.graph or not sound(args.device, out_of_memory)
        write(args, record)
        print(line_of(record), flush=True)
        if broken:
            return BROKEN
        if row.compiled or record["status"] == "failed":
            # A compiled network stays compiled, and a failed one may hold parts of the failed step.
            net, key = None, None
            if row.compiled and hasattr(torch, "_dynamo"):
                torch._dynamo.reset()
        record = None
        free(args.device)
    facts["paths"] = paths
    with open(path, "w") as file:
        json.dump(facts, file, indent=1)
    watch.end()
    return 0


def sound(device, out_of_memory):
    if device == "cpu" or out_of_memory:
        return True
    try:
        import torch
        torch.cuda.synchronize()
        return float(torch.ones(8, device=device).sum()) == 8
    except Exception:
        return False


def line_of(record):
    if record["status"] != "done":
        return f"{record['name']:<74} {record['status']}: {record.get('error', '')[:100]!r}"
    peak = max((record.get("memory", {}).get(k, 0) for k in ("peak_allocated_bytes", "warm_up_peak_allocated_bytes")))
    return (f"{record['name']:<74} {record['step_ms']['median']:>10.3f} {record['tokens_per_second']:>12.0f} "
            f"{peak / 2**30:>7.2f} {record['alone']['host_enqueue_ms']:>9.3f} {record['row_s']:>6.1f}")


def supervise(args):
    """Starts a worker, and another one for the rest whenever one breaks or hangs."""
    os.makedirs(args.out, exist_ok=True)
    begun = time.perf_counter()
    running = os.path.join(args.out, "running.txt")
    for _ in range(12):
        left = args.budget - (time.perf_counter() - begun)
        command = [sys.executable, os.path.abspath(__file__), "--worker", "--out", args.out, "--only", args.only,
                   "--budget", str(left), "--profile", args.profile, "--device", args.device]
        worker = subprocess.Popen(command + (["--tiny"] if args.tiny else []))
        started, why = time.time(), ""
        while worker.poll() is None:
            time.sleep(0.2)
            try:
                since = max(started, os.path.getmtime(running))
            except OSError:
                since = started
            # A budget that has run out ends a row too, so that what is done can be kept.
            over = time.perf_counter() - begun > args.budget + 20
            if over or time.time() - since > LONGEST_ROW:
                why = "past the budget" if over else f"no end after {LONGEST_ROW} s"
                worker.kill()
                worker.wait()
        if worker.returncode == 0:
            break
        over = why.startswith("past")
        try:
            with open(running) as file:
                name = file.read()
        except OSError:
            print("the worker ended before its first row")
            break
        if name not in {record["name"] for record in done(args)}:
            write(args, {"name": name, "status": "failed",
                         "error": why or f"the worker ended with status {worker.returncode}"})
        if over:
            break
    if os.path.exists(running):
        os.remove(running)
    names = {record["name"] for record in done(args)}
    for row in chosen(args):
        if row.name not in names:
            write(args, {"name": row.name, "status": "left out", "error": "budget or too many restarts"})
    records = done(args)
    print(f"\n{'row':<74} {'median ms':>10} {'tokens/s':>12} {'GiB':>7} {'host ms':>9} {'row s':>6}")
    for record in records:
        print(line_of(record))
    counts = {state: sum(r["status"] == state for r in records) for state in ("done", "failed", "left out")}
    print(", ".join(f"{n} {state}" for state, n in counts.items()), f"in {time.perf_counter() - begun:.0f} s")


def main():
    args = arguments()
    if args.list:
        for row in chosen(args):
            print(f"{row.name:<74} about {row.cost:g} s")
        print(f"{len(chosen(args))} rows, about {sum(row.cost for row in chosen(args)):.0f} s")
        return 0
    if args.worker:
        return work(args)
    supervise(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
