"""A training step: micro-batches forward and backward, clipping, AdamW."""

import gc
from dataclasses import replace

import torch

from networks import SHAPES, TINY, Linear8, Network, backends, born, choose_attention


def capture(work):
    """Runs the work three times on a side stream, then holds it in a CUDA graph."""
    # A node of an earlier backward pass that is still alive would tie the capture to the default stream.
    gc.collect()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # The same stream as before, because autograd sums gradients on the stream where it first met them.
    with torch.cuda.graph(graph, stream=stream):
        work()
    torch.cuda.synchronize()
    return graph


def shape_of(row, tiny):
    shape = (TINY if tiny else SHAPES)[row.network]
    return replace(shape, layers=row.layers) if row.layers and not tiny else shape


def build_key(row):
    """Rows with the same key can use the same network one after the other."""
    longest = row.length + (1 if row.kind == "decode" else 0)
    return row.network, row.layers, row.recipe, row.fp8, longest if row.network.startswith("gpt") else 65537


def build(row, device, tiny):
    dtype = torch.float32 if row.recipe == "amp" else torch.bfloat16
    with born(device, dtype):
        return Network(shape_of(row, tiny), build_key(row)[4], Linear8 if row.fp8 else torch.nn.Linear)


class Run:
    """One row made ready: step() runs one step and close() drops what it holds."""

    def __init__(self, row, net, device):
        self.row, self.net, self.device = row, net, device
        self.context = backends(row.attention)
        self.context.__enter__()
        try:
            self.gqa = choose_attention(net, net.shape, row.attention, device)
            net.recompute, net.plant = row.recompute, row.plant
            self.set_up()
        except BaseException:
            self.context.__exit__(None, None, None)
            raise

    def close(self):
        self.context.__exit__(None, None, None)
        self.net.zero_grad(set_to_none=True)
        self.__dict__.clear()


class Training(Run):
    def set_up(self):
        row, net, device = self.row, self.net, self.device
        net.train().requires_grad_(True)
        size = (row.micro, row.batch, row.length)
        self.ids = torch.randint(0, net.shape.vocab, size, device=device)
        self.targets = torch.randint(0, net.shape.vocab, size, device=device)
        self.parameters = [p for p in net.parameters()]
        how = {"fused": True} if row.optimizer == "fused" else {"foreach": False}
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, **how)
        if row.compiled == "block":
            for block in net.blocks:
                block.compile(dynamic=False)
        elif row.compiled == "whole":
            net.compile(dynamic=False)
        self.graph = None
        if row.graph:
            # The gradients stay where they are, because the graph adds into them.
            self.input = (self.ids[0].clone(), self.targets[0].clone())
            self.graph = capture(lambda: self.micro(*self.input))
            net.zero_grad(set_to_none=False)

    def micro(self, ids, targets):
        with torch.autocast(torch.device(self.device).type, dtype=torch.bfloat16, enabled=self.row.recipe == "amp"):
            loss = self.net(ids, targets) / self.row.micro
        loss.backward()
        self.loss = loss.detach()

    def step(self):
        for ids, targets in zip(self.ids, self.targets):
            if self.graph:
                self.input[0].copy_(ids)
                self.input[1].copy_(targets)
                self.graph.replay()
            else:
                self.micro(ids, targets)
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=self.graph is None)

    def tokens(self):
        return self.row.micro * self.row.batch * self.row.length

    def facts(self):
        # The loss is that of the last micro-batch. It says only that the numbers are sane.
        return {"loss": float(self.loss) * self.row.micro, "vocab": self.net.shape.vocab}
