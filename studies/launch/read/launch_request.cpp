#include "studies/launch/read/launch_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/catalog.h"
#include "studies/launch/facts/launch_release.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/read/sections.h"
#include "studies/launch/limits/understood.h"
#include "studies/records/stack_rule.h"

namespace stepcast::launch {
namespace {

const char* on_off(bool on) { return on ? "on" : "off"; }

std::string recompute_text(const Recompute& recompute) {
  if (recompute.kind == Recompute::Kind::none) return "none";
  if (recompute.kind == Recompute::Kind::selective) return "selective";
  return recompute.layers > 0 ? fmt::format("full:{}", recompute.layers) : "full";
}

/// Called by the network that it is but for dropout, where there is one; a launch's own, whose name is the file's, by
/// its size.
NetworkSpec named_by_kin(NetworkSpec spec, const std::string& where) {
  NetworkSpec other = spec;
  other.no_attention_dropout = other.no_hidden_dropout = false;
  const std::string_view how = spec.no_attention_dropout ? "with hidden dropout alone"
                               : spec.no_hidden_dropout  ? "with attention dropout alone"
                               : spec.dropout            ? "with dropout"
                                                         : "without dropout";
  for (const bool dropout : {!spec.dropout, spec.dropout}) {
    other.dropout = dropout;
    if (const NetworkSpec* kin = recognised(other)) return spec.name = fmt::format("{}, {}", kin->name, how), spec;
  }
  if (spec.name == launch_stem(where))
    spec.name = fmt::format("Own network of {:.3g} B parameters", 1e-9 * static_cast<double>(parameter_count(spec)));
  return spec;
}

/// A network of the catalogue, with the windows that the launch has, or without.
Chosen<NetworkSpec> with_its_window(NetworkSpec row, const NetworkSpec& launched) {
  const LayerKinds own = layer_kinds(row, launched.sequence), here = layer_kinds(launched, launched.sequence);
  const bool windowed = std::ranges::any_of(here.kinds, &LayerKind::windowed);
  const bool same =
      own.kinds == here.kinds && own.of_layer == here.of_layer &&
      (!windowed || (row.window.positions == launched.window.positions && row.window.chunks == launched.window.chunks));
  std::string id = row.id;
  if (same) return {std::move(row), id};
  row.name += windowed ? " with other windows" : " with full attention in all layers";
  row.window = launched.window;
  return {std::move(row), ""};
}

/// Puts what a launch sets under the keys of a scenario.
class RequestWriter {
 public:
  RequestWriter(const Launch& launch, const LaunchedRun& from, Request& request)
      : launch_(launch), from_(from), request_(request) {}

  Expected<void> write() {
    nouns();
    sizes();
    ways();
    for (const std::string& statement : from_.statements)
      request_.statements.push_back({statement, FieldId::recompute, launch_.where});
    // with another stack it is another loss
    if (from_.loss && from_.loss->again)
      request_.statements.push_back({"recompute head, loss", FieldId::stack, launch_.where});
    return done_;
  }

 private:
  /// As if it had been a flag; the first that is wrong counts.
  void put(const char* key, std::string text) {
    const auto where = from_.where.find(key);
    auto said = request_.say(key, std::move(text), where == from_.where.end() ? launch_.where : where->second);
    if (!said && done_) done_ = std::move(said);
  }
  void put(const char* key, std::int64_t count) { put(key, std::to_string(count)); }
  void put(const char* key, const MaybeCount& count) {
    if (count) put(key, *count);
  }
  void put(const char* key, const MaybeFlag& on) {
    if (on) put(key, std::string(on_off(*on)));
  }

  void nouns() {
    const NetworkSpec* row = recognised(from_.network);
    if (from_.own_name) request_.network = Chosen<NetworkSpec>{from_.network, ""};
    else if (row != nullptr) request_.network = with_its_window(*row, from_.network);
    else request_.network = Chosen<NetworkSpec>{named_by_kin(from_.network, launch_.where), ""};
    Run dated = from_.run;
    dated.id.clear();
    const auto releases = launch_.framework->table().releases();
    const auto release =
        std::find_if(releases.begin(), releases.end(), [&](const Release& r) { return r.id == launch_.release; });
    if (release != releases.end()) dated.date = release->date;
    const std::string stack = !from_.stack.empty()      ? from_.stack
                              : launch_.release.empty() ? std::string(launch_.framework->stack)
                                                        : stack_of(dated).id;
    if (const auto found = find_row(built_in().stacks, stack, "stack")) request_.stack = Chosen<Stack>{**found, stack};
    if (!request_.stack) return;
    Stack& own = request_.stack->row;
    const auto precision = parse_precision(*from_.run.precision, launch_.where);
    const bool others = precision && from_.gradient_bytes.value_or(4) != gradient_bytes(own, *precision);
    if (from_.gradient_bytes && others) own.gradient_bytes = *from_.gradient_bytes, own.half_gradients = false;
    own.optimizer_bytes = from_.optimizer_bytes.value_or(own.optimizer_bytes);
    if (from_.short_weights) own.master_bytes = 0, own.half_gradients = false;
    if (from_.loss) {
      own.loss = from_.loss->form, own.loss_bytes = from_.loss->bytes, own.loss_in_place = from_.loss->in_place;
    }
    // a row of the run's own from here on
    if (from_.optimizer_bytes || from_.loss || (from_.gradient_bytes && others)) request_.stack->id.clear();
  }

  void sizes() {
    const RunParallel& p = from_.run.parallel;
    put("gpus", p.gpus);
    put("tp", p.tp), put("cp", p.cp), put("pp", p.pp);
    put("ep", p.ep), put("etp", p.etp);
    put("chunks", p.chunks);
    if (!from_.schedule.empty()) put("schedule", from_.schedule);
    if (!from_.layout.empty()) put("layout", from_.layout);
    if (from_.context) put("cp_kind", std::string(to_text(*from_.context)));
    if (from_.order) put("order", to_text(*from_.order));
    put("zero", p.zero_stage);
    if (from_.replicas > 1) put("dp_replicate", from_.replicas);
    put("sp", p.sequence_parallel);
    put("micro_batch", from_.run.micro_batch);
    put("global_batch", from_.run.global_batch);
    put("sequence", from_.network.sequence);
    if (from_.lora_rank > 0) put("lora", from_.lora_rank);
    if ((from_.lora_rank > 0 || launch_.told.contains(FieldId::lora)) && !launch_.adapted.empty())
      put("lora_on", launch_.adapted);
    if (!from_.frozen.empty()) put("freeze", from_.frozen);
  }

  void ways() {
    put("precision", *from_.run.precision);
    put("recompute", recompute_text(from_.recompute));
    const RunOverlap& overlap = from_.run.overlap;
    put("dp_overlap", overlap.dp_grad);
    if (overlap.dp_param != overlap.dp_grad) put("param_overlap", overlap.dp_param);
    put("tp_overlap", overlap.tp);
    put("pp_overlap", overlap.pp);
  }

  const Launch& launch_;
  const LaunchedRun& from_;
  Request& request_;
  Expected<void> done_;
};

}  // namespace

Expected<LaunchedRun> read_launched_run(
    const Launch& launch, const LaunchHints& hints, LaunchAnswers& answers, std::vector<std::string>& notes) {
  LaunchedRun out;
  const LaunchSubject subject{launch, hints, *launch.framework, answers, notes, out};
  for (const auto part : {read_geometry, read_split, read_batch, read_ways, read_optimizer, read_loss, read_frozen})
    TRY(part(subject));
  return out;
}

namespace {

/// Megatron-LM's checkpointing.py, load_args_from_checkpoint: some arguments are those of the checkpoint whatever the
/// launch says, and the rest are where it says nothing.
Expected<void> check_checkpoint(const Launch& launch, const LaunchHints& hints, std::vector<std::string>& warnings) {
  const auto on = [&](std::string_view name) {
    const GivenArgument* given = launch.find(name);
    return given != nullptr && !is_off(given->value) ? given : nullptr;
  };
  const GivenArgument* sizes = on("use_checkpoint_args");
  if (sizes == nullptr || !hints.must_agree) return {};
  const GivenArgument* split = on("use_mp_args_from_checkpoint_args");
  const bool untold = split != nullptr && !(hints.told.contains(FieldId::tp) && hints.told.contains(FieldId::pp));
  if (hints.network && !untold) return {};
  std::string text = hints.network ? "the split comes from a checkpoint, which is not here"
                                   : "groups of queries, the kind of the MLP, experts and what the launch leaves open "
                                     "come from a checkpoint, which is not here";
  if (hints.lenient) return warnings.push_back(std::move(text)), Expected<void>{};
  return fail(place_of(launch, hints.network ? *split : *sizes), std::move(text),
      hints.network ? "--tp and --pp, with --chunks and --ep where there are such; or --lenient for those of the launch"
                    : "the network in front: llama2-70b, or its config.json; or --lenient for what the launch tells");
}

/// New words or a head beside adapters (PEFT's modules_to_save): they have gradients, states and a copy of their own,
/// which are many times those of the adapters.
Expected<void> check_trained_whole(
    const Launch& launch, const LaunchHints& hints, const LaunchedRun& run, std::vector<std::string>& warnings) {
  if (run.lora_rank == 0 && !hints.told.contains(FieldId::lora)) return {};
  for (const GivenArgument& given : launch.arguments) {
    const ArgumentFact* fact = launch.framework->table().find(given.name);
    const bool none = says_none(given.value) || is_off(given.value) || given.value == "[]";
    if (fact == nullptr || fact->asks != Asked::trained_whole || none || !launch.counts(given)) continue;
    std::string text = fmt::format(
        "{:.60}: matrices that are trained whole beside adapters are not forecast, nor the memory of their gradients "
        "and states",
        given.value);
    if (!hints.lenient)
      return fail(place_of(launch, given), std::move(text), "--lenient for the forecast without them");
    warnings.push_back(fmt::format("{}: {}", place_of(launch, given), text));
  }
  return {};
}

/// torchtitan has no sizes of its own beside a registry: those of its older releases are not taken for it.
Expected<void> check_registry(const Launch& launch, const LaunchHints& hints) {
  const bool told = hints.told.contains(FieldId::sequence) && hints.told.contains(FieldId::micro_batch);
  if (launch.framework->id != "torchtitan" || launch.find("module") == nullptr || launch.lost.empty() || told)
    return {};
  return fail(launch.where, fmt::format("{} is not there, and it alone tells sequences and batch", launch.lost),
      "--files-from FOLDER that has it, or NETWORK in front with --seq N, --micro-batch N and --lenient");
}

/// Behind all else that a launch may lack: one flag tells it.
Expected<void> check_samples(const Launch& launch, const LaunchHints& hints, std::vector<std::string>& warnings) {
  if (launch.bound.empty() || hints.told.contains(FieldId::sequence)) return {};
  std::string text =
      "samples are not packed, so that sequences are as long as those of the data, which this only bounds";
  if (hints.lenient) return warnings.push_back(fmt::format("{}: {}", launch.bound, text)), Expected<void>{};
  return fail(launch.bound, std::move(text),
      "--seq N beside the launch, the length that batches are filled up to; or --lenient for the bound");
}

}  // namespace

Expected<LaunchReading> read_meaning(const Launch& launch, const LaunchHints& hints) {
  LaunchReading reading;
  reading.notes = launch.notes;
  if (hints.gpus > 0) std::erase(reading.notes, launch.untold_gpus);
  Launch counted = counting_sections(launch, reading.notes);
  counted.release = release_in_force(counted);
  if (counted.release != launch.release)
    reading.notes.push_back(
        fmt::format("read as {} {}, the newest that knows all its arguments", launch.framework->name, counted.release));
  TRY(reading.request.warnings, understood(counted, hints.lenient));
  TRY(check_registry(counted, hints));
  TRY(check_checkpoint(counted, hints, reading.request.warnings));
  LaunchAnswers answers(counted);
  TRY(check_left_open(counted, hints, answers));
  TRY(auto run, read_launched_run(counted, hints, answers, reading.notes));
  TRY(RequestWriter(counted, run, reading.request).write());
  TRY(check_trained_whole(counted, hints, run, reading.request.warnings));
  TRY(check_samples(counted, hints, reading.request.warnings));
  if (run.lora_rank > 0 && run.network.experts.count > 0)
    reading.notes.emplace_back("adapters of experts, where the program has any, are not forecast");
  reading.request.warnings.insert(reading.request.warnings.end(), run.warnings.begin(), run.warnings.end());
  reading.used = answers.used();
  reading.node_ranks = run.node_ranks;
  for (std::string& text : answers.left_over(run.network.experts.count > 0)) reading.notes.push_back(std::move(text));
  return reading;
}

}  // namespace stepcast::launch
