#!/usr/bin/env python3
"""Times one transformer layer forward and backward, eager and in a CUDA graph.

    python3 layers.py --out FOLDER [--only SUBSTRING,...] [--budget SECONDS]

It writes layers.jsonl. The parameters are bfloat16, the batch is one sequence and attention is flash.
"""

import argparse
import dataclasses
import gc
import json
import os
import time

os.environ.setdefault("TEARDOWN_CUPTI", "0")
os.environ.setdefault("DISABLE_CUPTI_LAZY_REINIT", "1")

import torch  # noqa: E402
from torch import nn  # noqa: E402

from measure import Watch, environment, measure, profiled  # noqa: E402
from networks import SHAPES, TINY, Block, backends, born, choose_attention, rotation, start  # noqa: E402
from train import capture  # noqa: E402


def one(network, tokens, graph, device, tiny, watch):
    shape = (TINY if tiny else SHAPES)[network]
    with born(device, torch.bfloat16):
        block = Block(shape, "attention", nn.Linear)
        start(block)
        x = torch.randn(1, tokens, shape.hidden, device=device, requires_grad=True)
        gradient = torch.randn(1, tokens, shape.hidden, device=device)
    cos, sin = rotation(shape.head, tokens, device)
    leaves = [x, *block.parameters()]

    def work():
        # Fresh gradients are written, not added, as in the first micro-batch of a step.
        for leaf in leaves:
            leaf.grad = None
        block(x, cos, sin).backward(gradient)

    with backends("flash"):
        path = choose_attention(block, shape, "flash", device)
        step = work
        if graph:
            held = capture(work)
            step = held.replay
        record = {"status": "done", "shape": dataclasses.asdict(shape), "grouped_query_path": path,
                  "parameters": sum(p.numel() for p in block.parameters()), "tokens_per_step": tokens}
        record.update(measure(step, device, watch, steps=20))
        record.update(profiled(step, device, not graph))
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results")
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", type=float, default=1e9)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    begun = time.perf_counter()
    os.makedirs(args.out, exist_ok=True)
    watch = Watch(args.device)
    with open(os.path.join(args.out, "layers_environment.json"), "w") as file:
        json.dump(environment(args.device), file, indent=1)
    with open(os.path.join(args.out, "layers.jsonl"), "w") as file:
        for network in ("gpt-13b", "llama-8b", "moe-8x"):
            for tokens in (2048, 4096, 8192):
                for graph in (False, True):
                    name = f"{network}/layer/bf16/t{tokens}/flash/{'graph' if graph else 'eager'}"
                    if args.only and not any(word in name for word in args.only.split(",")):
                        continue
                    if time.perf_counter() - begun > args.budget:
                        record = {"status": "left out", "error": "budget"}
                    else:
                        try:
                            size = tokens // 64 if args.tiny else tokens
                            record = one(network, size, graph, args.device, args.tiny, watch)
                        except Exception as error:
                            record = {"status": "failed", "error": f"{type(error).__name__}: {str(error)[:1500]}"}
                    record = {"name": name, **record}
                    file.write(json.dumps(record) + "\n")
                    file.flush()
                    if record["status"] == "done":
                        busy = record.get("profile", {}).get("gpu_busy_us", 0) / 1e3
                        print(f"{name:<46} {record['step_ms']['median']:>9.3f} ms {busy:>9.3f} ms busy", flush=True)
                    else:
                        print(f"{name:<46} {record['status']}: {record['error'][:100]!r}", flush=True)
                    gc.collect()
                    if args.device != "cpu":
                        torch.cuda.empty_cache()
                        torch.cuda.reset_peak_memory_stats()
    watch.end()


if __name__ == "__main__":
    main()
