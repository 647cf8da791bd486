"""Turns results of run.py into records of measured runs and phases, which `stepcast validate` reads.

    python3 records.py results.jsonl > steps.json            # training; for `calibrate runs`, too
    python3 records.py --phases results.jsonl > phases.json  # prompts and decoding; for `calibrate engines`, too

Dense networks and experts under the flash kernel are taken. Steps: in bf16, eager or in a graph, what the stack
`pytorch` describes; with compiled blocks (`pytorch-compile`); under autocast (`pytorch-autocast`), but in graphs only
where the host does not bound the eager step, for the stack has the host's time. Phases: decoding in a graph and eager
prompts of dense networks in bf16, what the engine `pytorch` describes. What else was measured (autocast in compiled
blocks, a scan and 8-bit products of our own, planted causes) stays in the results.
"""

import gzip
import json
import sys


def rows_of(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        return [json.loads(line) for line in file]


CATALOGUE = {"llama-1b": "llama3.2-1b", "llama-8b": "llama3-8b"}


def is_taken(row):
    setting = row.get("setting", {})
    return (row["status"] == "done" and setting["attention"] == "flash" and not setting["plant"]
            and not setting["again"] and not setting["fp8"] and row["shape"]["attention_every"] == 1)


def software(setting):
    """What stack rules know it by, "" where none describes it."""
    if setting["compiled"]:
        known = setting["compiled"] == "block" and setting["recipe"] == "bf16"
        return "PyTorch, one GPU, torch.compile" if known else ""
    return "PyTorch, one GPU, autocast" if setting["recipe"] == "amp" else "PyTorch, one GPU"


def is_step(row):
    if not is_taken(row) or row["setting"]["kind"] != "train":
        return False
    setting = row["setting"]
    # A graph of few rows takes a third of the eager step.
    bound_by_host = setting["graph"] and setting["batch"] * setting["length"] < 2048
    return software(setting) != "" and not bound_by_host


def is_phase(row):
    if not is_taken(row) or row["setting"]["recipe"] != "bf16" or row["shape"]["experts"] > 0:
        return False
    setting = row["setting"]
    if setting["compiled"]:
        return False
    return setting["network"] in CATALOGUE and (setting["kind"], setting["graph"]) in (
        ("decode", True), ("prefill", False))


def phase_of(row):
    setting = row["setting"]
    figure = "decode_step_ms" if setting["kind"] == "decode" else "prefill_ms"
    return {
        "id": "real-step-" + row["name"].replace("/", "-").lower(),
        "judged_as": "real " + setting["kind"],
        "phase": setting["kind"],
        "source": {"type": "own", "ref": "examples/real_step on one H100 80GB HBM3", "path": row["name"]},
        "model": {"id": CATALOGUE[setting["network"]]},
        "hardware": {"gpu": "H100-SXM-80GB", "count": 1, "nodes": 1},
        "software": {"name": "PyTorch", "version": "2.11"},
        "precision": {"weights": "bf16", "activations": "bf16", "kv_cache": "bf16"},
        "parallel": {"tp": 1, "pp": 1},
        "workload": {"isl": setting["length"], "osl": 1, "batch": setting["batch"]},
        "measured": {figure: round(row["step_ms"]["median"], 4)},
    }


def record_of(row):
    setting, shape = row["setting"], row["shape"]
    seconds = row["step_ms"]["median"] / 1e3
    experts = {} if shape["experts"] == 0 else {"moe": {
        "experts": shape["experts"], "topk": shape["active"], "moe_ffn": shape["ffn"], "shared_ffn": 0,
        "dense_layers": 0, "moe_layer_every": 1}}
    # A graph's pool does not count as allocated while it is replayed.
    memory = {} if setting["graph"] else {
        "peak_mem_gb": round(row["memory"]["peak_allocated_bytes"] / 1e9, 4), "peak_mem_kind": "allocated"}
    return {
        "id": "real-step-" + row["name"].replace("/", "-").replace("+", "-").lower(),
        "kind": "pretrain",
        "quality": "A",
        "source": {"type": "own", "ref": "examples/real_step on one H100 80GB HBM3", "path": row["name"]},
        "date": "2026-11",
        "model": {
            "name": row["name"].split("/")[0], "layers": shape["layers"], "hidden": shape["hidden"],
            "ffn_hidden": shape["ffn"], "heads": shape["heads"], "kv_heads": shape["kv_heads"],
            "head_dim": shape["head"], "seq_len": setting["length"], "vocab": shape["vocab"],
            "gated_mlp": not shape["gpt"], "attention": "mha" if shape["gpt"] else "gqa",
            "tied_embeddings": shape["tied"], "arch": "decoder", **experts,
        },
        "hardware": {"gpu": "H100-80GB-SXM", "gpus_per_node": 8},
        "parallel": {"gpus": 1, "tp": 1, "pp": 1, "dp": 1, "cp": 1, "zero_stage": 0, "schedule": "none"},
        "batch": {"micro_batch": setting["batch"], "global_batch": setting["batch"] * setting["micro"]},
        "recompute": "full" if setting["recompute"] else "none",
        "precision": "bf16",
        "software": software(setting),
        "measured": {"step_time_s": round(seconds, 7), "step_time_source": "measured",
                     "tokens_per_s_per_gpu": round(row["tokens_per_step"] / seconds, 3), **memory},
    }


def main():
    *options, results = sys.argv[1:]
    phases = options == ["--phases"]
    if options and not phases:
        sys.exit(__doc__)
    taken, made = (is_phase, phase_of) if phases else (is_step, record_of)
    records = [made(row) for row in rows_of(results) if taken(row)]
    print("[\n" + ",\n".join(json.dumps(record, separators=(",", ":")) for record in records) + "\n]")


if __name__ == "__main__":
    main()
