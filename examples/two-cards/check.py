"""Times a pipeline order on two real cards, with PyTorch 2.10 or later:

  stepcast schedule zb-v --stages 2 --micro-batches 8 --forward 12 --input-grad 15 --weight-grad 9 --csv >zb-v.csv
  torchrun --nproc-per-node 2 check.py zb-v.csv 8

Prints seconds per step and memory, to be held against forecasts.csv. GPT-2 medium in fp16 with fp32 master weights and
AdamW, layers dealt out evenly over the stages of the CSV. The loss is not scaled: this is for time, not for training.
"""
import re
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

HIDDEN, LAYERS, HEADS, VOCAB, TOKENS = 1024, 24, 16, 50257, 1024
STEPS, WARM_UP = 20, 5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x):
        heads = self.qkv(self.norm_1(x)).unflatten(-1, (3, HEADS, HIDDEN // HEADS)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class Stage(nn.Module):
    """A share of the layers; the first embeds, the last has the head."""

    def __init__(self, index, stages):
        super().__init__()
        self.words = nn.Embedding(VOCAB, HIDDEN) if index == 0 else None
        self.places = nn.Embedding(TOKENS, HIDDEN) if index == 0 else None
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS // stages))
        self.norm = nn.LayerNorm(HIDDEN) if index == stages - 1 else None
        self.head = nn.Linear(HIDDEN, VOCAB, bias=False) if index == stages - 1 else None

    def forward(self, x):
        if self.words:
            x = self.words(x) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)) if self.head else x


def share_embedding(mine):
    """The head is the embedding: one tensor on one card, or two whose gradients are summed. Returns the one to sum."""
    table = next((stage.words.weight for stage in mine if stage.words), None)
    head = next((stage.head for stage in mine if stage.head), None)
    if head and table is not None:
        head.weight = table
        return None
    return table if head is None else head.weight


def update(weights, masters, shared, optimizer):
    for weight, master in zip(weights, masters):
        master.grad, weight.grad = weight.grad.float(), None
        if weight is shared:
            dist.all_reduce(master.grad)
    nn.utils.clip_grad_norm_(masters, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for weight, master in zip(weights, masters):
            weight.copy_(master)


def main(path, micro_batches):
    stages_of = [{int(stage) for stage in re.findall(r"(\d+)[FIBW]", line)} for line in open(path)]
    stages = 1 + max(map(max, stages_of))
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    mine = {index: Stage(index, stages).half().to(device) for index in sorted(stages_of[rank])}
    shared = share_embedding(mine.values())
    schedule = _PipelineScheduleRuntime(
        [PipelineStage(stage, index, stages, device) for index, stage in mine.items()], micro_batches,
        loss_fn=lambda logits, target: F.cross_entropy(logits.flatten(0, 1).float(), target.flatten()))
    schedule._load_csv(path)
    weights = list({id(weight): weight for stage in mine.values() for weight in stage.parameters()}.values())
    masters = [weight.detach().float() for weight in weights]
    optimizer = torch.optim.AdamW(masters, fused=True)
    tokens = torch.randint(VOCAB, (micro_batches, TOKENS), device=device)
    first = [tokens] if 0 in mine else []
    last = {"target": tokens, "losses": []} if stages - 1 in mine else {}
    seconds = []
    for _ in range(STEPS):
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        schedule.step(*first, **last, return_outputs=False)  # else the logits of all micro-batches are kept
        update(weights, masters, shared, optimizer)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    print(f"rank {rank}: {statistics.median(seconds[WARM_UP:]):.4f} s per step, "
          f"{torch.cuda.max_memory_reserved() / 2**30:.2f} GiB reserved by PyTorch")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
