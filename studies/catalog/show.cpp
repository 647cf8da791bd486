// stepcast show: one row of the catalogue, for reading or as the file to edit into one's own.
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "model/catalog.h"
#include "model/failure_rates.h"
#include "model/base/json_writer.h"
#include "model/network/hf/stored_weights.h"
#include "sim/schedule/schedule_table.h"
#include "studies/catalog/kinds.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/run/nouns.h"

namespace stepcast::catalog {
namespace {

using Json = nlohmann::ordered_json;

std::string write_schedule(const ScheduleKind& kind) {
  JsonWriter json;
  json.row("id", kind.id, "name", kind.name, "source", kind.source, "takes_chunks", kind.takes_chunks);
  return json.text();
}

template <typename Rows, typename Whole>
Expected<std::string> file_of(
    const Rows& rows, const std::string& id, const std::string& kind, std::string (*write)(const Whole&)) {
  const auto row = find_row(rows, id, kind);
  if (!row) return tl::unexpected(error_at(id.substr(0, 60), row.error()));
  return write(**row);
}

Expected<std::string> row_file(RowKind kind, const std::string& id) {
  const Catalog& rows = built_in();
  switch (kind) {
    case RowKind::network: return file_of(rows.networks, id, "network", write_network);
    case RowKind::machine: return file_of(rows.machines, id, "machine", write_machine);
    case RowKind::gpu: return file_of(rows.gpus, id, "gpu", write_gpu);
    case RowKind::profile: return file_of(rows.profiles, id, "profile", write_profile);
    case RowKind::stack: return file_of(rows.stacks, id, "stack", write_stack);
    case RowKind::engine: return file_of(rows.engines, id, "engine", write_engine);
    case RowKind::failures: {
      TRY(const auto row, find_failure_rates(id, id.substr(0, 60)));
      return write_failure_rates(*row);
    }
    case RowKind::schedule: break;
  }
  const auto schedule = find_schedule(id);
  if (!schedule) return tl::unexpected(error_at(id.substr(0, 60), schedule.error()));
  return write_schedule(**schedule);
}

std::string plain(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

bool is_simple_list(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_primitive(); });
}

std::string joined(const Json& list) {
  std::string text;
  for (const Json& item : list) text += (text.empty() ? "" : ", ") + plain(item);
  return text.empty() ? "none" : text;
}

std::string with_blanks(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// Keys with words for underscores; objects and lists of objects indented below their key; long lists by their length.
void add_lines(std::string& text, const Json& object, const std::string& indent, const Paint& paint) {
  constexpr std::size_t most_items = 12;
  std::size_t width = 0;
  for (const auto& [key, value] : object.items()) width = std::max(width, key.size());
  for (const auto& [key, value] : object.items()) {
    const std::string name = with_blanks(key);
    if (value.is_primitive() || is_simple_list(value)) {
      const std::string shown = is_simple_list(value) ? joined(value) : plain(value);
      const std::string first = indent + paint.dim(fmt::format("{:<{}}", name, width)) + "  ";
      text += paragraph(shown, first, std::string(indent.size() + width + 2, ' '), page_columns);
    } else if (value.is_object()) {
      text += indent + paint.bold(name) + "\n";
      add_lines(text, value, indent + "  ", paint);
    } else if (value.size() > most_items || value.front().is_array()) {
      text += indent + fmt::format("{}  {} rows (--json shows them)\n", paint.dim(name), value.size());
    } else {
      for (const Json& item : value) {
        text += indent + paint.bold(name) + "\n";
        add_lines(text, item, indent + "  ", paint);
      }
    }
  }
}

std::string as_text(const std::string& file, const Paint& paint) {
  std::string text;
  add_lines(text, Json::parse(file), "", paint);
  return text;
}

/// What was read of a network: its layers by kind, its shapes in our own form, and its parameters part by part.
struct ReadNetwork {
  const NetworkSpec& spec;
  const run::Chosen<NetworkSpec>& chosen;
  std::vector<NetworkPart> parts;
  StoredWeights stored = {};

  [[nodiscard]] std::vector<LayerCount> layers() const {
    std::vector<LayerCount> rows = chosen.layers;
    std::erase_if(rows, [](const LayerCount& row) { return row.layers == 0; });
    if (!chosen.missing.empty()) return rows;
    const LayerKinds all = layer_kinds(spec, std::int64_t{1} << 40);  // longer than any window
    for (std::size_t kind = 0; kind < all.kinds.size(); ++kind)
      rows.push_back({layer_word(spec, all.kinds[kind]), all.count(kind)});
    for (const NetworkSpec& encoder : spec.encoders)
      if (encoder.projectors.empty() && encoder.layers > 0) rows.push_back({"encoder *-", encoder.layers});
    return rows;
  }
  /// Encoders of images or sound: the network's own, and the one that may stand in its place.
  [[nodiscard]] std::vector<NetworkSpec> encoders() const {
    std::vector<NetworkSpec> all;
    if (!chosen.missing.empty()) return all;
    for (const NetworkSpec& encoder : spec.encoders)
      if (!encoder.projectors.empty()) all.push_back(encoder);
    if (chosen.sound) all.push_back(*chosen.sound);
    return all;
  }
  /// The other encoder in our own form; null: there is none.
  [[nodiscard]] Json other_encoder() const {
    if (!chosen.sound || !chosen.missing.empty()) return nullptr;
    NetworkSpec hearing = spec;
    hearing.encoders = {*chosen.sound};
    return Json::parse(write_network(hearing)).at("encoder");
  }
  /// Where layers are missing, the sizes that were read.
  [[nodiscard]] Json own_form() const {
    if (chosen.missing.empty()) return Json::parse(write_network(spec));
    Json json{{"id", spec.id}, {"source", spec.source}};
    for (const auto& [key, value] :
        {std::pair{"layers", spec.layers}, {"hidden", spec.hidden}, {"ffn_hidden", spec.ffn_hidden},
            {"heads", spec.heads}, {"kv_heads", spec.kv_heads}, {"head_dim", spec.head_dim}, {"vocab", spec.vocab}})
      if (value > 0) json[key] = value;
    return json;
  }
};

/// Operators by name with the layers of their weights; none: all.
Json wide_weights_json(const StoredWeights& stored) {
  Json json = Json::object();
  for (const WeightsOfLayers& weights : stored.wide_weights) json[weights.name] = weights.layers;
  return json;
}

/// Operators by name with how many of each layer's experts.
Json wide_experts_json(const StoredWeights& stored) {
  Json json = Json::object();
  for (const WeightsOfExperts& weights : stored.wide_experts) {
    Json& counts = json[weights.name];
    while (counts.size() <= static_cast<std::size_t>(weights.layer)) counts.push_back(0);
    counts[static_cast<std::size_t>(weights.layer)] = weights.experts;
  }
  return json;
}

std::string network_json(const ReadNetwork& read) {
  Json json;
  json["network"] = read.own_form();
  for (const LayerCount& row : read.layers())
    json["layers_by_kind"].push_back({{"kind", row.kind}, {"layers", row.layers}});
  for (const NetworkSpec& encoder : read.encoders()) {
    const LayerKinds all = layer_kinds(encoder, std::int64_t{1} << 40);
    for (std::size_t kind = 0; kind < all.kinds.size(); ++kind)
      json[encoder.sound ? "audio_layers_by_kind" : "vision_layers_by_kind"].push_back(
          {{"kind", layer_word(encoder, all.kinds[kind])}, {"layers", all.count(kind)}});
  }
  if (Json other = read.other_encoder(); !other.is_null()) json["other_encoder"] = std::move(other);
  json["parameters"] = run::parameters_of(read.chosen);
  if (const auto active = run::active_parameters_of(read.chosen)) json["active_parameters"] = *active;
  for (const NetworkPart& part : read.parts) json["parameters_by_part"][part.name] = part.parameters;
  json["notes"] = read.chosen.notes;
  if (!read.stored.how.empty() || !read.stored.cache_how.empty())
    json["stored_weights"] = {{"type", read.stored.type}, {"how", read.stored.how}, {"wide", read.stored.wide},
        {"cache", read.stored.cache}, {"cache_how", read.stored.cache_how}, {"narrow", read.stored.narrow},
        {"told_by", read.stored.told_by}, {"element_bytes", read.stored.element_bytes},
        {"unknown", read.stored.unknown}, {"wide_weights", wide_weights_json(read.stored)},
        {"wide_experts", wide_experts_json(read.stored)}};
  if (!read.chosen.missing.empty()) json["not_forecast"] = read.chosen.missing;
  return json.dump(2) + "\n";
}

std::string counted(std::int64_t parameters, std::optional<std::int64_t> active) {
  const auto digits = [](std::int64_t count) { return grouped_digits(static_cast<double>(count)); };
  return fmt::format("\n{} parameters{}", digits(parameters),
      !active || *active == parameters ? "" : fmt::format("\n{} of them are met by a token", digits(*active)));
}

void add_parameters(std::string& text, const ReadNetwork& read) {
  text += counted(run::parameters_of(read.chosen), run::active_parameters_of(read.chosen));
  if (read.parts.size() > 1)
    for (const NetworkPart& part : read.parts)
      text += fmt::format("\n  {} {}", grouped_digits(static_cast<double>(part.parameters)), with_blanks(part.name));
  text += "\n";
}

Expected<void> show_network_file(const Arguments& arguments, Console& console) {
  TRY(const auto chosen, run::look_at_network(arguments.words.at(1), "network", arguments.value("--as")));
  const StoredWeights stored = stored_weights_of_file(arguments.words.at(1));
  const ReadNetwork read{chosen.row, chosen, run::parts_of_network(chosen), stored};
  if (arguments.has("--json")) {
    console.out << network_json(read);
    return {};
  }
  const Paint paint(console);
  std::string text = as_text(read.own_form().dump(), paint);
  if (!chosen.missing.empty()) {
    for (const LayerCount& row : read.layers()) text += fmt::format("{} layers: {}\n", row.layers, row.kind);
    for (const std::string& layer : chosen.missing) text += paragraph(layer, "not forecast: ", "      ", page_columns);
  }
  for (const auto* list : {&chosen.readings, &chosen.notes})
    for (const std::string& line : *list) text += paragraph(line, "note: ", "      ", page_columns);
  if (!stored.how.empty())
    text += paragraph(
        fmt::format("weights stored as {}{}{}", stored.how, stored.type.empty() ? "" : ": --weights " + stored.type,
            stored.wide.empty() ? "" : fmt::format(" ({} left wide)", stored.wide)),
        "note: ", "      ", page_columns);
  if (!stored.cache_how.empty())
    text += paragraph(
        fmt::format("cache kept as {}{}", stored.cache_how, stored.cache.empty() ? "" : ": --kv " + stored.cache),
        "note: ", "      ", page_columns);
  add_parameters(text, read);
  console.out << text;
  return {};
}

}  // namespace

Expected<void> show_command(const Arguments& arguments, Console& console) {
  TRY(const auto kind, parse_row_kind(arguments.words.at(0)));
  if (kind == RowKind::network && run::names_a_file(arguments.words.at(1)))
    return show_network_file(arguments, console);
  TRY(const auto file, row_file(kind, arguments.words.at(1)));
  if (arguments.has("--json")) {
    console.out << file;
    return {};
  }
  console.out << as_text(file, Paint(console));
  if (kind == RowKind::network) {
    const NetworkSpec& spec = **find_row(built_in().networks, arguments.words.at(1), "network");
    console.out << counted(parameter_count(spec), active_parameter_count(spec)) << "\n";
  }
  return {};
}

}  // namespace stepcast::catalog
