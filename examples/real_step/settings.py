"""The table of settings. A row states everything that its run does, and the first rows tell most."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    kind: str                # train, decode or prefill
    network: str
    recipe: str = "bf16"     # amp or bf16, see README.md
    batch: int = 1           # sequences in a micro-batch
    length: int = 1024       # tokens of a sequence; in decode the tokens that the cache holds
    micro: int = 1           # micro-batches of a step
    layers: int = 0          # 0 takes all layers of the network
    attention: str = "flash"  # flash, cudnn or math: the only backend that may run
    compiled: str = ""       # "", block (each block by torch.compile) or whole (the whole network)
    graph: bool = False      # a CUDA graph holds the micro-step, the decode step or the prefill
    recompute: bool = False  # each block is checkpointed
    fp8: bool = False        # the linear parts of the blocks run in 8-bit floats
    optimizer: str = "fused"  # fused or loop (one parameter after the other)
    plant: str = ""          # a cause planted on purpose
    trace: bool = False      # keeps a Chrome trace
    cost: float = 4          # a rough guess of seconds
    again: bool = False      # repeats an earlier row, to show drift

    @property
    def name(self):
        network = self.network + (f"-{self.layers}L" if self.layers else "")
        size = f"b{self.batch}xt{self.length}" + (f"xm{self.micro}" if self.kind == "train" else "")
        mode = "+".join(filter(None, (f"compile-{self.compiled}" if self.compiled else "",
                                      "graph" if self.graph else ""))) or "eager"
        parts = [network, self.kind, self.recipe + ("-fp8" if self.fp8 else ""), size, self.attention, mode]
        name = "/".join(parts) + ("+recompute" if self.recompute else "")
        return name + (f"+{self.plant}" if self.plant else "") + ("+again" if self.again else "")


def train(network, recipe, batch, length, micro, **more):
    return Row("train", network, recipe, batch, length, micro, **more)


def decode(network, batch, length, **more):
    return Row("decode", network, "bf16", batch, length, **{"graph": True, "cost": 3.5, **more})


def prefill(network, batch, length, **more):
    return Row("prefill", network, "bf16", batch, length, **{"cost": 3.5, **more})


ROWS = [
    train("gpt-125m", "amp", 8, 1024, 1, trace=True, cost=10),
    train("gpt-125m", "amp", 8, 1024, 1, graph=True),
    train("gpt-125m", "amp", 1, 1024, 4),
    train("gpt-125m", "amp", 1, 1024, 4, graph=True),
    train("gpt-1.3b", "amp", 4, 2048, 1),
    train("gpt-1.3b", "amp", 4, 2048, 4, recompute=True, cost=9),
    train("gpt-1.3b", "bf16", 2, 1024, 2),
    train("gpt-1.3b", "bf16", 2, 1024, 2, plant="host-gap"),
    train("gpt-1.3b", "bf16", 2, 1024, 2, plant="extra-copy"),
    train("gpt-1.3b", "bf16", 2, 1024, 2, attention="math", plant="math-attention"),
    train("gpt-1.3b", "bf16", 2, 1024, 2, optimizer="loop", plant="loop-optimizer"),
    train("gpt-1.3b", "bf16", 2, 1024, 2, plant="sync"),
    train("gpt-1.3b", "bf16", 4, 2048, 8, cost=11),
    train("gpt-1.3b", "bf16", 4, 2048, 1, attention="cudnn"),
    train("llama-1b", "bf16", 2, 4096, 1),
    train("llama-1b", "bf16", 2, 4096, 1, graph=True, trace=True, cost=8),
    train("llama-1b", "bf16", 1, 16384, 1, recompute=True, cost=7),
    train("llama-8b", "bf16", 1, 4096, 1, layers=8),
    train("llama-8b", "bf16", 1, 4096, 4, layers=8, graph=True, cost=7),
    decode("llama-8b", 1, 1024, trace=True, cost=6),
    decode("llama-8b", 1, 1024, graph=False),
    decode("llama-8b", 16, 4096),
    decode("llama-8b", 64, 2048),
    decode("llama-8b", 2, 65536),
    prefill("llama-8b", 1, 1024),
    prefill("llama-8b", 1, 8192),
    prefill("llama-8b", 1, 32768, cost=6),
    decode("llama-1b", 1, 1024),
    decode("llama-1b", 1, 65536),
    decode("llama-1b", 8, 8192),
    decode("llama-1b", 64, 4096),
    decode("llama-1b", 256, 1024),
    decode("llama-1b", 32, 16384),
    prefill("llama-1b", 1, 1024, graph=True),
    prefill("llama-1b", 8, 2048),
    prefill("llama-1b", 1, 16384, attention="cudnn"),
    train("moe-8x", "bf16", 4, 2048, 1),
    train("moe-8x", "bf16", 4, 2048, 2, graph=True),
    train("moe-8x", "bf16", 1, 32768, 1, recompute=True, cost=7),
    train("gpt-125m", "bf16", 16, 1024, 16, cost=10),
    train("gpt-125m", "amp", 1, 1024, 4, plant="host-gap"),
    train("gpt-125m", "amp", 1, 1024, 4, plant="sync"),
    train("gpt-125m", "amp", 8, 1024, 1, again=True),
    train("llama-1b", "amp", 1, 2048, 8, cost=6),
    train("llama-8b", "bf16", 2, 4096, 2, layers=16, recompute=True, cost=8),
    train("gpt-1.3b", "bf16", 1, 32768, 1, recompute=True, cost=14),
    train("hybrid", "bf16", 2, 4096, 1, cost=6),
    train("llama-8b", "bf16", 1, 4096, 1, layers=4),
    train("llama-8b", "bf16", 1, 4096, 1, layers=4, fp8=True),
    train("gpt-125m", "amp", 8, 1024, 1, compiled="block", cost=35),
    train("llama-1b", "bf16", 2, 4096, 1, compiled="block", graph=True, cost=25),
    train("gpt-1.3b", "bf16", 4, 2048, 1, compiled="block", cost=25),
    train("llama-8b", "bf16", 1, 4096, 1, layers=4, fp8=True, compiled="block", cost=30),
    train("hybrid", "bf16", 2, 4096, 1, compiled="block", cost=45),
    train("gpt-125m", "amp", 8, 1024, 1, compiled="whole", cost=50),
    train("gpt-125m", "bf16", 2, 2048, 2),
]
