"""A decode step with a static cache, and a prefill that fills one."""

import torch

from train import Run, capture


def cache_of(shape, batch, length, device):
    size = (batch, shape.kv_heads, length, shape.head)
    return [tuple(torch.randn(size, device=device, dtype=torch.bfloat16) for _ in range(2))
            for _ in range(shape.layers)]


class Decoding(Run):
    """One new token for each sequence while the cache holds row.length tokens.

    Each step writes the same place of the cache, so all steps have the same sizes.
    """

    new = 1

    def set_up(self):
        row, net = self.row, self.net
        net.eval().requires_grad_(False)
        self.at = row.length if self.new == 1 else 0
        self.cache = cache_of(net.shape, row.batch, self.at + self.new, self.device)
        self.ids = torch.randint(0, net.shape.vocab, (row.batch, self.new), device=self.device)
        self.next = torch.zeros(row.batch, 1, device=self.device, dtype=torch.int64)
        with torch.no_grad():
            self.graph = capture(self.work) if row.graph else None

    def work(self):
        self.next.copy_(self.net(self.ids, cache=self.cache, at=self.at)[:, -1].argmax(-1, keepdim=True))
        if self.new == 1:
            self.ids.copy_(self.next)

    def step(self):
        with torch.no_grad():
            if self.graph:
                self.graph.replay()
            else:
                self.work()

    def tokens(self):
        return self.row.batch * self.new

    def facts(self):
        return {"cache_bytes": sum(t.numel() * t.element_size() for pair in self.cache for t in pair),
                "next_token": int(self.next[0, 0]), "vocab": self.net.shape.vocab}


class Prefill(Decoding):
    """All tokens of the prompts at once. It fills the cache and gives the next token."""

    def __init__(self, row, net, device):
        self.new = row.length
        super().__init__(row, net, device)
