#include "studies/run/nouns.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/errors/error_context.h"
#include "model/network/hf/config.h"
#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "model/base/text.h"
#include "model/profile/collective_law.h"
#include "model/untold_stack.h"

namespace stepcast::run {
namespace {

template <typename Rows>
auto named_row(const Rows& rows, const std::string& name, const std::string& kind, const std::string& where)
    -> decltype(find_row(rows, name, kind)) {
  const auto row = find_row(rows, name, kind);
  std::error_code ignored;
  if (!row && std::filesystem::is_regular_file(name, ignored))
    return fail(where,
        fmt::format("'{:.80}' is a file whose name does not end in .json: no {} is read from it", name, kind),
        kind == "network" ? fmt::format("--launch {:.200} in place of NETWORK reads what a framework is told", name)
                          : fmt::format("stepcast list {}s shows those of the catalogue", kind));
  if (!row)
    return tl::unexpected(
        with_more_hint(error_at(where, row.error()), fmt::format("stepcast list {}s shows all", kind)));
  return row;
}

/// Files of ours and of other programs, by a key that they alone have at the top.
struct FileKind {
  const char *key, *kind, *what, *hint;
};
constexpr FileKind file_kinds[] = {
    {"hidden", "network", "a network", "its place is NETWORK"},
    {"levels", "machine", "a machine", "its place is --machine"},
    {"gradient_bucket", "stack", "training software", "its place is --stack"},
    {"regime", "profile", "a profile", "its place is --profile"},
    {"most_captured", "engine", "an engine", "its place is --engine"},
    {"step_time_s", "", "a forecast (predict --json)",
        "what predict --print-scenario writes is read in place of NETWORK"},
    {"global_batch", "", "a scenario (predict --print-scenario)", "predict reads it in place of NETWORK"},
    {"axes", "", "a space of a sweep", "its place is sweep --space"},
    {"architectures", "network", "the config.json of a network", "its place is NETWORK"},
    {"traceEvents", "", "a trace", "its place is stepcast compare"},
};

/// A file of another kind is named instead of the first key that it lacks.
std::optional<Error> other_kind(const std::string& text, const std::string& file, const std::string& kind) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;  // the reader says what is wrong
  for (const FileKind& row : file_kinds)
    if (parsed.contains(row.key)) {
      if (row.kind == kind) return std::nullopt;
      return Error{file, fmt::format("this is {}, not the {} that is asked for", row.what, kind),
          fmt::format("{}; stepcast list {}s shows those of the catalogue", row.hint, kind)};
    }
  return std::nullopt;
}

/// From the file's text by `read`, else a row of `rows`.
template <typename Row, typename Read>
Expected<Chosen<Row>> choose(
    const LazyRows<Row>& rows, const std::string& name, const std::string& kind, const std::string& where, Read read) {
  if (names_a_file(name)) {
    TRY(const auto text, read_text_file(name));
    if (auto error = other_kind(text, name, kind)) return tl::unexpected(std::move(*error));
    TRY(auto row, read(text, name));
    return Chosen<Row>{std::move(row), ""};
  }
  TRY(const auto row, named_row(rows, name, kind, where));
  return Chosen<Row>{*row, row->id};
}

Expected<Chosen<NetworkSpec>> read_config(const std::string& text, const std::string& name, const std::string& as) {
  TRY(auto config, read_hf_config(text, name, as));
  Chosen<NetworkSpec> chosen{std::move(config.network), "", std::move(config.notes), std::move(config.parts), {},
      std::move(config.missing), std::move(config.layers), std::move(config.sound), std::move(config.unseen),
      std::move(config.unheard)};
  double left = 0;
  for (const NetworkPart& part : chosen.parts) left += part.flops;
  if (left > 0) {
    constexpr double passes = 3;
    const NetworkSpec& n = chosen.row;
    const double token = model_flops(n, 1, n.sequence, true) / passes;
    chosen.readings.push_back(fmt::format(
        "images of {} are not forecast: each takes {:.2g} TFLOP forward, as many as {:.0f} tokens of its text", name,
        left / 1e12, left / token));
  }
  for (const std::string& part : config.left_out)
    chosen.readings.push_back(fmt::format("{} of {} is left out: {} forecast", part, name,
        chosen.row.encoders.empty() ? "the language part alone is" : "the other parts are"));
  return chosen;
}

/// The encoder that may stand in place of the network's own, as `show` wrote it; it is read as the network's own.
Expected<NetworkSpec> read_other_encoder(const nlohmann::json& shown, const std::string& where) {
  nlohmann::json other = shown.at("network");
  other["encoder"] = shown.at("other_encoder");
  if (!other["encoder"].is_object())
    return fail(where, fmt::format("{:.60} is no encoder", other["encoder"].dump()),
        "an object, as show network FILE --json writes it");
  auto network_or = read_network(other.dump(), where);
  if (!network_or) return tl::unexpected(renamed_front(network_or.error(), where + ":/encoder", where));
  NetworkSpec& network = *network_or;
  if (network.encoders.empty() || network.encoders.front().projectors.empty() || !network.encoders.front().sound)
    return fail(where, "an encoder of sound stands here", "as show network FILE --json writes it");
  return std::move(network.encoders.front());
}

/// A shown network that was edited has the count of the one that was shown.
void note_count(const nlohmann::json& counted, const std::string& file, Chosen<NetworkSpec>& chosen) {
  const std::int64_t own = parameters_of(chosen);
  if (!counted.is_number_integer() || counted.get<std::int64_t>() == own) return;
  chosen.readings.push_back(fmt::format(
      "{} was edited: its network has {} parameters, and beside it stand {}", file, own, counted.get<std::int64_t>()));
}

/// What `show` printed of a file: the network, and what was counted beside it.
Expected<Chosen<NetworkSpec>> read_shown(const std::string& text, const std::string& name) {
  const auto shown = nlohmann::json::parse(text, nullptr, false);
  const std::string where = name + ":/network";
  if (shown.is_discarded()) return fail(name, "one of its values is Infinity or NaN", "finite numbers");
  if (shown.contains("not_forecast"))
    return fail(where, fmt::format("these layers are not forecast: {}", shown.at("not_forecast").dump()),
        "the file of a network that is");
  auto network = read_network(shown.at("network").dump(), where);
  if (!network) return tl::unexpected(at_one_pointer(network.error(), where));
  Chosen<NetworkSpec> chosen{std::move(*network), ""};
  if (shown.contains("other_encoder")) {
    TRY(chosen.sound, read_other_encoder(shown, name + ":/other_encoder"));
  }
  const std::vector<NetworkPart> described = parts_of_network(chosen);
  JsonObject file(text, name);
  file.allow_unknown_keys();
  file.optional("notes", chosen.notes);
  if (auto parts = file.optional_object("parameters_by_part")) {
    parts->allow_unknown_keys();
    for (const std::string& part : parts->keys()) {
      if (std::ranges::find(described, part, &NetworkPart::name) != described.end()) continue;
      std::int64_t count = 0;
      parts->read(part, count, IntegerRange{0, std::int64_t{1} << 60});
      chosen.parts.push_back({part, count});
      if (chosen.sound && (part == "audio" || part == "audio_projector")) continue;
      chosen.readings.push_back(fmt::format("{} of {} is left out: the rest alone is forecast", part, name));
    }
  }
  note_count(shown.at("parameters"), name, chosen);
  return file.finish(std::move(chosen));
}

/// All that makes the layers: no names, no sources, no lengths; and no plain width where no layer is plain.
std::string layers_of(NetworkSpec network) {
  network.id = network.name = "same";
  network.source.clear(), network.aliases.clear(), network.family.clear(), network.published_parameters_billion.clear();
  network.published_parameters = 0, network.sequence = 1;
  network.dropout = network.no_attention_dropout = network.no_hidden_dropout = false;
  if (!has_plain_mlp(network)) network.ffn_hidden = 1;
  return write_network(network);
}

/// A row of the catalogue that was edited is no longer what its name says.
void note_namesake(Chosen<NetworkSpec>& chosen, const std::string& file) {
  const auto namesake = find_row(built_in().networks, chosen.row.id, "network");
  const std::int64_t own = parameter_count(chosen.row), published = chosen.row.published_parameters;
  constexpr double rounded = 0.02;  // published counts are rounded, and leave parts out
  const bool another = namesake && layers_of(**namesake) != layers_of(chosen.row);
  const bool miscounted = !namesake && published > 0 &&
                          std::abs(static_cast<double>(own - published)) > rounded * static_cast<double>(published);
  if (!another && !miscounted) return;
  chosen.readings.push_back(fmt::format("{} differs from {}: it has {} parameters{}", file,
      another ? fmt::format("{} of the catalogue, whose name it has", (*namesake)->id)
              : std::string("what its name published"),
      own, published > 0 ? fmt::format(", published are {}", published) : ""));
}

/// Ids of the machines whose GPU has the word in its id or its other names.
std::vector<std::string> machines_with(const std::string& gpu) {
  std::vector<std::string> ids;
  const auto has = [&](const std::string& name) { return gpu.size() > 2 && lower_case(name).find(gpu) == 0; };
  for (const Machine& machine : built_in().machines)
    if (has(machine.gpu.id) || std::ranges::any_of(machine.gpu.aliases, has)) ids.push_back(machine.id);
  return ids;
}

/// A folder of a checkpoint stands for its config.json.
Expected<std::string> file_of_network(const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(name, ignored)) return name;
  const std::string inside = (std::filesystem::path(name) / "config.json").string();
  if (std::filesystem::exists(inside, ignored)) return inside;
  return fail(name, "is a folder without a config.json", "a file, or the folder of a Hugging Face checkpoint");
}

/// `laws`: which part of a row of the catalogue.
Expected<Chosen<Profile>> profile_with(
    const Profile& (ProfileRow::*laws)() const, const std::string& name, const std::string& where) {
  if (names_a_file(name)) {
    TRY(const auto text, read_text_file(name));
    if (auto error = other_kind(text, name, "profile")) return tl::unexpected(std::move(*error));
    TRY(auto profile, read_profile(text, name));
    return Chosen<Profile>{std::move(profile), ""};
  }
  TRY(const auto row, named_row(built_in().profiles, name, "profile", where));
  return Chosen<Profile>{((row)->*laws)(), row->id};
}

}  // namespace

bool names_a_file(const std::string& name) {
  if (name.ends_with(".json") || name.starts_with("/") || name.starts_with("./") || name.starts_with("../"))
    return true;
  // "meta-llama/Llama-3-70B" is an alias, "my/network" a path: whatever exists is meant.
  std::error_code ignored;
  if (name.find('/') != std::string::npos) return std::filesystem::exists(name, ignored);
  // A checkpoint's folder, too, unless the catalogue has the name.
  return std::filesystem::exists(std::filesystem::path(name) / "config.json", ignored) &&
         !find_row(built_in().networks, name, "network");
}

bool is_shown_network(const std::string& text) {
  JsonObject file(text, "");
  return !file.failed() && file.type_of("network") == "object" && file.type_of("parameters") == "number" &&
         file.type_of("notes") == "list";
}

namespace {
constexpr const char* prediction_part = "multi_token_prediction";
}  // namespace

std::vector<NetworkPart> parts_of_network(const Chosen<NetworkSpec>& network) {
  if (!network.missing.empty()) return network.parts;
  NetworkSpec alone = network.row;
  alone.mtp_layers = 0, alone.mtp_pattern.clear();
  const std::int64_t whole = parameter_count(network.row), language = parameter_count(alone),
                     encoder = encoder_parameter_count(network.row), projector = projector_parameter_count(network.row);
  const bool images = projector > 0, words = encoder > 0 && !images;
  std::vector<NetworkPart> parts{{words ? "decoder" : "language", language - encoder}};
  if (words) parts.insert(parts.begin(), {"encoder", encoder});
  if (images) {
    const bool sound = network.row.encoders.front().sound;
    parts.push_back({sound ? "audio" : "vision", encoder - projector});
    parts.push_back({sound ? "audio_projector" : "projector", projector});
  }
  parts.insert(parts.end(), network.parts.begin(), network.parts.end());
  if (whole > language) parts.push_back({prediction_part, whole - language});
  return parts;
}

std::int64_t parameters_of(const Chosen<NetworkSpec>& network) {
  std::int64_t total = 0;
  for (const NetworkPart& part : parts_of_network(network)) total += part.name == prediction_part ? 0 : part.parameters;
  return total;
}

std::optional<std::int64_t> active_parameters_of(const Chosen<NetworkSpec>& network) {
  if (!network.missing.empty()) return std::nullopt;
  NetworkSpec alone = network.row;
  alone.mtp_layers = 0, alone.mtp_pattern.clear();
  return parameters_of(network) - (parameter_count(alone) - active_parameter_count(alone));
}

const NetworkSpec* same_in_catalog(const NetworkSpec& network) {
  const std::string layers = layers_of(network);
  for (const NetworkSpec& row : built_in().networks)
    if (row.layers == network.layers && row.hidden == network.hidden && layers_of(row) == layers) return &row;
  return nullptr;
}

namespace {

/// Files of other programs that stand beside a network's, by a key that they have.
struct ForeignFile {
  const char *key, *what, *hint;
};
constexpr ForeignFile foreign_files[] = {
    {"train_micro_batch_size_per_gpu", "what DeepSpeed is told",
        "the network in front, and --deepspeed with this file"},
    {"zero_optimization", "what DeepSpeed is told", "the network in front, and --deepspeed with this file"},
    {"peft_type", "adapters beside a network (PEFT)", "the network's own config.json, and --lora RANK"},
    {"medusa_num_heads", "heads that guess words beside a network (Medusa)", "the network's own config.json"},
    {"n_layers", "sizes as Meta's and Mistral's own files tell them (params.json)",
        "the config.json of the same network for transformers"},
    {"weight_map", "a list of where weights lie", "the config.json beside it"},
    {"quant_method", "how weights were quantised", "the config.json beside it"},
};
constexpr const char* network_forms =
    "a config.json of Hugging Face (architectures, model_type or _class_name), or a file of stepcast's own form (id, "
    "layers, hidden, ...): stepcast show network llama3-8b --json prints one";

/// A file without any key of ours is none of ours.
std::optional<Error> foreign_file(const std::string& text, const std::string& file) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] != '{')
    return Error{file, "this is no JSON object", fmt::format("{}; a launch: --launch {:.200}", network_forms, file)};
  JsonObject object(text, file);
  object.allow_unknown_keys();
  if (object.failed()) return std::nullopt;  // the reader says what is wrong
  const std::vector<std::string> keys = object.keys();
  const auto has = [&](const char* key) { return std::ranges::find(keys, key) != keys.end(); };
  if (keys.empty() || has("id") || has("layers") || has("hidden") || has("heads") || has("vocab")) return std::nullopt;
  for (const ForeignFile& row : foreign_files)
    if (has(row.key)) return Error{file, fmt::format("this file tells no network: it has {}", row.what), row.hint};
  return Error{file, "this file is of no network that is known", network_forms};
}

}  // namespace

Expected<Chosen<NetworkSpec>> choose_network(const std::string& name, const std::string& where) {
  return choose_network_as(name, where, "");
}

Expected<Chosen<NetworkSpec>> choose_network_as(
    const std::string& name, const std::string& where, const std::string& as) {
  TRY(auto chosen, look_at_network(name, where, as));
  if (chosen.missing.empty()) return chosen;
  return fail(name, fmt::format("these layers are not forecast: {}", fmt::join(chosen.missing, ", ")),
      fmt::format("stepcast show network {} counts its parameters", name));
}

Expected<Chosen<NetworkSpec>> look_at_network(
    const std::string& name, const std::string& where, const std::string& as) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(name, ignored) && !find_row(built_in().networks, name, "network");
  if (folder || names_a_file(name)) {
    TRY(const auto file, file_of_network(name));
    TRY(const auto text, read_text_file(file));
    if (looks_like_hf_config(text) || !as.empty()) return read_config(text, file, as);
    if (is_shown_network(text)) return read_shown(text, file);
    if (auto error = other_kind(text, file, "network")) return tl::unexpected(std::move(*error));
    if (auto error = foreign_file(text, file)) return tl::unexpected(std::move(*error));
    TRY(auto network, read_network(text, file));
    Chosen<NetworkSpec> chosen{std::move(network), ""};
    note_namesake(chosen, file);
    return chosen;
  }
  if (!as.empty())
    return fail("--as", fmt::format("'{:.60}' is a catalogue network, which needs no reading", name),
        "a Hugging Face config.json");
  return choose(built_in().networks, name, "network", where, read_network);
}

Expected<Chosen<Machine>> choose_machine(const std::string& name, const std::string& where) {
  auto chosen = choose(built_in().machines, name, "machine", where, read_checked_machine);
  if (chosen || names_a_file(name)) return chosen;
  if (name.find_first_of(":,") != name.npos)
    return fail(where, fmt::format("'{:.60}' names several kinds of machines, which this command does not take", name),
        "one machine; predict, sweep, whatif, job and fleet take several");
  const std::vector<std::string> having = machines_with(lower_case(name));
  if (having.empty()) return chosen;
  return fail(where, fmt::format("'{:.60}' is a GPU, not a machine", name),
      fmt::format("machines that have it: {}", fmt::join(having, ", ")));
}

/// "like:ID" is software that nobody named, and which ID stands for (model/untold_stack.h).
Expected<Chosen<Stack>> choose_stack(const std::string& name, const std::string& where) {
  if (!name.starts_with(like_software)) return choose(built_in().stacks, name, "stack", where, read_stack);
  TRY(auto chosen, choose(built_in().stacks, name.substr(like_software.size()), "stack", where, read_stack));
  chosen.row = as_untold(std::move(chosen.row));
  if (!chosen.id.empty()) chosen.id = chosen.row.id;
  return chosen;
}

Expected<Chosen<Engine>> choose_engine(const std::string& name, const std::string& where) {
  return choose(built_in().engines, name, "engine", where, read_engine);
}

Expected<Chosen<Profile>> choose_profile(const std::string& name, const std::string& where) {
  return profile_with(&ProfileRow::steps, name, where);
}

Expected<Chosen<Profile>> choose_kernel_profile(const std::string& name, const std::string& where) {
  return profile_with(&ProfileRow::whole, name, where);
}

namespace {

const Level* level_in_catalog(const Machine& machine, std::size_t i) {
  const auto shipped = find_row(built_in().machines, machine.id, "machine");
  return shipped && i < (*shipped)->levels.size() ? &(*shipped)->levels[i] : nullptr;
}

/// What collectives inside one instance of the innermost level take at least, by whom.
std::string inside_start(const Machine& machine, const Profile& profile) {
  const Level& node = machine.levels.front();
  const CollectiveCurve* curve =
      find_curve(profile, CollectiveKind::all_reduce, node.fabric, static_cast<int>(node.gpus));
  if (curve == nullptr) return "NCCL's tuning model speaks";
  return fmt::format(
      "the profile's curves speak, {} in an all_reduce over {}", format_seconds(curve->latency), curve->ranks);
}

std::string outside_start(const Level& level, const Profile& profile) {
  const ScaleOutLaw law = scale_out_law(profile, level);
  return fmt::format("the law of its transport speaks, {} and {} per doubling of nodes", format_seconds(law.base),
      format_seconds(law.per_doubling));
}

}  // namespace

std::vector<std::string> unpriced_words(const Machine& machine, const Profile& profile) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const Level& level = machine.levels[i];
    const Level* usual = level_in_catalog(machine, i);
    std::vector<std::string> unread;
    if (usual == nullptr || usual->latency != level.latency)
      unread.push_back(fmt::format("latency {}", format_seconds(level.latency)));
    if (usual == nullptr ? level.in_network_reduction : usual->in_network_reduction != level.in_network_reduction)
      unread.push_back(fmt::format("in_network_reduction {}", level.in_network_reduction));
    if (!unread.empty())
      out.push_back(fmt::format("machine: {} of the {} change{} no price: {}", fmt::join(unread, " and "), level.name,
          unread.size() == 1 ? "s" : "", i == 0 ? inside_start(machine, profile) : outside_start(level, profile)));
  }
  return out;
}

Expected<Machine> read_checked_machine(const std::string& text, const std::string& where) {
  TRY(auto machine, read_machine(text, where, built_in().gpus));
  TRY(check_fabric(machine));
  return machine;
}

}  // namespace stepcast::run
