"""The networks, in plain PyTorch, with random weights."""

import contextlib
import math
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True)
class Shape:
    """The sizes of one network.

    A "gpt" has learned positions, LayerNorm, a GELU feed-forward part and biases.
    Every other one has rotary positions, RMSNorm, SwiGLU and no biases.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head: int
    ffn: int
    vocab: int
    gpt: bool = False
    tied: bool = False
    experts: int = 0
    active: int = 0
    attention_every: int = 1  # The other layers are Mamba-2 layers.


SHAPES = {
    "gpt-125m": Shape(12, 768, 12, 12, 64, 3072, 50304, gpt=True, tied=True),
    "gpt-1.3b": Shape(24, 2048, 16, 16, 128, 8192, 50304, gpt=True, tied=True),
    "gpt-13b": Shape(40, 5120, 40, 40, 128, 20480, 50304, gpt=True, tied=True),
    "llama-1b": Shape(16, 2048, 32, 8, 64, 8192, 128256, tied=True),
    "llama-8b": Shape(32, 4096, 32, 8, 128, 14336, 128256),
    "moe-8x": Shape(12, 1024, 16, 8, 64, 3584, 32000, experts=8, active=2),
    "hybrid": Shape(12, 1024, 16, 16, 64, 4096, 32000, attention_every=6),
}

TINY = {
    "gpt-125m": Shape(2, 64, 4, 4, 16, 128, 256, gpt=True, tied=True),
    "gpt-1.3b": Shape(5, 64, 4, 4, 16, 128, 256, gpt=True, tied=True),
    "gpt-13b": Shape(2, 64, 4, 4, 16, 128, 256, gpt=True, tied=True),
    "llama-1b": Shape(2, 64, 4, 2, 16, 128, 256, tied=True),
    "llama-8b": Shape(2, 64, 4, 2, 16, 128, 256),
    "moe-8x": Shape(2, 64, 4, 2, 16, 128, 256, experts=8, active=2),
    "hybrid": Shape(2, 64, 4, 4, 16, 128, 256, attention_every=2),
}

# What this machine's PyTorch can do. The probes below fill it once.
paths = {}


def backends(attention):
    """A context that allows one attention backend and no other."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel({
        "flash": SDPBackend.FLASH_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION,
        "math": SDPBackend.MATH,
    }[attention])


def probe_attention(attention, head, device):
    """Says if the backend takes fewer key heads as they are, or wants them repeated."""
    key = f"gqa/{attention}/{head}"
    if key not in paths:
        q = torch.randn(1, 4, 128, head, device=device, dtype=torch.bfloat16, requires_grad=True)
        k = torch.randn(1, 2, 128, head, device=device, dtype=torch.bfloat16, requires_grad=True)
        try:
            with backends(attention):
                F.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True).sum().backward()
            paths[key] = "native"
        except Exception as error:
            paths[key] = "repeated"
            paths[key + "/why"] = str(error)[:200]
    return paths[key]


def grouped(x, weight, stops):
    """Products of groups of rows with one matrix each: x (rows, in), weight (experts, out, in)."""
    if paths["grouped"] == "loop":
        # The loop reads the counts on the host, so it waits for the GPU.
        out = x.new_zeros(x.shape[0], weight.shape[1])
        first = 0
        for expert, stop in enumerate(stops.tolist()):
            out[first:stop] = x[first:stop] @ weight[expert].t()
            first = stop
        return out
    product = getattr(F, "grouped_mm", None) or torch._grouped_mm
    return product(x, weight.transpose(1, 2), offs=stops)


def probe_grouped(device):
    """Uses the grouped product if it runs forward and backward here, else a loop over experts."""
    if "grouped" not in paths:
        paths["grouped"] = "grouped_mm"
        try:
            x = torch.randn(64, 64, device=device, dtype=torch.bfloat16, requires_grad=True)
            weight = torch.randn(4, 128, 64, device=device, dtype=torch.bfloat16, requires_grad=True)
            stops = torch.tensor([8, 32, 40, 56], device=device, dtype=torch.int32)
            grouped(x, weight, stops)[:56].sum().backward()
            if str(device) != "cpu":
                torch.cuda.synchronize()
        except Exception as error:
            paths["grouped"] = "loop"
            paths["grouped/why"] = str(error)[:200]
    return paths["grouped"]


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, 1e-5)


def norm(shape):
    return nn.LayerNorm(shape.hidden) if shape.gpt else RMSNorm(shape.hidden)


def turn(x, cos, sin):
    """Rotary positions, with the two halves of a head as the pairs."""
    half = x.shape[-1] // 2
    swapped = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + swapped * sin


class Attention(nn.Module):
    def __init__(self, shape, linear):
        super().__init__()
        self.shape = shape
        self.repeat = False
        wide, narrow = shape.heads * shape.head, shape.kv_heads * shape.head
        if shape.gpt:
            self.qkv = linear(shape.hidden, 3 * wide, bias=True)
        else:
            self.q = linear(shape.hidden, wide, bias=False)
            self.k = linear(shape.hidden, narrow, bias=False)
            self.v = linear(shape.hidden, narrow, bias=False)
        self.out = linear(wide, shape.hidden, bias=shape.gpt)

    def forward(self, x, cos, sin, keys, values, at):
        b, t, _ = x.shape
        s = self.shape
        if s.gpt:
            q, k, v = self.qkv(x).split(s.heads * s.head, dim=2)
        else:
            q, k, v = self.q(x), self.k(x), self.v(x)
        q = q.view(b, t, s.heads, s.head).transpose(1, 2)
        k = k.view(b, t, s.kv_heads, s.head).transpose(1, 2)
        v = v.view(b, t, s.kv_heads, s.head).transpose(1, 2)
        if not s.gpt:
            q, k = turn(q, cos, sin), turn(k, cos, sin)
        if keys is not None:
            keys[:, :, at:at + t].copy_(k)
            values[:, :, at:at + t].copy_(v)
            if t == 1:
                k, v = keys[:, :, :at + 1], values[:, :, :at + 1]
        if s.kv_heads == s.heads:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        elif self.repeat:
            times = s.heads // s.kv_heads
            k, v = k.repeat_interleave(times, dim=1), v.repeat_interleave(times, dim=1)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1, enable_gqa=True)
        return self.out(y.transpose(1, 2).reshape(b, t, s.heads * s.head))


class Gelu(nn.Module):
    def __init__(self, shape, linear):
        super().__init__()
        self.up = linear(shape.hidden, shape.ffn, bias=True)
        self.down = linear(shape.ffn, shape.hidden, bias=True)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Swiglu(nn.Module):
    def __init__(self, shape, linear):
        super().__init__()
        self.gate = linear(shape.hidden, shape.ffn, bias=False)
        self.up = linear(shape.hidden, shape.ffn, bias=False)
        self.down = linear(shape.ffn, shape.hidden, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """A mixture of experts: tokens are sorted by expert and no token is dropped."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.router = nn.Linear(shape.hidden, shape.experts, bias=False)
        self.gate = nn.Parameter(torch.randn(shape.experts, shape.ffn, shape.hidden) * 0.02)
        self.up = nn.Parameter(torch.randn(shape.experts, shape.ffn, shape.hidden) * 0.02)
        self.down = nn.Parameter(torch.randn(shape.experts, shape.hidden, shape.ffn) * 0.02)
        self.register_buffer("numbers", torch.arange(shape.experts), persistent=False)

    def forward(self, x):
        shape, active = x.shape, self.shape.active
        x = x.reshape(-1, shape[-1])
        share, chosen = torch.topk(F.softmax(self.router(x), dim=-1, dtype=torch.float32), active)
        share = (share / share.sum(-1, keepdim=True)).to(x.dtype)
        expert, order = torch.sort(chosen.reshape(-1), stable=True)
        token = order // active
        # A group starts at a multiple of 8 rows, because the grouped product wants 16-byte starts.
        # All of this stays on the GPU, so a graph can hold it.
        ends = torch.searchsorted(expert, self.numbers, right=True)
        starts = F.pad(ends[:-1], (1, 0))
        padded = (ends - starts + 7) // 8 * 8
        stops = torch.cumsum(padded, 0)
        slot = torch.arange(expert.shape[0], device=x.device) + (stops - padded - starts)[expert]
        rows = x.new_zeros(expert.shape[0] + 8 * self.shape.experts, shape[-1])
        rows = rows.index_copy(0, slot, x.index_select(0, token))
        stops = stops.to(torch.int32)
        middle = F.silu(grouped(rows, self.gate, stops)) * grouped(rows, self.up, stops)
        out = grouped(middle, self.down, stops).index_select(0, slot)
        out = out * share.reshape(-1).index_select(0, order)[:, None]
        return torch.zeros_like(x).index_add(0, token, out).view(shape)


def scan(x, a, b, c, chunk):
    """The state-space sum of Mamba-2 in chunks.

    x (batch, time, head, width), a (batch, time, head) the log of the decay,
    b and c (batch, time, state). Inside a chunk it is a masked product;
    between chunks it carries one state a head.
    """
    batch, time_, heads, width = x.shape
    n = time_ // chunk
    x = x.view(batch, n, chunk, heads, width).permute(0, 1, 3, 2, 4)
    a = a.view(batch, n, chunk, heads).permute(0, 1, 3, 2).cumsum(-1)
    b = b.view(batch, n, 1, chunk, -1)
    c = c.view(batch, n, 1, chunk, -1)
    lower = torch.ones(chunk, chunk, device=x.device, dtype=torch.bool).tril()
    decay = torch.exp((a[..., :, None] - a[..., None, :]).masked_fill(~lower, -math.inf))
    inside = ((c @ b.transpose(-1, -2)) * decay).to(x.dtype) @ x
    last = a[..., -1:]
    states = (x * torch.exp(last - a)[..., None].to(x.dtype)).transpose(-1, -2) @ b
    total = last.squeeze(-1)
    after = total.cumsum(1)
    earlier = torch.ones(n, n, device=x.device, dtype=torch.bool).tril(-1)[None, :, :, None]
    weight = torch.exp(((after - total)[:, :, None] - after[:, None]).masked_fill(~earlier, -math.inf))
    start = torch.einsum("bijh,bjhpn->bihpn", weight.to(x.dtype), states)
    outside = (c @ start.transpose(-1, -2)) * torch.exp(a)[..., None].to(x.dtype)
    return (inside + outside).permute(0, 1, 3, 2, 4).reshape(batch, time_, heads, width)


class Mamba(nn.Module):
    """A Mamba-2 layer with one group, a state of 128 and heads of 64."""

    def __init__(self, shape, linear):
        super().__init__()
        self.inner, self.state, self.width = 2 * shape.hidden, 128, 64
        self.heads = self.inner // self.width
        self.chunk = 128
        mixed = self.inner + 2 * self.state
        self.enter = linear(shape.hidden, self.inner + mixed + self.heads, bias=False)
        self.conv = nn.Conv1d(mixed, mixed, 4, groups=mixed, padding=3)
        self.rate = nn.Parameter(torch.zeros(self.heads))
        self.bias = nn.Parameter(torch.full((self.heads,), -4.0))
        self.skip = nn.Parameter(torch.ones(self.heads))
        self.norm = RMSNorm(self.inner)
        self.out = linear(self.inner, shape.hidden, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        mixed = self.inner + 2 * self.state
        z, u, dt = self.enter(x).split((self.inner, mixed, self.heads), dim=2)
        u = F.silu(self.conv(u.transpose(1, 2))[..., :t].transpose(1, 2))
        u, into, out = u.split((self.inner, self.state, self.state), dim=2)
        u = u.reshape(b, t, self.heads, self.width)
        dt = F.softplus(dt.float() + self.bias.float())
        a = -torch.exp(self.rate.float()) * dt
        y = scan(u * dt[..., None].to(u.dtype), a, into.contiguous(), out.contiguous(), min(self.chunk, t))
        y = (y + u * self.skip[:, None].to(u.dtype)).reshape(b, t, self.inner)
        return self.out(self.norm(y * F.silu(z)))


class Eighth(torch.autograd.Function):
    """A linear product in 8-bit floats with one scale a tensor: e4m3 forward, e5m2 gradients."""

    @staticmethod
    def cut(x, kind):
        scale = x.abs().amax().float().clamp(min=1e-12) / torch.finfo(kind).max
        return (x.float() / scale).to(kind), scale

    @staticmethod
    def forward(ctx, x, weight):
        rows = x.reshape(-1, x.shape[-1])
        x8, x_scale = Eighth.cut(rows, torch.float8_e4m3fn)
        w8, w_scale = Eighth.cut(weight, torch.float8_e4m3fn)
        ctx.save_for_backward(x8, x_scale, w8, w_scale)
        ctx.wide = x.shape
        y = torch._scaled_mm(x8, w8.t(), scale_a=x_scale, scale_b=w_scale,
                             out_dtype=torch.bfloat16, use_fast_accum=True)
        return y.view(*x.shape[:-1], weight.shape[0])

    @staticmethod
    def backward(ctx, grad):
        x8, x_scale, w8, w_scale = ctx.saved_tensors
        g8, g_scale = Eighth.cut(grad.reshape(-1, grad.shape[-1]), torch.float8_e5m2)
        # The 8-bit product takes its first factor by rows and its second by columns,
        # so the backward pass copies three transposes.
        to_x = torch._scaled_mm(g8, w8.t().contiguous().t(), scale_a=g_scale, scale_b=w_scale,
                                out_dtype=torch.bfloat16, use_fast_accum=False)
        to_w = torch._scaled_mm(g8.t().contiguous(), x8.t().contiguous().t(), scale_a=g_scale,
                                scale_b=x_scale, out_dtype=torch.bfloat16, use_fast_accum=False)
        return to_x.view(ctx.wide), to_w


class Linear8(nn.Linear):
    """A bias-free linear part in 8-bit floats; its weights stay in bfloat16."""

    def forward(self, x):
        return Eighth.apply(x, self.weight)


class Block(nn.Module):
    def __init__(self, shape, mixer, linear):
        super().__init__()
        self.mamba = mixer == "mamba"
        self.norm1 = norm(shape)
        self.mixer = Mamba(shape, linear) if self.mamba else Attention(shape, linear)
        self.norm2 = norm(shape)
        if shape.experts:
            self.mlp = Experts(shape)
        else:
            self.mlp = (Gelu if shape.gpt else Swiglu)(shape, linear)

    def forward(self, x, cos, sin, keys=None, values=None, at=0):
        y = self.norm1(x)
        x = x + (self.mixer(y) if self.mamba else self.mixer(y, cos, sin, keys, values, at))
        return x + self.mlp(self.norm2(x))


class Network(nn.Module):
    def __init__(self, shape, longest, linear=nn.Linear):
        super().__init__()
        self.shape = shape
        self.recompute = False
        self.plant = ""
        self.embed = nn.Embedding(shape.vocab, shape.hidden)
        if shape.gpt:
            self.places = nn.Embedding(longest, shape.hidden)
            self.register_buffer("place", torch.arange(longest), persistent=False)
        else:
            cos, sin = rotation(shape.head, longest, self.embed.weight.device)
            self.register_buffer("cos", cos, persistent=False)
            self.register_buffer("sin", sin, persistent=False)
        self.blocks = nn.ModuleList(
            Block(shape, "attention" if (i + 1) % shape.attention_every == 0 else "mamba", linear)
            for i in range(shape.layers))
        self.norm = norm(shape)
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)
        if shape.tied:
            self.head.weight = self.embed.weight
        start(self)

    def forward(self, ids, targets=None, cache=None, at=0):
        x = self.embed(ids)
        t = ids.shape[1]
        cos = sin = None
        if self.shape.gpt:
            x = x + self.places(self.place[at:at + t])
        else:
            cos, sin = self.cos[at:at + t], self.sin[at:at + t]
        for i, block in enumerate(self.blocks):
            if self.plant:
                x = planted(self.plant, i, x)
            if cache is not None:
                x = block(x, cos, sin, cache[i][0], cache[i][1], at)
            elif self.recompute:
                # There is no dropout, so the state of the random numbers need not be kept.
                x = checkpoint(block, x, cos, sin, use_reentrant=False, preserve_rng_state=False)
            else:
                x = block(x, cos, sin)
        if cache is not None:
            x = x[:, -1:]
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return F.cross_entropy(logits.float().view(-1, self.shape.vocab), targets.view(-1))


def planted(plant, layer, x):
    """The causes that a row plants on purpose inside the forward pass."""
    if plant == "host-gap" and layer % 4 == 3:
        time.sleep(0.002)
    if plant == "extra-copy":
        return x.clone()
    if plant == "sync" and x.is_cuda:
        torch.cuda.synchronize()
    return x


def rotation(head, longest, device):
    speed = 500000.0 ** (-torch.arange(0, head, 2, device=device, dtype=torch.float32) / head)
    angle = torch.arange(longest, device=device, dtype=torch.float32)[:, None] * speed
    angle = torch.cat((angle, angle), dim=-1)
    return angle.cos().to(torch.bfloat16), angle.sin().to(torch.bfloat16)


def start(module):
    """Small random weights. Values do not matter here, only that nothing overflows."""
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, (nn.Linear, nn.Embedding)):
                part.weight.normal_(std=0.02)
                if getattr(part, "bias", None) is not None:
                    part.bias.zero_()


@contextlib.contextmanager
def born(device, dtype):
    """Parameters made inside are made on the device in this type, which is fast."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with contextlib.nullcontext() if str(device) == "cpu" else torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)


def choose_attention(module, shape, attention, device):
    """Sets how the attention layers treat fewer key heads and returns the name of that path."""
    if shape.experts:
        probe_grouped(device)
    if shape.kv_heads == shape.heads:
        return "equal heads"
    path = probe_attention(attention, shape.head, device)
    for part in module.modules():
        if isinstance(part, Attention):
            part.repeat = path == "repeated"
    return path
