#include "studies/run/scenario.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/lower/lower.h"
#include "dataflow/lower/read_plan.h"
#include "model/base/contains.h"
#include "model/base/large_value.h"
#include "model/untold_stack.h"
#include "studies/run/encoders.h"
#include "studies/run/mapped_run.h"
#include "studies/run/rack_use.h"
#include "studies/run/said_split.h"
#include "studies/run/settled_gpus.h"
#include "studies/run/usual_software.h"

namespace stepcast::run {

LARGE_VALUE_MEMBERS(Scenario)
namespace {

/// Fills the scenario field by field; what nobody said is noted as it is filled in.
class Resolver {
 public:
  explicit Resolver(const Request& request) : request_(request) {}

  Expected<Scenario> run() {
    for (const auto step : {&Resolver::nouns, &Resolver::numbers, &Resolver::splitting}) TRY((this->*step)());
    return std::move(scenario_);
  }

 private:
  Expected<void> nouns() {
    if (!request_.network) return fail("network", "no network is named", "stepcast list networks");
    scenario_.network = *request_.network;
    for (const std::string& note : scenario_.network.notes) remark(fmt::format("config: {}", note), true);
    scenario_.warnings = request_.warnings;
    for (const std::string& reading : scenario_.network.readings) scenario_.warnings.push_back(reading);
    for (const std::string& note : request_.notes) remark(fmt::format("launch: {}", note), true);
    TRY(noun(scenario_.machine, request_.machine, FieldId::machine, default_machine, choose_machine));
    TRY(software());
    take_ways();
    TRY(profile());
    for (std::string& words : unpriced_words(scenario_.machine.row, scenario_.profile.row))
      scenario_.warnings.push_back(std::move(words));
    return {};
  }

  template <typename Row, typename Choose>
  Expected<void> noun(
      Chosen<Row>& slot, const std::optional<Chosen<Row>>& given, FieldId id, const char* fallback, Choose choose) {
    if (given) {
      slot = *given;
      return {};
    }
    TRY(slot, choose(fallback, "default"));
    assume(id, slot.id, "default");
    return {};
  }

  Expected<void> software() {
    TRY(const auto settled, with_settled_software(request_));
    scenario_.stack = *settled.stack;
    for (const std::string& note : scenario_.stack.notes) assume(FieldId::stack, scenario_.stack.id, note);
    return {};
  }

  void take_ways() {
    const RunWishes& told = request_.wishes();
    // clang-format off
    scenario_.ways = {.dp_overlap = told.dp_overlap, .param_overlap = told.param_overlap, .pp_overlap = told.pp_overlap,
                      .tp_overlap = told.tp_overlap, .scatter_boundary = std::nullopt};
    // clang-format on
    if (!told.scatter_boundary.value_or(true)) scenario_.ways.scatter_boundary = false;  // on is a line of the mapping
    scenario_.stack.row = with_ways(std::move(scenario_.stack.row), scenario_.ways);
  }

  static bool is_called(const Gpu& gpu, const std::string& name) {
    return gpu.id == name || contains(gpu.aliases, name);
  }

  Expected<void> profile() {
    scenario_.own_profile = request_.profile && request_.profile->id.empty();
    if (request_.profile) {
      scenario_.profile = *request_.profile;
      const std::string& measured_on = scenario_.profile.row.gpu;
      if (!is_called(scenario_.machine.row.gpu, measured_on))
        remark(fmt::format("profile {} was measured on {}, the machine has {}", scenario_.profile.row.id, measured_on,
            scenario_.machine.row.gpu.id));
      return {};
    }
    scenario_.profile.row = default_profile(linked_gpu(), built_in().profiles);
    const Profile& row = scenario_.profile.row;
    const bool in_catalog = std::ranges::any_of(
        built_in().profiles, [&](const ProfileRow& other) { return other.id == row.id && other.name == row.name; });
    if (in_catalog) scenario_.profile.id = row.id;
    assume(FieldId::profile, row.id, fmt::format("for {}", scenario_.machine.row.gpu.name));
    return {};
  }

  /// The GPU with the link rate that this machine gives it: a machine with slower links is not the one that was
  /// measured.
  [[nodiscard]] Gpu linked_gpu() const {
    Gpu gpu = scenario_.machine.row.gpu;
    const Level& node = scenario_.machine.row.levels.front();
    const bool direct = node.fabric == FabricKind::nvswitch || node.fabric == FabricKind::nvlink_mesh;
    if (direct && std::abs(node.bandwidth_per_gpu / gpu.scale_up_bandwidth - 1) > 0.01)
      gpu.scale_up_bandwidth = node.bandwidth_per_gpu;
    return gpu;
  }

  /// bf16, or the first of the usual types that the GPU has.
  [[nodiscard]] Precision usual_precision() const {
    for (const Precision p : {Precision::bf16, Precision::fp16, Precision::fp32})
      if (scenario_.machine.row.gpu.peak[static_cast<int>(p)] > FlopsPerSecond(0)) return p;
    return Precision::bf16;
  }

  Expected<void> numbers() {
    const RunWishes& told = request_.wishes();
    Plan& plan = scenario_.plan;
    plan.micro_batch = assumed(FieldId::micro_batch, told.micro_batch, "default");
    plan.lora_rank = told.lora_rank;
    plan.adapted = told.adapted;
    if (plan.lora_rank == 0 && request_.says(FieldId::lora_on))
      return fail(request_.where(FieldId::lora_on), "there are no adapters", "--lora RANK beside it");
    TRY(masked_share());
    TRY(encoder());
    TRY(ask_sequence());
    plan.sequence = request_.says(FieldId::sequence)
                        ? told.sequence
                        : assumed(FieldId::sequence, scenario_.network.row.sequence, "the network's own");
    TRY(check_images(scenario_.network.row, plan.sequence));
    if (!told.precision) assume(FieldId::precision, to_text(usual_precision()), "what the GPU has");
    plan.precision = told.precision.value_or(usual_precision());
    plan.fp8_any_layout = scenario_.machine.row.gpu.fp8_any_layout;
    scenario_.causal_attention = told.causal_attention && scenario_.network.row.causal;
    scenario_.pipeline = {
        told.seq_splits, told.memory_cap, request_.where(FieldId::seq_splits), request_.where(FieldId::memory_cap)};
    note_fit();
    note_window();
    return check_precision();
  }

  /// How many words are guessed is the run's to say, not the network's.
  Expected<void> masked_share() {
    NetworkSpec& network = scenario_.network.row;
    const double told = request_.wishes().masked_share;
    if (!network.masked_loss) {
      if (told == 0) return {};
      return fail("--masked-share", fmt::format("{} predicts no masked tokens", network.id), "no share");
    }
    if (told > 0) network.masked_share = told;
    if (network.masked_share > 0) return {};
    return fail("--masked-share", fmt::format("{} does not say of how many positions it makes logits", network.id),
        "--masked-share 0.15 where the masked ones are picked, 1 where all have them (Megatron-LM)");
  }

  Expected<void> encoder() {
    const bool sees = projector_parameter_count(scenario_.network.row) > 0,
               hears = sees && scenario_.network.row.encoders.front().sound;
    TRY(settle_encoder(request_, scenario_.network.row));
    if (sees && scenario_.network.row.encoders.empty())
      remark(hears ? "text alone, without the network's encoder of sound: --clips says how many a sequence has"
                   : "text alone, without the network's encoder of images: --images says how many a sequence has");
    for (const NetworkSpec& encoder : scenario_.network.row.encoders)
      assume_unsaid(FieldId::encoder_sequence, std::to_string(encoder.sequence), "the network's own");
    if (sees && !scenario_.network.row.encoders.empty() && adapts_text_alone(request_))
      assume(FieldId::freeze, frozen_parts(scenario_.network.row),
          "adapters stand on the text, as LLaMA-Factory and ms-swift have it");
    return {};
  }

  /// What a network's positions reach is hardly what it is trained on, and a step of it is no default.
  Expected<void> ask_sequence() {
    constexpr std::int64_t longest_default = 32'768;
    const std::int64_t own = scenario_.network.row.sequence;
    if (request_.says(FieldId::sequence)) return {};
    if (own == 0 && scenario_.network.row.features > 0)
      return fail("--seq", fmt::format("{} does not say of how many patches its samples are", scenario_.network.row.id),
          "--seq 4096, for 64 x 64 patches of latents");
    if (own == 0)
      return fail(
          "--seq", fmt::format("{} does not say how long its sequences are", scenario_.network.row.id), "--seq 8k");
    if (own <= longest_default) return {};
    return fail("--seq", fmt::format("the network's own sequence is {}, which is no length to take unasked", own),
        fmt::format("--seq 8k, or --seq {} if that is meant", own));
  }

  /// Which layers see less than all positions: they take less time and fewer FLOPs.
  void note_window() {
    const NetworkSpec& network = scenario_.network.row;
    const AttentionWindow& window = network.window;
    const std::int64_t layers = windowed_layers(network, scenario_.plan.sequence);
    if (layers == 0) return;
    remark(fmt::format("attention in {} of {} layers sees {} {} positions", layers, network.layers,
        window.chunks ? "a chunk of" : "the last", window.positions));
    if (scenario_.stack.row.attention == AttentionForm::unfused)
      remark("the attention of this software writes all scores out, masked or not");
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
    return fail(request_.where(FieldId::precision),
        fmt::format("{} has no {} matrix units", gpu.name, to_text(scenario_.plan.precision)),
        fmt::format("--precision {}", fmt::join(has, ", or ")));
  }

  Expected<void> splitting() {
    TRY(request_.mapping ? from_mapping() : from_flags());
    const NetworkSpec& network = scenario_.network.row;
    if (network.causal && image_positions(network) > 0 && !network.encoders.front().sound)
      remark("positions of an image are counted causal, as words are: a class that lets them see each other (Gemma 3, "
             "PaliGemma) does more in attention");
    return machine_holds();
  }

  Expected<void> from_mapping() {
    TRY(auto run, read_mapped_run(*request_.mapping, request_, scenario_.plan));
    TRY(check_boundary(run.plan));
    scenario_.plan = run.plan;
    scenario_.micro_batches = run.micro_batches;
    for (Assumption& assumption : run.assumptions) scenario_.assumptions.push_back(std::move(assumption));
    return {};
  }

  /// Beside a mapping --scatter-boundary may only take back what the stack implies: the rest is the mapping's to say.
  Expected<void> check_boundary(const Plan& plan) {
    const auto asked = request_.wishes().scatter_boundary;
    if (!asked) return {};
    TRY(const auto parsed, read_plan(plan));
    const bool said = std::ranges::any_of(parsed.statements, [](const Statement& statement) {
      const auto* home = std::get_if<HomeStatement>(&statement.body);
      return home != nullptr && home->what == "boundary";
    });
    if (!*asked && !said) return {};
    return fail(request_.where(FieldId::scatter_boundary),
        fmt::format("the mapping {} already says how the work is split", plan.mapping_where),
        fmt::format("{} '{}'", said ? "it has the line" : "add the line", scatter_statement));
  }

  Expected<void> from_flags() {
    SplitWishes wishes = wishes_of_request();
    say_split(wishes, split_of(wishes, scenario_.network.row, scenario_.stack.row));
    Plan& plan = scenario_.plan;
    const RunWishes& told = request_.wishes();
    const bool sized = request_.says(FieldId::gpus);
    plan.gpus = wishes.gpus = sized ? told.gpus : assumed(FieldId::gpus, whole_nodes(wishes.ways()), "whole nodes");
    if (sized) TRY(machine_holds());
    const std::int64_t batches = default_batches_per_stage * wishes.pp;
    plan.global_batch = wishes.global_batch =
        request_.says(FieldId::global_batch) ? told.global_batch
                                             : assumed(FieldId::global_batch, batches * plan.micro_batch * wishes.dp(),
                                                   fmt::format("{} micro-batches", batches));
    const NetworkSpec& network = scenario_.network.row;
    for (Remark& one : idle_in_split(request_, split_of(wishes, network, scenario_.stack.row), network))
      remark(std::move(one.text), one.above);
    return take_split(wishes);
  }

  Expected<void> take_split(const SplitWishes& wishes) {
    const NetworkSpec& network = scenario_.network.row;
    const LayoutChoice& layout = request_.wishes().layout;
    Split split = split_of(wishes, network, scenario_.stack.row);
    SplitSize size = wishes.size();
    size.max_gpus = scenario_.machine.row.max_gpus();
    TRY(lay_layers(split, layout, network, request_.where(FieldId::layout), request_.where(FieldId::pp)));
    TRY(check_split(split, size, network, [&](FieldId id) { return request_.where(id); }));
    drop_even_layers(split);
    scenario_.balance = layout.kind == LayoutChoice::Kind::balanced;
    scenario_.plan.mapping_where = "mapping made from the flags";
    for (const Request::Statement& statement : request_.statements) scenario_.statements.push_back(statement.text);
    lay_split(scenario_, std::move(split));
    return {};
  }

  /// All but GPUs and batch, whose defaults wait for the rest. A sequence that was asked for must divide for sp
  /// (check_split); the network's own need not.
  [[nodiscard]] SplitWishes wishes_of_request() const {
    SplitWishes wishes = request_.wishes();
    wishes.gpus = wishes.ways();
    wishes.sequence = scenario_.plan.sequence;
    wishes.copies_groups = request_.copies_groups;
    for (const NetworkSpec& encoder : scenario_.network.row.encoders)
      wishes.encoder_sequence = encoder.sequence * std::max<std::int64_t>(1, encoder.images);
    if (!wishes.sp && request_.says(FieldId::sequence)) wishes.sp = true;
    return wishes;
  }

  /// Which of it nobody said, and what a user should know of it.
  void say_split(const SplitWishes& wishes, const Split& split) {
    SaidSplit said = said_of_split(request_, wishes, split, scenario_.network.row, scenario_.stack.row);
    std::ranges::move(said.assumptions, std::back_inserter(scenario_.assumptions));
    for (Remark& one : said.remarks) remark(std::move(one.text));
  }

  /// The fewest whole innermost instances (nodes) that hold `ways` ranks; `ways` itself where that exceeds the machine.
  [[nodiscard]] std::int64_t whole_nodes(std::int64_t ways) const {
    const Machine& machine = scenario_.machine.row;
    const std::int64_t whole = std::lcm(ways, machine.levels.front().gpus);
    return whole <= machine.max_gpus() ? whole : ways;
  }

  Expected<void> machine_holds() {
    if (const std::string text = take_segments(scenario_.machine.row, scenario_.plan.gpus); !text.empty()) remark(text);
    const Machine& machine = scenario_.machine.row;
    const std::int64_t per_node = machine.levels.front().gpus;
    if (scenario_.plan.gpus > per_node && scenario_.plan.gpus % per_node != 0)
      remark(fmt::format(
          "{} GPUs do not fill their last {} of {}", scenario_.plan.gpus, machine.levels.front().name, per_node));
    if (scenario_.plan.gpus <= machine.max_gpus()) return {};
    return fail(request_.where(FieldId::gpus),
        fmt::format("{} GPUs, but {} has at most {}", scenario_.plan.gpus, machine.name, machine.max_gpus()),
        fmt::format("up to {} GPUs, or a larger machine: stepcast list machines", machine.max_gpus()));
  }

  /// Notes that nobody said it, if so.
  void assume_unsaid(FieldId id, std::string value, std::string why) {
    if (!request_.says(id)) assume(id, std::move(value), std::move(why));
  }
  std::int64_t assumed(FieldId id, std::int64_t value, std::string why) {
    assume_unsaid(id, std::to_string(value), std::move(why));
    return value;
  }

  void remark(std::string text, bool above = false) {
    const bool said = std::ranges::any_of(scenario_.remarks, [&](const Remark& one) { return one.text == text; });
    if (!said) scenario_.remarks.push_back({std::move(text), above});
  }

  void assume(FieldId id, std::string value, std::string why) {
    scenario_.assumptions.push_back({flag_of(id), std::move(value), std::move(why)});
  }

  const Request& request_;
  Scenario scenario_;
};

}  // namespace

Expected<Scenario> resolve(const Request& request) {
  if (!request.says(FieldId::nodes) && !request.says(FieldId::dp)) return Resolver(request).run();
  Request settled = request;
  TRY(settle_gpus(settled));
  return Resolver(settled).run();
}

void lay_split(Scenario& scenario, Split split) {
  scenario.plan.mapping = mapping_text(split);
  for (const std::string& statement : scenario.statements) scenario.plan.mapping += statement + "\n";
  scenario.micro_batches = split.micro_batches;
  scenario.split = std::move(split);
}

std::string in_words(const Scenario& scenario) {
  const std::string split = scenario.split ? in_words(*scenario.split) : mapping_in_words(scenario.plan);
  const AdaptedProjections& adapted = scenario.plan.adapted;
  const std::string adapters = scenario.plan.lora_rank == 0 ? ""
                                                            : fmt::format(", LoRA rank {}{}", scenario.plan.lora_rank,
                                                                  adapted.all() ? "" : " on " + adapted.text());
  std::string lengths;
  const std::string frozen = frozen_parts(scenario.network.row);
  for (const NetworkSpec& encoder : scenario.network.row.encoders)
    lengths = encoder.projectors.empty()
                  ? fmt::format(", {}encoder of {} positions", encoder.frozen ? "frozen " : "", encoder.sequence)
                  : fmt::format(", {} {}{} of {} {}{}", encoder.images, encoder.sound ? "clip" : "image",
                        encoder.images == 1 ? "" : "s", encoder.sequence, encoder.sound ? "positions" : "patches",
                        frozen.empty() ? "" : ", frozen: " + frozen);
  return split + in_words(scenario.ways) + adapters + lengths;
}

FoundFit step_fit(const Scenario& scenario) {
  return find_step_fit(
      scenario.profile.row, scenario.stack.row, scenario.plan.precision, scenario.network.row.experts.count > 0);
}

std::string fit_remark(const Scenario& scenario, const FoundFit& found) {
  const StepFit& fit = *found.fit;
  std::string text = fmt::format("interval and {}: ", fit_text(fit));
  text += fit.runs == 0 ? fit.source
                        : fmt::format("from {} measured runs of {}", fit.runs,
                              fit.stack.empty() ? fit.source : fmt::format("{} {}", fit.stack, to_text(fit.precision)));
  if (fit.groups > 0) text += fmt::format(", {:.1f} % off with the {} left out", 100 * fit.held_out_mape, fit.left_out);
  if (!fitted_on(fit, scenario.machine.row.gpu.id)) text += fmt::format(", on {}", fmt::join(fit.gpus, ", "));
  const Stack& stack = scenario.stack.row;
  if (is_untold(stack)) text += "; the interval is that of software which nobody named";
  else if (found.borrowed)
    text += fmt::format("; none of {} in {} are at hand", stack.id.empty() ? "this software" : stack.id,
        to_text(scenario.plan.precision));
  return text;
}

}  // namespace stepcast::run
