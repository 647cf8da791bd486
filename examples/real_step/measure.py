"""Times a step, counts its kernels and watches the card."""

import json
import os
import re
import statistics
import subprocess
import tempfile
import threading
import time

import torch


class Watch:
    """Samples clock, power and temperature of the card every 50 ms on a thread of its own.

    It reads only. It takes NVML through pynvml, or else nvidia-smi, or else it has no samples.
    """

    def __init__(self, device):
        self.samples = []  # (seconds, MHz, W, degrees Celsius, reasons that hold the clock back)
        self.source = "none"
        self.on = True
        self.process = None
        if device != "cpu":
            self.begin()

    def begin(self):
        try:
            import pynvml
            pynvml.nvmlInit()
            try:
                uuid = str(torch.cuda.get_device_properties(0).uuid)
                card = pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else "GPU-" + uuid)
            except Exception:
                card = pynvml.nvmlDeviceGetHandleByIndex(0)
            reasons = (getattr(pynvml, "nvmlDeviceGetCurrentClocksEventReasons", None)
                       or pynvml.nvmlDeviceGetCurrentClocksThrottleReasons)
            calls = (lambda: pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_SM),
                     lambda: pynvml.nvmlDeviceGetPowerUsage(card) / 1000,
                     lambda: pynvml.nvmlDeviceGetTemperature(card, pynvml.NVML_TEMPERATURE_GPU),
                     lambda: int(reasons(card)))
            if all(attempt(call) is None for call in calls):
                raise RuntimeError("NVML answers nothing")
            self.source = "pynvml"
            threading.Thread(target=self.by_nvml, args=(calls,), daemon=True).start()
        except Exception:
            try:
                self.process = subprocess.Popen(
                    ["nvidia-smi", "-i", "0", "--query-gpu=clocks.sm,power.draw,temperature.gpu",
                     "--format=csv,noheader,nounits", "-lms", "50"],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
                self.source = "nvidia-smi"
                threading.Thread(target=self.by_smi, daemon=True).start()
            except Exception:
                self.source = "none"

    def by_nvml(self, calls):
        while self.on:
            self.samples.append((time.perf_counter(), *(attempt(call) for call in calls)))
            time.sleep(0.05)

    def by_smi(self):
        for line in self.process.stdout:
            values = [attempt(lambda: float(word)) for word in line.split(",")]
            if len(values) == 3:
                self.samples.append((time.perf_counter(), *values, None))

    def between(self, first, last):
        """What the samples of this time say."""
        rows = [s for s in self.samples if first <= s[0] <= last]
        out = {"samples": len(rows)}
        for column, name in ((1, "sm_mhz"), (2, "power_w"), (3, "temperature_c")):
            values = [s[column] for s in rows if s[column] is not None]
            if values:
                out[name] = {"min": min(values), "median": statistics.median(values), "max": max(values)}
        reasons = sorted({s[4] for s in rows if s[4] is not None})
        if reasons:
            out["clock_reasons"] = [hex(reason) for reason in reasons]
        return out

    def end(self):
        self.on = False
        if self.process:
            self.process.terminate()


def attempt(call):
    try:
        return call()
    except Exception:
        return None


def environment(device):
    """The versions and the card."""
    out = {"torch": torch.__version__, "cuda": torch.version.cuda, "cpus": os.cpu_count(),
           "python": ".".join(map(str, __import__("sys").version_info[:3])),
           "cudnn": attempt(lambda: torch.backends.cudnn.version()),
           "triton": attempt(lambda: __import__("triton").__version__),
           "processor": attempt(lambda: re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())[1])}
    if device != "cpu":
        card = torch.cuda.get_device_properties(0)
        out.update(gpu=card.name, memory_bytes=card.total_memory, sms=card.multi_processor_count,
                   uuid=attempt(lambda: str(card.uuid)))
        fields = ("driver_version,uuid,power.limit,power.default_limit,clocks.max.sm,clocks.max.mem,"
                  "clocks.applications.graphics,ecc.mode.current,mig.mode.current,persistence_mode")
        answer = attempt(lambda: subprocess.run(
            ["nvidia-smi", "-i", "0", "--query-gpu=" + fields, "--format=csv,noheader"],
            capture_output=True, text=True, timeout=20).stdout.strip())
        out["nvidia_smi"] = dict(zip(fields.split(","), [v.strip() for v in (answer or "").split(",")]))
        out["allocator"] = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "default")
    return out


def wait(device):
    if device != "cpu":
        torch.cuda.synchronize()


def mark(device):
    if device == "cpu":
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def spread(values):
    """Median and quartiles."""
    values = sorted(values)
    if len(values) < 2:
        return {"median": values[0], "q1": values[0], "q3": values[0]}
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "q1": q1, "q3": q3}


def measure(step, device, watch, steps=0):
    """Warms up, then times steps one after another by CUDA events.

    With steps=0 it takes at least 8 steps and a second of work, but no more than about three seconds.
    """
    begun = time.perf_counter()
    for turn in range(3):
        first = time.perf_counter()
        step()
        wait(device)
        one = time.perf_counter() - first
        if turn == 1 and one > 1.5:
            break  # A long step is warm after two.
    count = steps or int(max(2, min(max(8, 1.0 / one + 1), 3.0 / one, 1000)))
    if not steps:
        for _ in range(min(5, int(0.3 / one))):
            step()  # The clock of the card settles under load.
        wait(device)
    if device != "cpu":
        settled = torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    first = time.perf_counter()
    marks, enqueued = [mark(device)], []
    for _ in range(count):
        start = time.perf_counter()
        step()
        enqueued.append((time.perf_counter() - start) * 1e3)
        marks.append(mark(device))
    wait(device)
    last = time.perf_counter()
    if device == "cpu":
        times = [(b - a) * 1e3 for a, b in zip(marks, marks[1:])]
    else:
        times = [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
    out = {"step_ms": spread(times), "steps": count, "warm_up_s": first - begun, "wall_ms": (last - first) * 1e3,
           "all_step_ms": [round(t, 4) for t in times], "all_enqueue_ms": [round(t, 4) for t in enqueued],
           "card": watch.between(first, last)}
    if device != "cpu":
        # The allocator does not count what a graph holds for its replays; the reserved bytes do,
        # and the peak before the timing covers the eager steps of the warm-up.
        out["memory"] = {"warm_up_peak_allocated_bytes": settled, "before_step_bytes": before,
                         "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
                         "peak_reserved_bytes": torch.cuda.max_memory_reserved()}
    # A step alone, after the queue has run empty, shows the time of the host without the wait for a full queue.
    alone, host = [], []
    for _ in range(1 if one > 1.2 else 2 if one > 0.5 else 5):
        wait(device)
        start = time.perf_counter()
        step()
        host.append((time.perf_counter() - start) * 1e3)
        wait(device)
        alone.append((time.perf_counter() - start) * 1e3)
    out["alone"] = {"host_enqueue_ms": statistics.median(host), "step_ms": statistics.median(alone)}
    return out


# The first class whose pattern a kernel's name holds is its class. The norm of all gradients
# counts as optimizer, and the loss as softmax.
CLASSES = [(kind, re.compile(pattern, re.I)) for kind, pattern in (
    ("memset", r"^memset"),
    ("copy", r"^memcpy|copy_kernel|direct_copy|CatArray|copy_device_to_device|float8_copy|LoadWithCast"),
    ("optimizer", r"multi_tensor|adam"),
    ("attention", r"flash|fmha|sdpa"),
    ("compiled", r"^triton_"),
    ("gemm", r"gemm|nvjet|cutlass|xmma|cublas|splitk|gemv|matmul|grouped|dot_kernel"),
    ("norm", r"layer_norm|rms_norm|layernorm|rmsnorm|GammaBeta"),
    ("softmax", r"softmax|nll_loss"),
    ("embedding", r"embedding|compute_grad_weight|krn_partial|sum_and_scatter|compute_num_of_partial|write_num_of"),
    ("sort", r"sort|radix|scan_by_key|scan|topk|searchsorted|cub::|thrust"),
    ("gather", r"index|gather|scatter"),
    ("reduce", r"reduce"),
    ("convolution", r"conv"),
    ("elementwise", r"elementwise|fill|arange|tri[lu]_|cross_entropy|dropout"),
)]


def kind_of(name):
    return next((kind for kind, pattern in CLASSES if pattern.search(name)), "other")


def profile(step, device, shapes, turns=1, keep=None):
    """Profiles steps and returns a summary of one, by kernel and by operator.

    With keep it also writes the Chrome trace to that path. Operators need the CPU side (shapes=True).
    """
    from torch.profiler import ProfilerActivity
    activities = [ProfilerActivity.CUDA] if device != "cpu" else [ProfilerActivity.CPU]
    if shapes and device != "cpu":
        activities.append(ProfilerActivity.CPU)
    wait(device)
    with torch.profiler.profile(activities=activities, record_shapes=shapes) as run:
        for _ in range(turns):
            step()
        wait(device)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        run.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        size = 0
        if keep:
            import gzip
            with open(path, "rb") as file:
                packed = gzip.compress(file.read(), 6)
            size = len(packed)
            if size < 4_000_000:
                with open(keep, "wb") as file:
                    file.write(packed)
    return summary(events, turns), size


def profiled(step, device, shapes):
    """The summary of one step as a part of a record. A profile that fails loses no timing."""
    try:
        return {"profile": profile(step, device, shapes)[0]}
    except Exception as error:
        return {"profile_error": f"{type(error).__name__}: {str(error)[:1500]}"}


def summary(events, turns):
    """Calls and time of one step by class, by kernel and by operator."""
    on_card, launches, operators = [], {}, {}
    for event in events:
        kind = event.get("cat")
        if kind in ("kernel", "gpu_memcpy", "gpu_memset"):
            on_card.append(event)
        elif kind in ("cuda_runtime", "cuda_driver") and re.search("Launch|Memcpy|Memset|Synchronize", event["name"]):
            launches[event["name"]] = launches.get(event["name"], 0) + 1
        elif kind == "cpu_op":
            operators[event.get("args", {}).get("External id")] = event
    by_class, by_kernel, by_operator = {}, {}, {}
    spans = []
    for event in on_card:
        name, args, us = event["name"], event.get("args", {}), event.get("dur", 0)
        kind = kind_of(name)
        spans.append((event["ts"], event["ts"] + us))
        op = operators.get(args.get("External id"))
        op_key = (op["name"], json.dumps(op.get("args", {}).get("Input Dims", ""))) if op else ("", "")
        for table, key in ((by_class, kind), (by_kernel, (kind, name)),
                           (by_operator, (*op_key, kind, name[:120]))):
            entry = table.setdefault(key, {"calls": 0, "us": 0.0})
            entry["calls"] += 1
            entry["us"] += us
            if table is by_kernel and "grid" in args:
                entry["launch"] = {"grid": args["grid"], "block": args.get("block"),
                                   "registers": args.get("registers per thread"),
                                   "shared_bytes": args.get("shared memory")}
    busy, until = 0.0, 0.0
    for first, last in sorted(spans):
        busy += max(0.0, last - max(first, until))
        until = max(until, last)
    span = (max(s[1] for s in spans) - min(s[0] for s in spans)) if spans else 0.0

    def listed(table, names, most):
        rows = sorted(table.items(), key=lambda item: -item[1]["us"])
        out = []
        for key, entry in rows[:most]:
            key = key if isinstance(key, tuple) else (key,)
            out.append({**dict(zip(names, (word[:300] for word in key))), **entry, "calls": entry["calls"] / turns,
                        "us": round(entry["us"] / turns, 2)})
        return out

    result = {
        "steps": turns,
        "kernels_per_step": sum(e["cat"] == "kernel" for e in on_card) / turns,
        "copies_per_step": sum(e["cat"] != "kernel" for e in on_card) / turns,
        "host_calls_per_step": {name: n / turns for name, n in sorted(launches.items())},
        "gpu_busy_us": round(busy / turns, 1), "gpu_span_us": round(span / turns, 1),
        "classes": listed(by_class, ("class",), 30),
        # The launch shape is that of the last call; the calls of one name can differ.
        "kernels": listed(by_kernel, ("class", "name"), 120),
    }
    if operators:
        result["operators"] = listed(by_operator, ("operator", "input_dims", "class", "kernel"), 150)
    return result
