// What each command is called, takes and shows in its help.
#include <vector>

#include "studies/calibrate/calibrate.h"
#include "studies/catalog/kinds.h"
#include "studies/command_flags.h"
#include "studies/commands.h"
#include "studies/gate/gate.h"
#include "studies/compare/compare.h"
#include "studies/fleet/fleet.h"
#include "studies/infer/infer.h"
#include "studies/job/job.h"
#include "studies/launch/run_flags.h"
#include "studies/mixed/mixed_sweep.h"
#include "studies/mixed/mixed_whatif.h"
#include "studies/ask/rates.h"
#include "studies/notation/dataflow.h"
#include "studies/notation/explain_command.h"
#include "studies/predict/predict.h"
#include "studies/report/report.h"
#include "studies/roofline/roofline_flags.h"
#include "studies/scale/scale.h"
#include "studies/schedule/schedule.h"
#include "studies/serve/explain_launch.h"
#include "studies/serve/serve.h"
#include "studies/serve/sweep/serve_sweep.h"
#include "studies/sweep/sweep_flags.h"
#include "studies/timeline/timeline_flags.h"
#include "studies/validation/validate.h"
#include "studies/whatif/whatif.h"

namespace stepcast::studies {
namespace {

const std::vector<Command>& command_rows() {
  static const std::vector<Command> rows = {
      {.name = "predict",
          .usage = "NETWORK|SCENARIO.json|--launch RUN.sh [flags]",
          .summary = "forecast one training step: time, MFU, bubble, communication, memory",
          .about =
              "Forecasts one training step. NETWORK is a catalogue id (stepcast list networks), a Hugging Face name,\n"
              "a network file, or a Hugging Face config.json or its folder; keys of it that may change layers and\n"
              "are not known are refused. SCENARIO.json holds a whole run (--print-scenario writes one); flags\n"
              "override it, but where it has a mapping that alone says how the work is split. --machine may name\n"
              "GPUs of several machines, on which stages or replicas then lie in this order, dealt by speed.\n"
              "A run that does not fit in memory is a result, which says so first.",
          .least_words = 0,
          .most_words = 1,
          .flags = predict_flags(),
          .examples = {"stepcast predict llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 1024",
              "stepcast predict llama3-70b --machine dgx-h100:64,dgx-a100:64 --tp 8 --pp 8 --global-batch 256",
              "stepcast predict gpt3-175b --machine dgx-a100 --gpus 64 --tp 8 --pp 8 --recompute full --json",
              "stepcast predict llama3-8b --gpus 64 --zero 3 --global-batch 256 --explain",
              "stepcast predict llama3-8b --gpus 64 --pp 4 --global-batch 256 --gc-time 600ms --gc-every 100 "
              "--imbalance rank=17x1.5"},
          .run = predict_command},
      {.name = "infer",
          .usage = "NETWORK|--launch SERVE.sh [--phase prefill|decode|batch] [flags]",
          .summary = "forecast one phase of serving: prefill, a decode step, or a whole batch",
          .about =
              "Forecasts what an engine's iterations take: prompts that are read (--prompt), a token of each running "
              "sequence\n"
              "behind --context positions, or a static batch of both (--output). Kernels have the laws of single "
              "kernels; the\n"
              "engine's row says what graphs replay and what the host costs.",
          .least_words = 0,
          .most_words = 1,
          .flags = infer_flags(),
          .examples = {"stepcast infer llama3-8b --machine dgx-h100 --phase prefill --prompt 4096",
              "stepcast infer llama3-70b --machine dgx-h100 --tp 8 --context 8192 --batch 64",
              "stepcast infer llama3-70b --tp 8 --context 8192 --batch 64 --what-if",
              "stepcast infer llama3-70b --machine dgx-h100 --tp 16 --dcp 2 --context 30000 --batch 32",
              "stepcast infer deepseek-v3.2 --machine hgx-h200 --weights fp8-block --tp 8 --context 30000 --batch 8",
              "stepcast infer llama3-8b --prompt 1024 --output 128 --batch 16 --json"},
          .run = infer_command},
      {.name = "serve",
          .usage =
              "NETWORK|--launch SERVE.sh --input N --output N --concurrency N|--rate PER_S|--trace FILE.csv [flags]",
          .summary = "forecast an engine under load: latencies, rates, queue, cache, saturation",
          .about = "Runs requests through an engine, iteration by iteration: who is let in by its policy and its "
                   "cache, what "
                   "each\n"
                   "iteration holds, and how long it takes by the laws of infer. Users may send one request after the "
                   "other\n"
                   "(--concurrency), or requests come at a rate or by a trace. More than is served is reported as "
                   "such: then "
                   "waits\n"
                   "grow without bound, and none is printed.",
          .least_words = 0,
          .most_words = 1,
          .flags = serve_flags(),
          .examples =
              {"stepcast serve llama3-70b --machine dgx-h100 --gpus 8 --input 1024 --output 1024 --concurrency 64",
                  "stepcast serve llama3-8b --input 1024 --output 256 --rate 4 --slo \"ttft<500ms tpot<30ms\"",
                  "stepcast serve llama3-70b --gpus 8 --prefill-gpus 8 --prefill-replicas 2 --input 2048 --output 256 "
                  "--rate 4",
                  "stepcast serve llama3-8b --input 1024 --output 256 --concurrency 16 --shortest 0.8 --json",
                  "stepcast serve --input 1024 --output 128 --concurrency 8 --launch -- vllm serve Qwen/Qwen3-8B"},
          .run = serve_command},
      {.name = "serve-sweep",
          .usage = "NETWORK --gpus N[,N..] --input N --output N [--concurrency N,..|--rate PER_S,..] [flags]",
          .summary = "engines, splits, limits and loads of serving side by side: the front, and what it costs",
          .about =
              "Looks at every combination of engines, machines, splits, number types, limits and loads by the "
              "mean field of a load,\n"
              "counts what cannot be with the reason, and runs the best request by request. Shows the best row of "
              "each configuration\n"
              "and the front of tokens/s/GPU over tokens/s/user, within --slo where there is one; --price ranks "
              "by the cost of\n"
              "output tokens. Rows for which the mean field may not hold are listed only where they were simulated.",
          .least_words = 1,
          .most_words = 1,
          .flags = serve::sweeping::serve_sweep_flags(),
          .examples =
              {"stepcast serve-sweep llama3-70b --gpus 8 --engine vllm,sglang,tensorrt-llm --input 1024 --output "
               "1024",
                  "stepcast serve-sweep llama3-8b --gpus 1,2 --input 1024 --output 256 --concurrency 1..64*2 --slo "
                  "\"ttft<500ms tpot<30ms\" --price 2.5",
                  "stepcast serve-sweep llama3-8b --gpus 2 --input 512 --output 128 --rate 2,4,8 --csv"},
          .run = serve::sweeping::serve_sweep_command},
      {.name = "compare",
          .usage = "TRACE... | NETWORK|SCENARIO.json [flags] --trace TRACE [--trace TRACE] [-o FILE.html|.json]",
          .summary = "a measured step beside its forecast, or beside another: what makes the difference",
          .about =
              "Holds the traces of a real step (Kineto's JSON or JSON.gz, Nsight Systems' SQLite export or CSV, "
              "rocprof's CSV; one\n"
              "per rank) beside the forecast of its run: rows that sum to the gap, then causes in order of seconds "
              "with evidence and\n"
              "what to do. Without a run, two traces stand beside each other, and any other number of them is "
              "reported: steps, busy\n"
              "and idle time, classes of kernels, collectives. With the flags of an engine's iteration (--phase, "
              "--prompt, --context)\n"
              "that iteration is forecast. A trace of stepcast timeline is read like a measured one. -o writes a "
              "page with both\n"
              "timelines, or what was measured as a profile.",
          .least_words = 0,
          .most_words = 64,
          .flags = compare_flags(),
          .examples = {"stepcast compare docs/measured/h100-sxm/traces/"
                       "gpt-125m_train_amp_b8xt1024xm1_flash_eager.trace.json.gz",
              "stepcast compare --json docs/measured/h100-sxm/traces/"
              "llama-1b_train_bf16_b2xt4096xm1_flash_graph.trace.json.gz",
              "stepcast compare llama3-8b --phase decode --context 1024 --trace docs/measured/h100-sxm/traces/"
              "llama-8b_decode_bf16_b1xt1024_flash_graph.trace.json.gz"},
          .run = compare_command},
      {.name = "roofline",
          .usage = "NETWORK|SCENARIO.json|--launch RUN.sh [flags] [--measured FILE] [-o FILE.html|.svg|.json]",
          .summary = "operators and collectives of a step under the roofs of GPU and network, and what would lift them",
          .about = "Places every operator of a forecast step under the GPU's roofs (datasheet and measured; device "
                   "memory and L2) and\n"
                   "every collective under those of its link, shows each operator at every boundary that its data "
                   "cross, and splits the\n"
                   "step into what multiplying, memory, network, bubble and host take, with the three changes that "
                   "gain most. -o writes\n"
                   "a page that stands alone, a picture, or the figures; without it the plot goes to the terminal. "
                   "--measured adds what\n"
                   "was timed: a file of stepcast calibrate measure or import.",
          .least_words = 0,
          .most_words = 1,
          .flags = roofline_flags(),
          .examples = {"stepcast roofline llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 1024",
              "stepcast roofline llama3-8b --gpus 64 --zero 3 --global-batch 256 -o /tmp/stepcast_roofline.html",
              "stepcast roofline gpt3-175b --machine dgx-a100 --gpus 64 --tp 8 --pp 8 --recompute full --json"},
          .run = roofline_command},
      {.name = "timeline",
          .usage = "NETWORK|SCENARIO.json|--launch RUN.sh [flags] [-o trace.json|FILE.html|FILE.svg]",
          .summary = "one step in time: every stream of every rank, as a trace for Perfetto or a page to zoom in",
          .about = "Lays the forecast step out: phases, pipeline actions, kernels and what they wait for, collectives "
                   "on their fabrics, sends\n"
                   "with arrows, memory held. -o FILE.json is a trace for ui.perfetto.dev or chrome://tracing, "
                   "FILE.html a page that stands\n"
                   "alone, FILE.svg a picture; without it the pipeline is drawn in the terminal.",
          .least_words = 0,
          .most_words = 1,
          .flags = timeline_flags(),
          .examples = {"stepcast timeline llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 128",
              "stepcast timeline llama3-8b --gpus 64 --zero 3 --global-batch 256 -o /tmp/stepcast_trace.json",
              "stepcast timeline gpt3-175b --machine dgx-a100 --gpus 64 --tp 8 --pp 8 --recompute full --json"},
          .run = timeline_command},
      {.name = "report",
          .usage = "NETWORK|SCENARIO.json|--launch RUN.sh [flags] -o FOLDER",
          .summary = "all of a forecast as a folder to send to a colleague: pages, pictures, figures, Markdown",
          .about = "Writes the forecast, roofline, timeline, memory, mapping and a sweep of the neighbouring plans as "
                   "pages that need no\n"
                   "network, the pictures and figures as files of their own, the scenario that gives the same run "
                   "again, and report.md\n"
                   "for a pull request. The folder is new, empty, or holds an earlier report.",
          .least_words = 0,
          .most_words = 1,
          .flags = report_flags(),
          .examples = {"stepcast report llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 1024 -o "
                       "/tmp/stepcast_report",
              "stepcast report llama3-8b --gpus 64 --zero 3 --global-batch 256 -o /tmp/stepcast_fsdp --no-sweep"},
          .run = report_command},
      {.name = "whatif",
          .usage = "NETWORK|SCENARIO.json|--launch RUN.sh [flags]",
          .summary = "what moves the step: each rate of the machine and each number of the plan, changed",
          .about =
              "Changes one thing of a run at a time and forecasts it again: rates and delays of the machine by 1/F and "
              "F, with\n"
              "the fitted laws behind them, and the neighbours of the plan. Largest effect first, by the time that a "
              "token takes;\n"
              "then what each does to throughput, memory and phases, what has no effect and why, and what cannot run.\n"
              "--change asks for one change, or several at once. Rates take a factor (nic=2x): compute hbm "
              "hbm-capacity nvlink\n"
              "or pcie, nic, other levels by name, latency network-latency host-link kernel-start host-per-launch "
              "host-per-step\n"
              "data-wait skew contention, own-type. Flags of the run, without dashes, take a value or, if counts, a "
              "factor.",
          .least_words = 0,
          .most_words = 1,
          .flags = whatif_flags(),
          .examples = {"stepcast whatif llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 1024",
              "stepcast whatif llama3-8b --gpus 64 --zero 3 --global-batch 256 --top 5 --json",
              "stepcast whatif llama3-70b --gpus 64 --tp 8 --pp 4 --global-batch 64 --change nic=2x --change "
              "micro-batch=2",
              "stepcast whatif llama3-8b --gpus 64 --pp 4 --global-batch 256 --imbalance rank=17x1.5",
              "stepcast whatif llama3-8b --machine dgx-h100:16,dgx-a100:16 --tp 8 --global-batch 128 --seq 4k --top 6"},
          .run = mixed::whatif_command},
      {.name = "sweep",
          .usage = "NETWORK|SCENARIO.json --gpus N[,N..] --global-batch B [flags] | --space FILE [flags]",
          .summary = "every way to run a job: the best, which are tied with it, and why",
          .about =
              "Looks at every configuration of the axes: which can run, what fits, and by a bound of the step "
              "time which may be the\n"
              "best; those are forecast in full, so that the list is the one that forecasting all would give. "
              "Configurations\n"
              "within the error of a comparison are marked as ties, the first is held against the next other "
              "split and against\n"
              "the usual rule of thumb, and its predict command is printed. Nothing that fits, or meets --where, "
              "is a result too.\n"
              "Ctrl-C or SIGTERM ends a sweep whole: the report says what is done, -o FILE.jsonl keeps it for "
              "--resume, and the\n"
              "exit code is 1.\n"
              "--machine dgx-h100:64,dgx-a100:64 sweeps a fleet of several kinds: each split is forecast, its layers "
              "or micro-batches\n"
              "dealt by speed.",
          .least_words = 0,
          .most_words = 1,
          .flags = sweep_flags(),
          .examples = {"stepcast sweep llama3-8b --machine dgx-h100 --gpus 8 --global-batch 128",
              "stepcast sweep llama3-70b --gpus 32,64 --global-batch 128 --pareto time,memory --top 5 --json",
              "stepcast sweep llama3-8b --machine dgx-h100:16,dgx-a100:16 --global-batch 64 --seq 4k --tp 8 --pp 1,2 "
              "--recompute none --micro-batch 1 --chunks 1 --zero 1",
              "stepcast sweep --space examples/spaces/llama3-70b-64.json --dry-run"},
          .run = mixed::sweep_command},
      {.name = "merge",
          .usage = "FILES... [-o RESULT] [--json]",
          .summary = "the results of a sweep's shards as one, checked for what is missing or done twice",
          .about = "Takes the .jsonl files that the shards of one sweep wrote and gives the result that one process "
                   "would have given,\n"
                   "byte by byte. Files of different questions, missing or unfinished shards and work done twice are "
                   "errors that say\n"
                   "which. Of one finished result it shows the best rows, or makes a table or a page to explore in a "
                   "browser: -o RESULT.csv,\n"
                   "-o RESULT.sqlite, -o RESULT.html.",
          .least_words = 1,
          .most_words = 100'000,
          .flags = merge_flags(),
          .examples = {"stepcast merge --help"},
          .run = merge_command},
      {.name = "scale",
          .usage = "NETWORK|SCENARIO.json|--launch RUN.sh [flags]",
          .summary = "strong and weak scaling of a plan, its serial share, and what breaks first",
          .about =
              "Forecasts one plan on more and more GPUs: tp, cp, pp and the rest stay, dp grows. Strong scaling keeps "
              "the global\n"
              "batch, weak scaling the batch per GPU; --global-batch is that of the smallest count. Gives speed-up and "
              "efficiency\n"
              "against the smallest count, the serial share by Amdahl's and Gustafson's laws with how well they fit, "
              "and what\n"
              "breaks first at 2, 4 and 10 times as many GPUs. Counts that are not legal are listed with the reason.\n"
              "--migrate instead compares the ways to shard at each count, from DDP to pipeline stages.",
          .least_words = 0,
          .most_words = 1,
          .flags = scale_flags(),
          .examples = {"stepcast scale llama3-70b --machine dgx-h100 --gpus 128 --tp 8 --pp 4 --global-batch 1024",
              "stepcast scale llama3-8b --gpus 8,16,24,32 --zero 3 --global-batch 96 --strong",
              "stepcast scale llama3-8b --migrate --gpus 8,64 --global-batch 16 --seq 8k",
              "stepcast scale gpt3-175b --machine dgx-a100 --gpus 64 --tp 8 --pp 8 --recompute full --weak --json"},
          .run = scale_command},
      {.name = "fleet",
          .usage = "NETWORK --tokens N --machine NAME:GPUS,... --price NAME=PRICE,... [--deadline TIME] [flags]",
          .summary = "which machines and how many: cost over time, within a deadline or a budget",
          .about =
              "Looks at a job, or a mix of jobs that run at once (--jobs), on each machine that may be had, from a\n"
              "node to the most GPUs: the fastest plan of a sweep, and the goodput of a job around its step. Says\n"
              "the front of cost over time, the cheapest choice that meets the deadlines and the fastest within the\n"
              "budget, or that there is none and by how much (exit code 1). Prices are yours; axes of the sweep may\n"
              "be said as sweep takes them.",
          .least_words = 0,
          .most_words = 1,
          .flags = fleet::fleet_flags(),
          .examples =
              {"stepcast fleet llama3-8b --tokens 100B --global-batch 512 --seq 8k --tp 1,2 --pp 1,2 --recompute "
               "none --machine dgx-h100:64,dgx-a100:128 --price dgx-h100=2.5,dgx-a100=1.3 --deadline 60d",
                  "stepcast fleet llama3-8b --tokens 20B --global-batch 256 --seq 4k --tp 1,2 --pp 1 --recompute none "
                  "--machine dgx-a100:32 --price dgx-a100=1.3 --budget 5000 --json"},
          .run = fleet::fleet_command},
      {.name = "job",
          .usage = "NETWORK|SCENARIO.json|--launch RUN.sh --tokens N|--days N|--steps N [flags]",
          .summary = "a whole training job: days, goodput and where the rest goes, checkpoints, energy, cost",
          .about =
              "Puts failures, checkpoints, restarts and repairs around the forecast step: time to train, the share "
              "of it in\n"
              "steps that last, and where the rest goes, by closed form and by lives drawn one by one. Checkpoints "
              "have their\n"
              "bytes by the mapping and their best interval by four laws. Failure rates are those of public fleets "
              "or of a log.\n"
              "A job that fails faster than it restarts has a goodput of 0, which is a result.",
          .least_words = 0,
          .most_words = 1,
          .flags = job::job_flags(),
          .examples = {"stepcast job llama3-70b --machine dgx-h100 --gpus 2048 --tp 8 --pp 4 --global-batch 2048 "
                       "--tokens 15T",
              "stepcast job llama3-8b --gpus 256 --zero 3 --global-batch 512 --tokens 1T --async --spares 2",
              "stepcast job llama3-8b --machine dgx-h100:16,dgx-a100:16 --tp 8 --global-batch 128 --tokens 10B "
              "--failure-rate dgx-h100=0.004,dgx-a100=0.0065",
              "stepcast job llama3-70b --gpus 512 --tp 8 --pp 4 --global-batch 1024 --days 30 --memory-interval 60s "
              "--json"},
          .run = job::job_command},
      {.name = "validate",
          .usage = "[RUNS.json] [flags]",
          .summary = "forecast measured runs and report the errors per class",
          .about = "Forecasts every measured run of RUNS.json, one record per run, and compares: per class (GPU, "
                   "precision,\n"
                   "dense, moe, sharded or long context, stack) the errors, the ranking of runs that differ in their "
                   "split, and\n"
                   "the error of the class's median TFLOP/s. Without a file: the public runs that the program carries.",
          .least_words = 0,
          .most_words = 1,
          .flags = validate_flags(),
          .examples = {"stepcast validate", "stepcast validate --json"},
          .run = validate_command},
      {.name = "gate",
          .usage = "check FILE | run FILE | manifest [FILE]  [flags]",
          .summary = "hold repeated measurements against forecasts and earlier ones: slower, equal or undecided",
          .about =
              "Judges the cases of a file (docs/gates.md): results that are given, or found in logs, JSON and texts, "
              "against a\n"
              "forecast, the last good check, a baseline, the MFU or the roofline, other cases. The test is by ranks, "
              "so that its\n"
              "error rates hold for any noise; what is undecided needs so many runs more. gate run starts the cases "
              "with a\n"
              "manifest beside each result; gate manifest prints what such a manifest holds here. Slower is exit code "
              "1.",
          .least_words = 1,
          .most_words = 2,
          .flags = gate_flags(),
          .examples = {"stepcast gate check examples/gate/recorded.json",
              "stepcast gate check examples/gate/kernels.json --markdown",
              "stepcast gate run examples/gate/boosting.json --case boost-cpu", "stepcast gate manifest"},
          .run = gate_command},
      {.name = "dataflow",
          .usage = "FILE.flow|--from TOOL FILES [flags]",
          .summary = "count a program of the notation on its chip, place it on its mesh",
          .about = "Reads a program with its own operators (docs/notation.md). With an arch: what every level reads "
                   "and writes of\n"
                   "every tensor, exactly; cycles and what bounds them; energy; which tensor stays where; intensity at "
                   "every\n"
                   "boundary. With a mesh: which collectives follow, forward, backward and once per step, with the "
                   "bytes each\n"
                   "rank receives, where every copy lies, and memory by lifetime.",
          .least_words = 1,
          .most_words = 16,
          .flags = dataflow_flags(),
          .examples = {"stepcast dataflow examples/summa.flow", "stepcast dataflow examples/ws_array.flow",
              "stepcast dataflow examples/ws_array.flow --op scores --json",
              "stepcast dataflow --from timeloop examples/timeloop_ws.yaml"},
          .run = dataflow_command},
      {.name = "schedule",
          .usage = "KIND|--auto|--compare --stages P --micro-batches M | --from FILE, --forward F --input-grad I "
                   "--weight-grad W [flags]",
          .summary = "time a pipeline schedule, draw it, hold it against the best possible",
          .about =
              "Makes the order of a pipeline schedule (stepcast list schedules), runs it with the times given and "
              "reports\n"
              "makespan, bubble, memory and messages of every rank, and lower bounds that no order of these stages "
              "beats:\n"
              "with any memory or that of --memory-cap, and with the memory that this schedule uses.\n"
              "With --auto and --compare, --memory-cap counts micro-batches of a whole rank, so that a chunk of two "
              "counts\n"
              "half and a slice its part; with --chunks V, it counts chunks of 1/V. --auto also takes any kind that "
              "is\n"
              "better than what it finds, but none with two copies of the weights, and slices only with --seq-splits.",
          .least_words = 0,
          .most_words = 1,
          .flags = schedule_flags(),
          .examples = {"stepcast schedule 1f1b --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1",
              "stepcast schedule zb-h1 --stages 4 --micro-batches 8 --forward 10ms --input-grad 12ms --weight-grad 7ms "
              "--p2p 100us",
              "stepcast schedule dualpipe --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1 "
              "--csv",
              "stepcast schedule --compare --stages 4 --micro-batches 8 --forward 10 --input-grad 12 --weight-grad 7",
              "stepcast schedule --auto --stages 8 --micro-batches 32 --forward 10 --input-grad 12 --weight-grad 7 "
              "--memory-cap 4"},
          .run = schedule_command},
      {.name = "kernel",
          .usage = "gemm|attention|moe|norm|softmax|gelu|swiglu|adam|... [fields] [flags]",
          .summary = "the time of one kernel on one GPU, with its bound, source and interval",
          .about = "Answers for one kernel, or for a table of them (--csv), from the fitted profile of a GPU: time, "
                   "the interval that\n"
                   "held-out measurements gave, what bounds it, where the law comes from. Other operators: copy add "
                   "add-scalar\n"
                   "norm-backward rope embedding cross-entropy quantize.",
          .least_words = 1,
          .most_words = 1,
          .flags = kernel_flags(),
          .examples = {"stepcast kernel gemm --machine h100-sxm --m 8192 --n 8192 --k 8192",
              "stepcast kernel attention --machine h200-sxm --seq 4096 --heads 32 --kv-heads 8 --json",
              "stepcast kernel attention --machine h200-sxm --pass decode --seq 1 --keys 8192 --batch 64 --heads 16 "
              "--kv-heads 1 --head-dim 576 --latent-values 512",
              "stepcast kernel norm --machine a100-80gb --rows 8192 --columns 4096"},
          .run = kernel_command},
      {.name = "calibrate",
          .usage = "measure -o M.json | layers NETWORK... -o LAYERS.json | import FILES... -o M.json | fit M.json... "
                   "-o PROFILE.json | runs LOG... -o PROFILE.json | scans TABLE... | engines RECORDS... | served "
                   "OUTPUT... | show "
                   "PROFILE | compare A B "
                   "[flags]",
          .summary = "measure this machine's GPUs, or take other programs' timings: a profile with its errors out",
          .about =
              "measure times kernels and collectives on the GPUs of this machine, by a plan that keeps to its "
              "budget (--dry-run\n"
              "shows it), fits a profile and says which figures to trust. Ctrl-C keeps what was measured; "
              "--resume goes on.\n"
              "layers times whole layers of networks; with LAYERS.json PROFILE it says how well their kernels' laws "
              "forecast them.\n"
              "import joins result files of nccl-tests, nvbench, Google Benchmark, nsys, PyTorch's profiler and "
              "any table\n"
              "with a header line into one file of measurements. fit makes the profile of a GPU from them, or "
              "from such\n"
              "files themselves, with the errors of forecasts of what was held out. runs takes logs of training "
              "jobs (Megatron, NeMo,\n"
              "torchtitan, DeepSpeed) or records of measured steps and fits what no kernel shows. scans fits "
              "the laws of\n"
              "engines' scans (Gated DeltaNet, KDA, Mamba-2), their convolutions and hyper-connections on tables of "
              "aiconfigurator,\nwith whole shapes held out. "
              "engines takes\n"
              "records of serving\n"
              "and fits the tunings of engines; served makes such records of what benchmarks of vLLM, SGLang, "
              "TensorRT-LLM,\n"
              "GenAI-Perf and AIPerf wrote. show prints a profile's roofs, laws and errors; compare what "
              "changed between two: a\n"
              "driver, a card.",
          .least_words = 1,
          .most_words = 100'001,
          .flags = calibrate_flags(),
          .examples = {"stepcast calibrate measure --dry-run --gpu h100-sxm --budget 60s --model llama3-8b",
              "stepcast calibrate import examples/gemm_times.csv examples/all_reduce.txt --gpu h100-sxm -o "
              "/tmp/stepcast_times.json",
              "stepcast calibrate fit /tmp/stepcast_times.json -o /tmp/stepcast_profile.json --hold-out 0.2",
              "stepcast calibrate show /tmp/stepcast_profile.json",
              "stepcast calibrate runs examples/measured_runs.json --leave-out model",
              "stepcast calibrate compare h100-sxm /tmp/stepcast_profile.json"},
          .run = calibrate_command},
      {.name = "collective",
          .usage = "KIND --bytes B --gpus N [--nodes M] | dispatch|combine|prepare --gpus N --tokens T --hidden H "
                   "--topk K --experts E [flags]",
          .summary = "the time of one collective within a node or across nodes, with its bound, source and interval",
          .about =
              "KIND: all_reduce all_gather reduce_scatter all_to_all send_recv broadcast reduce. Answers from measured "
              "curves of\n"
              "the machine's GPUs and network, else from curves of other rank counts or numbers of nodes, else from "
              "NCCL's\n"
              "tuning model and the ports' rate. With --csv, KIND may be left out: the table then has a column kind. "
              "--engine asks\n"
              "for the all-reduce of an engine's own kernels. dispatch and combine are the exchange of experts' rows "
              "by "
              "DeepEP\n"
              "and TensorRT-LLM, prepare what the latter does before; GPUs fill whole nodes.",
          .least_words = 0,
          .most_words = 1,
          .flags = collective_flags(),
          .examples = {"stepcast collective all_reduce --machine dgx-h100 --bytes 256MiB --gpus 8",
              "stepcast collective all_gather --machine azure-nd-h100 --bytes 1073741824 --gpus 32 --nodes 4 --json",
              "stepcast collective all_reduce --machine dgx-h100 --bytes 128KiB --gpus 8 --engine vllm",
              "stepcast collective dispatch --machine dgx-h100 --gpus 8 --tokens 128 --hidden 7168 --topk 8 "
              "--experts 256 --dtype fp8"},
          .run = collective_command},
      {.name = "explain",
          .usage = "[TERM] [--json] | [NETWORK] [flags] --launch RUN.sh|-- ARGS...",
          .summary = "a term in both vocabularies, or every argument of a launch with what it costs",
          .about =
              "Explains a term of clusters or of accelerators by the loop that is split and the tensor that moves, "
              "with the\n"
              "volume as a formula and on a small program, and the trap that makes people confuse it. Names are found\n"
              "whatever their case and punctuation; without TERM all are listed.\n"
              "Of a launch every argument: what it means, the lines of the mapping that are there by it, what the "
              "step, memory\n"
              "and traffic gain or lose by it (a second forecast without it), what does not go together, what is "
              "unknown.\n"
              "Of a serving engine's launch the same, with what a load gains or loses by each.\n"
              "Nothing of the launch is run.",
          .least_words = 0,
          .most_words = 8,
          .flags = serve::explain_launch_flags(explain_flags()),
          .examples = {"stepcast explain ring attention", "stepcast explain ColumnParallelLinear",
              "stepcast explain weight-stationary --json",
              "stepcast explain llama3-8b --gpus 16 --megatron -- --tensor-model-parallel-size 2 --sequence-parallel "
              "--micro-batch-size 1 --global-batch-size 64 --bf16",
              "stepcast explain --input 1024 --output 128 --concurrency 8 --launch -- vllm serve Qwen/Qwen3-8B "
              "--max-num-seqs 64 --kv-cache-dtype fp8"},
          .run = serve::explain_command},
      {.name = "list",
          .usage = "networks|machines|gpus|profiles|stacks|engines|failures|schedules [--json|--csv]",
          .summary = "what the catalogue holds",
          .about = "Lists the rows of the built-in catalogue with their figures.",
          .least_words = 1,
          .most_words = 1,
          .flags = list_flags(),
          .examples = {"stepcast list networks", "stepcast list machines --json"},
          .run = list_command},
      {.name = "show",
          .usage = "network|machine|gpu|profile|stack|engine|schedule ID | network FILE [--as FAMILY] [--json]",
          .summary = "one row of the catalogue, as text or as a file to edit; what is read of a network's file",
          .about = "Shows one row. With --json it prints the file behind it: edit that into your own and pass it as\n"
                   "NETWORK, --machine FILE, --profile FILE or --stack FILE. Of a network's file (a Hugging Face\n"
                   "config.json or one of your own) it shows what was read: layers by kind, shapes, parameters.",
          .least_words = 2,
          .most_words = 2,
          .flags = show_flags(),
          .examples = {"stepcast show network llama3-70b", "stepcast show machine dgx-h100 --json"},
          .run = show_command},
  };
  return rows;
}

}  // namespace

std::span<const Command> commands() { return command_rows(); }

}  // namespace stepcast::studies
