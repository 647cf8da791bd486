"""Turns results of run.py into records of measured runs, which `stepcast validate` and `calibrate runs` read.

    python3 records.py results.jsonl > steps.json

Dense networks in bf16 under the flash kernel are taken, eager or in a graph: what the stack `pytorch` describes. What
else was measured (autocast, torch.compile, experts, fp8, planted causes) stays in the results.
"""

import gzip
import json
import sys


def rows_of(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        return [json.loads(line) for line in file]


def describes(row):
    setting = row.get("setting", {})
    return (row["status"] == "done" and setting["kind"] == "train" and setting["recipe"] == "bf16"
            and setting["attention"] == "flash" and not setting["plant"] and not setting["again"]
            and not setting["compiled"] and not setting["fp8"] and row["shape"]["experts"] == 0
            and row["shape"]["attention_every"] == 1)


def record_of(row):
    setting, shape = row["setting"], row["shape"]
    seconds = row["step_ms"]["median"] / 1e3
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
            "tied_embeddings": shape["tied"], "arch": "decoder",
        },
        "hardware": {"gpu": "H100-80GB-SXM", "gpus_per_node": 8},
        "parallel": {"gpus": 1, "tp": 1, "pp": 1, "dp": 1, "cp": 1, "zero_stage": 0, "schedule": "none"},
        "batch": {"micro_batch": setting["batch"], "global_batch": setting["batch"] * setting["micro"]},
        "recompute": "full" if setting["recompute"] else "none",
        "precision": "bf16",
        "software": "PyTorch, one GPU",
        "measured": {"step_time_s": round(seconds, 7), "step_time_source": "measured",
                     "tokens_per_s_per_gpu": round(row["tokens_per_step"] / seconds, 3)},
    }


def main():
    records = [record_of(row) for row in rows_of(sys.argv[1]) if describes(row)]
    print("[\n" + ",\n".join(json.dumps(record, separators=(",", ":")) for record in records) + "\n]")


if __name__ == "__main__":
    main()
