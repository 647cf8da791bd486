#include "studies/run/scenario.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/lower/lower.h"
#include "dataflow/lower/read_plan.h"
#include "sim/schedule/schedule_table.h"
#include "studies/run/balance.h"
#include "studies/run/mapped_run.h"
#include "studies/run/rack_use.h"
#include "studies/run/split_plan.h"

namespace stepcast {
namespace {

constexpr const char* default_machine = "dgx-h100";
constexpr const char* default_stack = "megatron-core";

/// Fills the scenario field by field; what nobody said is noted as it is filled in.
class Resolver {
 public:
  explicit Resolver(const Request& request) : request_(request) {}

  Expected<Scenario> run() {
    for (const auto step : {&Resolver::nouns, &Resolver::numbers, &Resolver::splitting})
      if (auto done = (this->*step)(); !done) return tl::unexpected(done.error());
    return std::move(scenario_);
  }

 private:
  Expected<void> nouns() {
    if (!request_.network) return fail("network", "no network is named", "stepcast list networks");
    scenario_.network = *request_.network;
    for (const std::string& note : scenario_.network.notes) remark(fmt::format("config: {}", note));
    for (const std::string& note : request_.notes) remark(fmt::format("launch: {}", note));
    if (auto done = noun(scenario_.machine, request_.machine, "machine", default_machine, choose_machine); !done)
      return done;
    if (auto done = noun(scenario_.stack, request_.stack, "stack", default_stack, choose_stack); !done) return done;
    take_ways();
    return profile();
  }

  template <typename Row, typename Choose>
  Expected<void> noun(Chosen<Row>& slot, const std::optional<Chosen<Row>>& given, std::string_view key,
                      const char* fallback, Choose choose) {
    if (given) {
      slot = *given;
      return {};
    }
    auto chosen = choose(fallback, "default");
    if (!chosen) return tl::unexpected(chosen.error());
    slot = std::move(*chosen);
    assume(key, slot.id, "default");
    return {};
  }

  [[nodiscard]] std::optional<bool> wish(std::string_view key) const {
    if (request_.find(key) == nullptr) return std::nullopt;
    return request_.text(key, "off") == "on";
  }

  void take_ways() {
    scenario_.ways = {.dp_overlap = wish("dp_overlap"), .param_overlap = wish("param_overlap"), .pp_overlap = wish("pp_overlap"),
                      .tp_overlap = wish("tp_overlap"), .scatter_boundary = std::nullopt};
    if (!wish("scatter_boundary").value_or(true)) scenario_.ways.scatter_boundary = false;  // on is a line of the mapping
    scenario_.stack.row = with_ways(std::move(scenario_.stack.row), scenario_.ways);
  }

  static bool is_called(const Gpu& gpu, const std::string& name) {
    return gpu.id == name || std::find(gpu.aliases.begin(), gpu.aliases.end(), name) != gpu.aliases.end();
  }

  Expected<void> profile() {
    scenario_.own_profile = request_.profile && request_.profile->id.empty();
    if (request_.profile) {
      scenario_.profile = *request_.profile;
      const std::string& measured_on = scenario_.profile.row.gpu;
      if (!is_called(scenario_.machine.row.gpu, measured_on))
        remark(fmt::format("profile {} was measured on {}, the machine has {}",
                                                scenario_.profile.row.id, measured_on, scenario_.machine.row.gpu.id));
      return {};
    }
    scenario_.profile.row = default_profile(linked_gpu(), catalog().profiles);
    const Profile& row = scenario_.profile.row;
    const bool in_catalog = std::any_of(catalog().profiles.begin(), catalog().profiles.end(), [&](const ProfileRow& other) {
      return other.id == row.id && other.name == row.name;
    });
    if (in_catalog) scenario_.profile.id = row.id;
    assume("profile", row.id, fmt::format("for {}", scenario_.machine.row.gpu.name));
    return {};
  }

  /// The GPU with the link rate that this machine gives it: a machine with slower links is not the one that was measured.
  [[nodiscard]] Gpu linked_gpu() const {
    Gpu gpu = scenario_.machine.row.gpu;
    const Level& node = scenario_.machine.row.levels.front();
    const bool direct = node.fabric == FabricKind::nvswitch || node.fabric == FabricKind::nvlink_mesh;
    if (direct && std::abs(node.bandwidth_per_gpu / gpu.scale_up_bandwidth - 1) > 0.01) gpu.scale_up_bandwidth = node.bandwidth_per_gpu;
    return gpu;
  }

  /// bf16, or the first of the usual types that the GPU has.
  [[nodiscard]] const char* usual_precision() const {
    for (const Precision p : {Precision::bf16, Precision::fp16, Precision::fp32})
      if (scenario_.machine.row.gpu.peak[static_cast<int>(p)] > FlopsPerSecond(0)) return to_text(p);
    return "bf16";
  }

  Expected<void> numbers() {
    Plan& plan = scenario_.plan;
    plan.micro_batch = count("micro_batch", 1, "default");
    plan.lora_rank = request_.count("lora", 0);
    plan.sequence = count("sequence", scenario_.network.row.sequence, "the network's own");
    auto precision = parse_precision(text("precision", usual_precision(), "what the GPU has"), request_.where("precision"));
    if (!precision) return tl::unexpected(precision.error());
    plan.precision = *precision;
    scenario_.causal_attention = request_.text("attention_flops", "causal") == "causal";
    scenario_.pipeline = {request_.count("seq_splits", 1), request_.count("memory_cap", 0), request_.where("seq_splits"),
                          request_.where("memory_cap")};
    note_fit();
    return check_precision();
  }

  void note_fit() {
    const FoundFit found = step_fit(scenario_);
    if (found.fit) remark(fit_remark(scenario_, found));
  }

  Expected<void> check_precision() {
    const Gpu& gpu = scenario_.machine.row.gpu;
    if (gpu.peak[static_cast<int>(scenario_.plan.precision)] > FlopsPerSecond(0)) return {};
    std::vector<std::string> has;
    for (const Precision p : {Precision::bf16, Precision::fp16, Precision::fp32, Precision::tf32, Precision::fp8,
                              Precision::mxfp8, Precision::nvfp4})
      if (gpu.peak[static_cast<int>(p)] > FlopsPerSecond(0)) has.emplace_back(to_text(p));
    return fail(request_.where("precision"),
                fmt::format("{} has no {} matrix units", gpu.name, to_text(scenario_.plan.precision)),
                fmt::format("--precision {}", fmt::join(has, ", or ")));
  }

  Expected<void> splitting() {
    if (auto done = request_.mapping ? from_mapping() : from_flags(); !done) return done;
    return machine_holds();
  }

  [[nodiscard]] std::string adapters_in_words() const {
    return scenario_.plan.lora_rank > 0 ? fmt::format(", LoRA rank {}", scenario_.plan.lora_rank) : "";
  }

  Expected<void> from_mapping() {
    auto run = read_mapped_run(*request_.mapping, request_, scenario_.plan);
    if (!run) return tl::unexpected(run.error());
    if (auto done = check_boundary(run->plan); !done) return done;
    scenario_.plan = run->plan;
    scenario_.micro_batches = run->micro_batches;
    scenario_.split = run->split + in_words(scenario_.ways) + adapters_in_words();
    for (Assumption& assumption : run->assumptions) scenario_.assumptions.push_back(std::move(assumption));
    return {};
  }

  /// Beside a mapping --scatter-boundary may only take back what the stack implies: the rest is the mapping's to say.
  Expected<void> check_boundary(const Plan& plan) {
    const auto asked = wish("scatter_boundary");
    if (!asked) return {};
    const auto parsed = read_plan(plan);
    if (!parsed) return tl::unexpected(parsed.error());
    const bool said = std::any_of(parsed->statements.begin(), parsed->statements.end(), [](const Statement& statement) {
      const auto* home = std::get_if<HomeStatement>(&statement.body);
      return home != nullptr && home->what == "boundary";
    });
    if (!*asked && !said) return {};
    return fail(request_.where("scatter_boundary"), fmt::format("the mapping {} already says how the work is split", plan.mapping_where),
                fmt::format("{} '{}'", said ? "it has the line" : "add the line", scatter_statement));
  }

  Expected<void> from_flags() {
    SplitWishes wishes = wishes_of_request();
    say_split(wishes, split_of(wishes, scenario_.network.row, scenario_.stack.row));
    Plan& plan = scenario_.plan;
    plan.gpus = wishes.gpus = count("gpus", whole_nodes(wishes.ways()), "whole nodes");
    if (request_.find("gpus") != nullptr)
      if (auto good = machine_holds(); !good) return good;
    const std::int64_t batches = default_batches_per_stage * wishes.pp;
    plan.global_batch = wishes.global_batch =
        count("global_batch", batches * plan.micro_batch * wishes.dp(), fmt::format("{} micro-batches", batches));
    return take_split(wishes);
  }

  Expected<void> take_split(const SplitWishes& wishes) {
    const NetworkSpec& network = scenario_.network.row;
    const auto layout = parse_layout(request_.text("layout", "even"), request_.where("layout"));
    if (!layout) return tl::unexpected(layout.error());
    Split split = split_of(wishes, network, scenario_.stack.row);
    SplitSize size = wishes.size();
    size.max_gpus = scenario_.machine.row.max_gpus();
    if (auto laid = lay_layers(split, *layout, network, request_.where("layout"), request_.where("pp")); !laid) return laid;
    if (auto good = check_split(split, size, network, origin()); !good) return good;
    if (layout->kind == LayoutChoice::Kind::balanced) {
      auto layers = balanced_layers(scenario_, split);
      if (!layers) return tl::unexpected(layers.error());
      split.layers = std::move(*layers);
    }
    drop_even_layers(split);
    scenario_.plan = plan_of(split, size, scenario_.plan);
    for (const Request::Statement& statement : request_.statements) scenario_.plan.mapping += statement.text + "\n";
    scenario_.micro_batches = split.micro_batches;
    scenario_.split = in_words(split) + in_words(scenario_.ways) + adapters_in_words();
    return {};
  }

  /// All but GPUs and batch, whose defaults wait for the rest. A sequence that was asked for must divide for sp (check_split);
  /// the network's own need not.
  [[nodiscard]] SplitWishes wishes_of_request() const {
    SplitWishes wishes;
    for (auto [key, slot] : {std::pair{"tp", &wishes.tp}, {"cp", &wishes.cp}, {"pp", &wishes.pp}, {"chunks", &wishes.chunks},
                             {"ep", &wishes.ep}, {"etp", &wishes.etp}, {"zero", &wishes.zero}, {"dp_replicate", &wishes.dp_replicate}})
      *slot = request_.count(key, *slot);
    wishes.gpus = wishes.ways();
    wishes.micro_batch = scenario_.plan.micro_batch;
    wishes.sequence = scenario_.plan.sequence;
    wishes.sp = wish("sp");
    if (!wishes.sp && request_.find("sequence") != nullptr) wishes.sp = true;
    wishes.schedule = request_.text("schedule", "");
    wishes.recompute = *parse_recompute(request_.text("recompute", "none"), "recompute");
    wishes.context = *parse_context_kind(request_.text("cp_kind", "ring"), "cp_kind");
    wishes.order = *parse_order(request_.text("order", to_text(usual_order)), "order");
    wishes.scatter_boundary = wish("scatter_boundary");
    wishes.save_gathered = wish("save_gathered").value_or(false);
    return wishes;
  }

  /// Which of it nobody said, and what a user should know of it.
  void say_split(const SplitWishes& wishes, const Split& split) {
    if (split.experts) assume_experts();
    count("zero", 1, "default");
    say_sequence_split(wishes);
    const std::string usual = wishes.chunks > 1 ? "interleaved-1f1b" : "1f1b";
    text("schedule", usual.c_str(), "default");
    if (split.chunks != wishes.chunks) remark(fmt::format("{} runs {} chunks per stage", split.schedule, split.chunks));
    if (const auto kind = find_schedule(split.schedule); kind && (*kind)->takes_slices) count("seq_splits", 1, "default");
    text("recompute", "none", "default");
    if (split.cp > 1) text("cp_kind", "ring", "default");
    if (split.tp > 1 && !split.vocabulary)
      remark(fmt::format("vocabulary {} does not divide by tp {}: embedding and LM head are whole on every rank",
                         scenario_.network.row.vocab, split.tp));
    if (split.recompute.kind == Recompute::Kind::selective && scenario_.stack.row.attention == AttentionForm::fused)
      remark("selective recompute saves little here: the fused attention kernel keeps no scores");
    say_idle_wishes(wishes, split);
  }

  void say_sequence_split(const SplitWishes& wishes) {
    const bool divides = sequence_divides(wishes) || request_.find("sequence") != nullptr;
    const std::string why =
        divides ? "default" : fmt::format("sequence {} does not divide by tp {}", wishes.sequence, wishes.tp);
    text("sp", wishes.tp > 1 && divides ? "on" : "off", why);
    if (wish("sp").value_or(false) && wishes.tp == 1) remark("sp splits what tp leaves alone: without tp it does nothing");
  }

  /// What was asked for and does nothing here.
  void say_idle_wishes(const SplitWishes& wishes, const Split& split) {
    if (wishes.dp_replicate > 1 && wishes.zero == 0) remark("dp-replicate repeats what zero keeps in shards: with zero 0 it does nothing");
    if (request_.find("cp_kind") != nullptr && split.cp == 1)
      remark("cp-kind says how cp moves keys and values: without cp it does nothing");
    if (wishes.save_gathered && !keeps_gathers(split))
      remark(split.sequence ? "save-gathered does nothing: full recomputation gathers again what it reads"
                            : "save-gathered keeps what sp gathers: without sp it does nothing");
    if (wishes.scatter_boundary.value_or(false) && !crosses_repeated(split))
      remark("scatter-boundary cuts what every tp rank would send: without tp and pp, or with sp, it does nothing");
  }

  void assume_experts() {
    const Experts& experts = scenario_.network.row.experts;
    count("ep", 1, "default");
    count("etp", 1, "default");
    remark(fmt::format("rows per expert: fullest rank {:.2f} x the mean{}", experts.imbalance, experts.imbalance == 1 ? " (balanced, assumed)" : ""));
  }

  /// The fewest whole innermost instances (nodes) that hold `ways` ranks; `ways` itself where that exceeds the machine.
  [[nodiscard]] std::int64_t whole_nodes(std::int64_t ways) const {
    const Machine& machine = scenario_.machine.row;
    const std::int64_t whole = std::lcm(ways, machine.levels.front().gpus);
    return whole <= machine.max_gpus() ? whole : ways;
  }

  [[nodiscard]] SplitOrigin origin() const {
    return {request_.where("gpus"),   request_.where("tp"),           request_.where("cp"),
            request_.where("pp"),     request_.where("chunks"),       request_.where("global_batch"),
            request_.where("sequence"), request_.where("schedule"),   request_.where("recompute"),
            request_.where("ep"),     request_.where("etp"),          request_.where("order"),
            request_.where("scatter_boundary"), request_.where("dp_replicate")};
  }

  Expected<void> machine_holds() {
    if (const std::string text = take_segments(scenario_.machine.row, scenario_.plan.gpus); !text.empty()) remark(text);
    const Machine& machine = scenario_.machine.row;
    const std::int64_t per_node = machine.levels.front().gpus;
    if (scenario_.plan.gpus > per_node && scenario_.plan.gpus % per_node != 0)
      remark(fmt::format("{} GPUs do not fill their last {} of {}", scenario_.plan.gpus, machine.levels.front().name, per_node));
    if (scenario_.plan.gpus <= machine.max_gpus()) return {};
    return fail(request_.where("gpus"),
                fmt::format("{} GPUs, but {} has at most {}", scenario_.plan.gpus, machine.name, machine.max_gpus()),
                fmt::format("up to {} GPUs, or a larger machine: stepcast list machines", machine.max_gpus()));
  }

  std::int64_t count(std::string_view key, std::int64_t fallback) { return request_.count(key, fallback); }

  std::int64_t count(std::string_view key, std::int64_t fallback, const std::string& why) {
    if (request_.find(key) == nullptr) assume(key, std::to_string(fallback), why);
    return request_.count(key, fallback);
  }

  std::string text(std::string_view key, const char* fallback, const std::string& why) {
    if (request_.find(key) == nullptr) assume(key, fallback, why);
    return request_.text(key, fallback);
  }

  void remark(std::string text) {
    const bool said = std::find(scenario_.remarks.begin(), scenario_.remarks.end(), text) != scenario_.remarks.end();
    if (!said) scenario_.remarks.push_back(std::move(text));
  }

  void assume(std::string_view key, std::string value, std::string why) {
    scenario_.assumptions.push_back({std::string(find_key(run_flags(), key)->name), std::move(value), std::move(why)});
  }

  const Request& request_;
  Scenario scenario_;
};

}  // namespace

Expected<Scenario> resolve(const Request& request) { return Resolver(request).run(); }

FoundFit step_fit(const Scenario& scenario) {
  return find_step_fit(scenario.profile.row, scenario.stack.row, scenario.plan.precision, scenario.network.row.experts.count > 0);
}

std::string fit_remark(const Scenario& scenario, const FoundFit& found) {
  const StepFit& fit = *found.fit;
  std::string text = fmt::format("interval and {}: from {} measured runs of {}", fit_text(fit), fit.runs,
                                 fit.stack.empty() ? fit.source : fmt::format("{} {}", fit.stack, to_text(fit.precision)));
  if (fit.groups > 0) text += fmt::format(", {:.1f} % off with the {} left out", 100 * fit.held_out_mape, fit.left_out);
  if (!fitted_on(fit, scenario.machine.row.gpu.id)) text += fmt::format(", on {}", fmt::join(fit.gpus, ", "));
  if (found.borrowed) text += fmt::format("; none of {} {} are at hand", scenario.stack.row.id, to_text(scenario.plan.precision));
  return text;
}

}  // namespace stepcast
