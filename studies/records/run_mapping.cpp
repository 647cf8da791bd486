// The split of a record.
#include <algorithm>
#include <cctype>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/comma_list.h"
#include "model/errors/error_context.h"
#include "model/base/text.h"
#include "sim/schedule/schedule_table.h"
#include "studies/run/split/mapping_text.h"
#include "studies/run/split/split.h"
#include "studies/records/recompute_policy.h"
#include "studies/records/run_scenario.h"
#include "studies/records/stack_rule.h"

namespace stepcast::records {
namespace {

/// What software does where the record is silent. Order: as in the stack rules.
struct Habits {
  std::string_view stack;
  bool sequence_parallel;  ///< beside tensor parallelism
  std::int64_t zero;
  bool layer_chunks;          ///< interleaved down to one layer per chunk where there are stages
  bool fills_stages = false;  ///< by the weights of products (filled_stages)
  /// experts as the layers around them are: --expert-tensor-parallel-size is the tensor parallelism if nobody gives it
  /// (Megatron-LM d98e8a6 megatron/training/arguments.py)
  bool splits_experts = false;
};
// clang-format off
constexpr Habits habits[] = {
    {"megatron-2020", false, 0, false},
    {"megatron-2022", false, 0, false},
    {"megatron-deepspeed-2022", false, 1, false},
    {"megatron-deepspeed", false, 0, false},
    {"deepspeed-zero", false, 0, false},
    {"megatron-core", true, 1, true, false, true},
    {"nemo", true, 1, true},
    {"pytorch-fsdp", true, 3, false},
    {"pytorch-fsdp-eager", true, 3, false},
    {"llm-foundry", false, 3, false},
    {"jax", false, 3, false},
    {"nanotron", false, 1, false, true},
};
// clang-format on

/// Where nobody says which software ran: the median of 160 records that tell their chunks (studies/records/runs.json).
constexpr std::int64_t usual_layers_of_chunk = 2;

const Habits& habits_of(const std::string& stack) {
  const auto found =
      std::find_if(std::begin(habits), std::end(habits), [&](const Habits& row) { return row.stack == stack; });
  static constexpr Habits plain{"", false, 1, false};
  return found == std::end(habits) ? plain : *found;
}

bool starts(const std::string& text, std::string_view head) { return text.starts_with(head); }

/// "selective" of "selective (attention core)".
std::string first_letters(const std::string& text) {
  const auto end = std::ranges::find_if(text, [](unsigned char c) { return std::isalpha(c) == 0; });
  return {text.begin(), end};
}

/// First words about recomputation. "uniform" is Megatron's --recompute-method that runs all layers again.
struct RecomputeWord {
  std::string_view word;
  Recompute::Kind kind;
};
constexpr RecomputeWord recompute_words[] = {{"none", Recompute::Kind::none}, {"no", Recompute::Kind::none},
    {"off", Recompute::Kind::none}, {"full", Recompute::Kind::full}, {"all", Recompute::Kind::full},
    {"uniform", Recompute::Kind::full}, {"selective", Recompute::Kind::selective}};

/// The id in front of remarks: "interleaved-1f1b" of "Interleaved-1F1B-vpp4" and of "interleaved-1f1b + overlap".
std::string schedule_id(const std::string& text) {
  std::string id = lower_case(stripped(text));
  id.resize(std::min(id.find_first_of(" \t,;("), id.size()));
  const std::size_t chunks = id.rfind("-vpp");
  const bool counted =
      chunks != id.npos && id.size() > chunks + 4 && id.find_first_not_of("0123456789", chunks + 4) == id.npos;
  return counted ? id.substr(0, chunks) : id;
}
/// Names of the order that the number of chunks decides anyway; "none" stands where there is one stage.
constexpr std::string_view usual_schedules[] = {"", "none", "1f1b", "interleaved", "interleaved-1f1b"};

class Splitter {
 public:
  Splitter(const Run& run, const NetworkSpec& spec, const Stack& stack, std::vector<std::string>& assumptions)
      : run_(run), spec_(spec), stack_(stack), habits_(habits_of(stack.id)), assumptions_(assumptions) {}

  Expected<RunSplit> run() {
    sizes();
    experts();
    TRY(stated_schedule());
    chunks();
    TRY(recompute());
    TRY(micro_batches());
    layers();
    std::vector<std::string> statements;
    const bool keeps_gathered =
        split_.zero == 3 && stack_.id == "llm-foundry" && run_.parallel.zero_stage.value_or(3) == 2;
    if (keeps_gathered) statements.emplace_back("move weights life microbatch");
    if (operator_level_) statements.push_back(operator_level());
    if (!policy_.empty()) statements.push_back(policy_);
    return RunSplit{std::move(split_), std::move(statements)};
  }

 private:
  void assume(std::string text) { assumptions_.push_back(std::move(text)); }

  void sizes() {
    const RunParallel& p = run_.parallel;
    split_.tp = p.tp, split_.cp = p.cp, split_.dp = p.dp, split_.pp = p.pp;
    split_.zero = p.zero_stage.value_or(habits_.zero);
    if (!p.zero_stage) assume(fmt::format("zero {}", split_.zero));
    // FSDP's SHARD_GRAD_OP keeps weights in shards between steps too.
    if (split_.zero == 2 && stack_.id == "llm-foundry") split_.zero = 3;
    shard_group();
    const bool divides = spec_.sequence % (p.cp * p.tp) == 0;
    split_.sequence = p.tp > 1 && divides && p.sequence_parallel.value_or(habits_.sequence_parallel);
    if (!p.sequence_parallel && p.tp > 1)
      assume(split_.sequence ? "sequence parallelism on" : "sequence parallelism off");
    split_.vocabulary = p.tp > 1 && spec_.vocab % p.tp == 0;
    split_.recompute_whole = stack_.recompute_whole;
  }

  void experts() {
    split_.experts = spec_.experts.count > 0;
    if (!split_.experts) return;
    split_.ep = run_.parallel.ep.value_or(1);
    // NVIDIA's recipes keep experts whole (expert_tensor_parallel_size 1 in every *_workload_base_configs.py of
    // Megatron-Bridge's scripts/performance/configs); what nobody named is taken to follow them.
    const bool as_layers = habits_.splits_experts && !stack_of(run_).guessed;
    split_.etp = run_.parallel.etp.value_or(as_layers ? run_.parallel.tp : 1);
    if (!run_.parallel.ep) assume("experts not split (ep 1)");
    if (!run_.parallel.etp) assume(fmt::format("etp {}", split_.etp));
  }

  /// Megatron-Bridge's tables print 1 where a recipe names no number: Llama-3 70B on 64 GB300 stands there with PP 4
  /// and 1 in 26.02.01 and with 5 in 26.04.01 at the same time per token, which the bubble of one chunk (3 of 8
  /// micro-batches) forbids.
  [[nodiscard]] bool chunks_unknown() const {
    if (!run_.parallel.chunks) return true;
    return *run_.parallel.chunks == 1 && run_.source.find("Megatron-Bridge") != std::string::npos &&
           spec_.experts.count == 0;
  }

  /// A kind of the table that is not the usual one. With one stage there is nothing to order.
  Expected<void> stated_schedule() {
    const std::string id = schedule_id(run_.parallel.schedule.value_or(""));
    if (std::ranges::find(usual_schedules, id) != std::end(usual_schedules)) return {};
    const auto kind = find_schedule(id);
    if (!kind) return tl::unexpected(error_at("parallel/schedule", kind.error()));
    if ((*kind)->takes_slices)
      return fail("parallel/schedule", fmt::format("{} cuts sequences, and a record does not say into how many", id),
          "a schedule of whole sequences: 1f1b, gpipe, zb-h1");
    if (split_.pp == 1) return {};
    if ((*kind)->directions > 1) stands_in_ = *run_.parallel.schedule;
    else stated_ = *kind;
    return {};
  }

  void chunks() {
    split_.chunks = run_.parallel.chunks.value_or(1);
    if (split_.pp == 1) split_.chunks = 1;
    if (stated_ != nullptr) {
      split_.schedule = stated_->id;
      if (stated_->own_chunks > 0 && split_.chunks == 1) split_.chunks = stated_->own_chunks;
      return;
    }
    if (chunks_unknown() && split_.pp > 1) {
      if (habits_.layer_chunks) split_.chunks = std::max<std::int64_t>(1, layers_of_stage() / layers_of_chunk());
      assume(fmt::format("{} chunks per stage", split_.chunks));
    }
    split_.schedule = split_.chunks > 1 ? "interleaved-1f1b" : "1f1b";
    if (!stands_in_.empty()) assume(fmt::format("{} in place of {}", split_.schedule, stands_in_));
  }

  [[nodiscard]] std::int64_t layers_of_chunk() const { return stack_of(run_).guessed ? usual_layers_of_chunk : 1; }

  /// Chunks of several layers are all alike only if embedding and head count as layers where the layers do not divide.
  [[nodiscard]] std::int64_t layers_of_stage() const {
    const bool ends_count = layers_of_chunk() > 1 && spec_.layers % split_.pp != 0;
    return (spec_.layers + (ends_count ? 2 : 0)) / split_.pp;
  }

  Expected<void> recompute() {
    const std::string words = lower_case(stripped(run_.recompute.value_or("")));
    if (words.empty()) {
      assume(nothing_recomputed);
      return {};
    }
    if (starts(words, "full:")) {
      TRY(split_.recompute, parse_recompute(words, "recompute"));
      return {};
    }
    // Experts have parts of their own, for which no policy of these was read.
    if (const auto policy = policy_statement(words, spec_); policy && stack_.id == "jax" && spec_.experts.count == 0) {
      policy_ = *policy;
      return {};
    }
    if (modules(words)) return {};
    const auto known = std::ranges::find(recompute_words, first_letters(words), &RecomputeWord::word);
    if (known == std::end(recompute_words))
      return fail("recompute", fmt::format("unknown word '{:.60}'", *run_.recompute),
          "one of: none, selective, full, full:N (N layers); or modules of Megatron-Core: mla_up_proj, moe_act");
    if (words == "selective layer") {
      split_.recompute.kind = Recompute::Kind::full;
      split_.recompute.layers = std::max<std::int64_t>(1, spec_.layers / split_.pp / 2);
      assume("every second layer recomputed");
    } else if (known->kind != Recompute::Kind::selective) {
      split_.recompute.kind = known->kind;
    } else if (words.find("op") != std::string::npos && starts(stack_.id, "pytorch-fsdp")) {
      operator_level_ = true;
      assume("pointwise operators and every second product of a layer recomputed");
    } else if (stack_.attention == AttentionForm::unfused) {
      // The fused core keeps no scores that could be dropped; only the unfused one is run again.
      split_.recompute.kind = Recompute::Kind::selective;
    }
    return {};
  }

  /// Modules of Megatron-Core, "mla_up_proj, mlp"; false if there is another word among them.
  bool modules(const std::string& words) {
    std::vector<std::string> again;
    bool core = false;
    for (const std::string& word : comma_list(words)) {
      const RecomputeModule* module = recompute_module(word);
      if (module == nullptr) return false;
      core = core || module->tags.empty();
      for (std::string& tag : tags_of(*module, spec_)) again.push_back(std::move(tag));
    }
    if (core && stack_.attention == AttentionForm::unfused) split_.recompute.kind = Recompute::Kind::selective;
    if (!again.empty()) policy_ = fmt::format("recompute {}", fmt::join(again, ", "));
    return true;
  }

  Expected<void> micro_batches() {
    const std::int64_t micro = run_.micro_batch.value_or(1);
    if (!run_.micro_batch) assume("micro-batch of 1");
    const std::int64_t each = micro * split_.dp;
    if (run_.global_batch % each != 0)
      return fail("batch/global_batch",
          fmt::format("{} is not a multiple of micro-batch {} x dp {}", run_.global_batch, micro, split_.dp),
          "a whole number of micro-batches on each replica");
    split_.micro_batches = run_.global_batch / each;
    if (stated_ != nullptr)
      return run::check_schedule(
          {stated_->id, split_.pp, split_.chunks, split_.micro_batches}, "parallel/schedule", "batch/global_batch");
    if (split_.chunks > 1 && split_.micro_batches % split_.pp != 0) return not_interleaved();
    return {};
  }

  /// Megatron's interleaved order wants a multiple of the stages; newer releases run other numbers too.
  Expected<void> not_interleaved() {
    const auto kind = find_schedule(split_.schedule);
    const ScheduleSize size{
        static_cast<int>(split_.pp), static_cast<int>(split_.chunks), static_cast<int>(split_.micro_batches), 0};
    if (kind && check_size(**kind, size)) return {};
    assume(
        fmt::format("one chunk per stage: {} micro-batches do not divide by pp {}", split_.micro_batches, split_.pp));
    split_.chunks = 1;
    split_.schedule = "1f1b";
    return {};
  }

  /// Those that do not divide lie unevenly.
  void layers() {
    const std::int64_t parts = split_.pp * split_.chunks;
    const bool fills = habits_.fills_stages && parts > 1;
    if (spec_.layers % parts == 0 && !fills) return;
    split_.layers = fills ? filled_stages(spec_, parts) : uneven_stages(spec_.layers, parts, spec_.mtp_layers);
    assume(fmt::format("{} layers on {} parts: {} on the first, {} on the last", spec_.layers, parts,
        split_.layers.front(), split_.layers.back()));
  }

  /// Shards over a part of the data ranks, repeated over the rest (HSDP).
  void shard_group() {
    const std::int64_t group = run_.parallel.shard_group.value_or(0);
    if (group <= 0 || group % split_.cp != 0 || split_.zero == 0) return;
    const std::int64_t shards = group / split_.cp;
    if (shards < split_.dp && split_.dp % shards == 0) split_.replicas = split_.dp / shards;
  }

  /// torchtitan's per-operator policy keeps attention and every other product, counted per layer in the order of the
  /// model: q, k, v, o, w1 (gate), w3 (up), w2 (down); the second, fourth and sixth run again, and so does what is no
  /// product (torchtitan parallelisms/parallelize_llama.py, _custom_policy: "all compute ops, except every second mm").
  [[nodiscard]] std::string operator_level() const {
    std::string again = "recompute norm, residual, attn.qkv.K, attn.out, mlp.up, mlp.act";
    if (spec_.positions == Positions::rope) again += ", attn.rope.Q, attn.rope.K";
    return again;
  }

  const Run& run_;
  const NetworkSpec& spec_;
  const Stack& stack_;
  const Habits& habits_;
  std::vector<std::string>& assumptions_;
  Split split_;
  const sim::ScheduleKind* stated_ = nullptr;
  std::string stands_in_;  ///< a stated kind that the usual one stands for, as the record spells it
  bool operator_level_ = false;
  std::string policy_;  ///< the statement of a named policy, or of modules
};

}  // namespace

std::vector<std::int64_t> uneven_stages(std::int64_t layers, std::int64_t parts, std::int64_t prediction_modules) {
  const std::int64_t ends = 2 + prediction_modules;
  std::int64_t each = (layers + ends) / parts, over = (layers + ends) % parts;
  const std::int64_t last = 1 + prediction_modules;
  const bool ends_fit = parts > 1 && each >= last && (over == 0 || each > 1);
  if (!ends_fit) each = layers / parts, over = layers % parts;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), each);
  for (std::int64_t i = 0; i < over; ++i) ++sizes[static_cast<std::size_t>((parts - over) / 2 + i)];
  if (!ends_fit) return sizes;
  sizes.front() -= 1;
  sizes.back() -= last;
  return sizes;
}

std::vector<std::int64_t> filled_stages(const NetworkSpec& spec, std::int64_t parts) {
  const auto hidden = static_cast<double>(spec.hidden), head_dim = static_cast<double>(spec.head_dim);
  const double layer =
                   (4 * static_cast<double>(spec.heads) * head_dim + 3 * static_cast<double>(spec.ffn_hidden)) * hidden,
               all = static_cast<double>(spec.layers) * layer + static_cast<double>(spec.vocab) * hidden;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), 0);
  double sum = 0;
  for (std::size_t i = 0, at = 0; i < static_cast<std::size_t>(spec.layers); ++i) {
    ++sizes[at], sum += layer;
    if (at + 1 < sizes.size() && sum * static_cast<double>(parts) > all * static_cast<double>(at + 1)) ++at;
  }
  for (std::size_t i = sizes.size() - 1; --i > 0;)
    if (sizes[i] == 0 && sizes[i - 1] > 1) ++sizes[i], --sizes[i - 1];
  return sizes;
}

// Megatron-LM brought selective recomputation in May 2022 (arXiv 2205.05198). It is of the scores of an unfused core,
// which later programs do not keep.
std::vector<std::string> recompute_words_of(const Stack& stack) {
  if (stack.id == "megatron-2022") return {"selective", "full"};
  return {"full"};
}

Expected<RunSplit> split_of(
    const Run& run, const NetworkSpec& spec, const Stack& stack, std::vector<std::string>& assumptions) {
  return Splitter(run, spec, stack, assumptions).run();
}

}  // namespace stepcast::records
