#include "studies/records/run_scenario.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "dataflow/lower/lower.h"
#include "model/base/quantity_text.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "model/untold_stack.h"
#include "sim/cost.h"
#include "sim/step/step_memory.h"
#include "studies/records/recipe_rule.h"
#include "studies/run/rack_use.h"
#include "studies/records/run_machine.h"
#include "studies/records/stack_rule.h"

namespace stepcast::records {
namespace {

// Adapters of rank 16, of Megatron-Bridge's LoRA recipes, where a record only says that it trained adapters.
constexpr std::int64_t usual_adapter_rank = 16;

/// Those recipes adapt attention's input projections alone (NVIDIA-NeMo/Megatron-Bridge
/// scripts/performance/configs/llama/llama3_llm_finetune.py); other programs' default is all.
const char* adapted_by(const Run& run) {
  return run.software.value_or("").find("Megatron-Bridge") != std::string::npos ? "q,k,v" : "all";
}

const Profile& profile_of(const Gpu& gpu) {
  static std::mutex mutex;
  static std::map<std::string, Profile> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(gpu.id);
  if (found != known.end()) return found->second;
  return known.emplace(gpu.id, default_profile(gpu, built_in().profiles)).first->second;
}

Manners manners_of(bool overlapped) { return overlapped ? Manners::overlapped : Manners::blocking; }

void override_manners(Stack& stack, const RunOverlap& overlap, std::vector<std::string>& assumptions) {
  const std::pair<const char*, std::pair<MaybeFlag, Manners*>> fields[] = {
      {"gradients", {overlap.dp_grad, &stack.gradient_reduces}}, {"weights", {overlap.dp_param, &stack.weight_gathers}},
      {"tensor-parallel moves", {overlap.tp, &stack.activation_moves}},
      {"stage sends", {overlap.pp, &stack.boundary_sends}}};
  std::string assumed;
  for (const auto& [name, field] : fields) {
    if (field.first) *field.second = manners_of(*field.first);
    else
      assumed += fmt::format("{}{} {}", assumed.empty() ? "" : ", ", name,
          *field.second == Manners::overlapped ? "overlapped" : "not overlapped");
  }
  if (!assumed.empty()) assumptions.push_back(fmt::format("as usual with {}: {}", stack.id, assumed));
}

/// Composer's FSDP modes: DEFAULT gathers weights in the working precision and reduces gradients in fp32, PURE does
/// both in the working precision (mosaicml/composer, distributed/mosaic_parallelism.py, get_mixed_precision, since
/// spring 2023).
void override_types(Stack& stack, const Run& run) {
  if (stack.id == "llm-foundry" && run.software.value_or("").find("DEFAULT") != std::string::npos)
    stack.gradient_bytes = 4;
}

/// DeepSpeed trains in fp32 unless a config block says fp16 or bf16, with products in TF32: NVIDIA containers switch it
/// on (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE), and GPT-Neo on GH200 attains 75 TFLOP/s where fp32 ends at 67. Half precision
/// is the habit everywhere else.
Expected<Precision> precision_of(
    const Run& run, const Stack& stack, const Gpu& gpu, std::vector<std::string>& assumptions) {
  if (run.precision) {
    auto precision = parse_precision(*run.precision, "precision");
    if (precision && gpu.peak[static_cast<int>(*precision)].value() <= 0)
      return fail("precision", fmt::format("{} has no {} matrix units", gpu.name, *run.precision),
          "a precision that its matrix units take");
    return precision;
  }
  const Precision assumed = stack.id == "deepspeed-zero" ? Precision::tf32 : Precision::bf16;
  assumptions.push_back(fmt::format("precision {}", to_text(assumed)));
  return assumed;
}

/// GPTs of the GPT-2 and GPT-3 kind trained with dropout as their software had it by default; their successors without.
void take_dropout(NetworkSpec& spec, const Stack& stack, std::vector<std::string>& assumptions) {
  if (!stack.dropout || spec.norm != Norm::layernorm) return;
  spec.dropout = true;
  assumptions.emplace_back("dropout");
}

/// In the interleaved order Megatron-Core sends beside the work of other chunks, since release 0.4.0 unasked
/// (NVIDIA/Megatron-LM, megatron/training/arguments.py: overlap_p2p_comm).
void send_beside_chunks(const Run& run, const Split& split, Stack& stack, std::vector<std::string>& assumptions) {
  constexpr std::string_view release_0_4 = "2023-12";
  const bool unasked = run.date.empty() || run.date >= release_0_4;
  if (run.overlap.pp || split.chunks == 1 || stack.id != "megatron-core" || !unasked) return;
  stack.boundary_sends = Manners::overlapped;
  assumptions.emplace_back("stage sends beside the work of other chunks");
}

/// What the run needs on its fullest GPU by the laws alone; nothing of one that cannot be forecast.
std::optional<MemoryReport> memory_of(const Scenario& s) {
  const auto program = lower(s.network.row, s.plan, s.stack.row, false);
  if (!program) return std::nullopt;
  auto memory = step_memory(
      *program, CostModel(s.machine.row, s.profile.row, s.stack.row, s.plan.precision, s.plan.gpus, nullptr));
  return memory ? std::optional(std::move(*memory)) : std::nullopt;
}

/// Of 227 records that say they recompute nothing twelve are forecast beyond their GPU's memory, by 8 % at most; of 178
/// that say "full" 143 are by more than 30 % when that word is taken away (studies/records/runs.json, 2026-11).
/// Software that nobody knows is taken for one that keeps wide gradients, which some do not.
bool fits(const MemoryReport& memory) {
  constexpr double own_error = 1.3;
  return memory.peak <= memory.capacity * own_error;
}

/// Of records whose weights lie in shards on GPUs that hang on a Grace host by NVLink-C2C all that say what they do
/// (NVIDIA-NeMo/Megatron-Bridge, Llama 3 70B and 405B on GB200) recompute nothing and keep activations in the host's
/// memory, sent there beside compute. C2C has 225 GB/s and more per GPU and direction, PCIe 6.0 has 126.
bool keeps_activations_with_host(const Run& run, const Machine& machine) {
  constexpr BytesPerSecond slowest_c2c(200e9);
  return run.parallel.zero_stage.value_or(0) == 3 && machine.host_link >= slowest_c2c;
}

/// A record that is silent about recomputation: what ran did fit, so the least takes the place of none with which it
/// does. Where not even all of it is enough, something else is not said, and nothing is assumed. Nor is it of experts:
/// none of those records is of a run that recomputed all of a layer with experts.
void recompute_what_fits(const Run& run, bool guessed_software, RunScenario& out) {
  if (!stripped(run.recompute.value_or("")).empty() || out.scenario.network.row.experts.count > 0) return;
  const auto without = memory_of(out.scenario);
  if (!without || fits(*without)) return;
  if (guessed_software && keeps_activations_with_host(run, out.scenario.machine.row)) {
    std::ranges::replace(out.assumptions, std::string(nothing_recomputed),
        fmt::format(
            "nothing recomputed: of {} that are needed what is beyond {} lies with the host, sent beside compute",
            format_bytes(without->peak), format_bytes(without->capacity)));
    return;
  }
  for (const std::string& words : recompute_words_of(out.scenario.stack.row)) {
    Run told = run;
    told.recompute = words;
    RunScenario tried = out;
    std::vector<std::string> said;  // what the split assumes stands there already
    auto split = split_of(told, out.scenario.network.row, out.scenario.stack.row, said);
    if (!split) return;
    tried.scenario.statements = std::move(split->statements);
    lay_split(tried.scenario, std::move(split->split));
    const auto memory = memory_of(tried.scenario);
    if (!memory || !fits(*memory)) continue;
    std::ranges::replace(tried.assumptions, std::string(nothing_recomputed),
        fmt::format("recomputation of '{}', for without it {} of {} are needed", words, format_bytes(without->peak),
            format_bytes(without->capacity)));
    out = std::move(tried);
    return;
  }
}

/// YYYY, YYYY-MM or YYYY-MM-DD: the stack follows from it where it is compared letter by letter.
bool is_date(const std::string& text) {
  constexpr std::string_view form = "0000-00-00";
  if (text.size() != 4 && text.size() != 7 && text.size() != form.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (form[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  const auto part = [&](std::size_t at) -> unsigned {
    return at < text.size() ? parsed_number<unsigned>(text.substr(at, 2)).value_or(0) : 1;
  };
  const auto year = std::chrono::year(parsed_number<int>(text.substr(0, 4)).value_or(0));
  return std::chrono::year_month_day(year, std::chrono::month(part(5)), std::chrono::day(part(8))).ok();
}

}  // namespace

Expected<RunScenario> scenario_of(const Run& run) {
  if (run.global_batch < 1)
    return fail(
        "batch/global_batch", "the record does not say how many sequences a step has", "a whole number above 0");
  if (run.parallel.gpus < 1)
    return fail("parallel/gpus", "the record does not say on how many GPUs it ran", "a whole number above 0");
  const RunParallel& p = run.parallel;
  const double ranks =
      static_cast<double>(p.tp) * static_cast<double>(p.pp) * static_cast<double>(p.cp) * static_cast<double>(p.dp);
  if (ranks != static_cast<double>(p.gpus))
    return fail("parallel/gpus",
        fmt::format("{} GPUs, but tp {} x pp {} x cp {} x dp {} = {}", p.gpus, p.tp, p.pp, p.cp, p.dp, ranks),
        "dp counts dense data parallelism: gpus / (tp pp cp)");
  if (!run.date.empty() && !is_date(run.date))
    return fail("date", fmt::format("'{:.40}' is no date", run.date), "YYYY, YYYY-MM or YYYY-MM-DD");
  RunScenario out;
  std::vector<std::string>& assumptions = out.assumptions;
  TRY(auto spec, network_of(run, assumptions));
  TRY(auto machine, machine_of(run));
  for (std::string& text : machine.assumptions) assumptions.push_back(std::move(text));
  if (std::string text = take_segments(machine.row, run.parallel.gpus); !text.empty())
    assumptions.push_back(std::move(text));

  const RunStack named = stack_of(run);
  TRY(const auto row, find_row(built_in().stacks, named.id, "stack"));
  Stack stack = *row;
  if (named.guessed) assumptions.push_back(fmt::format("stack {} by date, split and precision", named.id));
  take_dropout(spec, stack, assumptions);
  override_manners(stack, run.overlap, assumptions);
  override_types(stack, run);
  follow_recipe(run, stack, assumptions);

  TRY(auto precision, precision_of(run, stack, machine.row.gpu, assumptions));
  TRY(auto split, split_of(run, spec, stack, assumptions));
  send_beside_chunks(run, split.split, stack, assumptions);

  Scenario& scenario = out.scenario;
  Plan& plan = scenario.plan;
  scenario.statements = std::move(split.statements);
  lay_split(scenario, std::move(split.split));
  plan.mapping_where = "mapping made from the record";
  plan.gpus = run.parallel.gpus;
  plan.micro_batch = run.micro_batch.value_or(1);
  plan.global_batch = run.global_batch;
  plan.sequence = spec.sequence;
  plan.precision = precision;
  if (run.kind == "lora") {
    plan.lora_rank = usual_adapter_rank;
    TRY(plan.adapted, AdaptedProjections::parse(adapted_by(run), run.id));
    assumptions.push_back(fmt::format("adapters of rank {} on {}", usual_adapter_rank, plan.adapted.text()));
  }
  scenario.network.row = std::move(spec);
  scenario.profile.row = profile_of(machine.row.gpu);
  scenario.machine.row = std::move(machine.row);
  scenario.stack.row = std::move(stack);
  scenario.stack.id = named.id;
  recompute_what_fits(run, named.guessed, out);
  if (named.guessed) scenario.stack.row = as_untold(std::move(scenario.stack.row));
  return out;
}

}  // namespace stepcast::records
