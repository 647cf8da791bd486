#include "model/network/hf/config.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/errors/error_context.h"
#include "model/base/text.h"
#include "model/network/hf/absent_layers.h"
#include "model/network/hf/families/families.h"
#include "model/network/hf/known_keys.h"
#include "model/network/hf/other_heads.h"
#include "model/network/hf/sound_encoders.h"
#include "model/network/hf/reader.h"
#include "model/network/hf/vision.h"
#include "model/network/hf/vision_encoders.h"
#include "model/network/hf/wrappers.h"
#include "model/network/network_rules.h"
#include "model/base/row_text.h"

namespace stepcast {
namespace {

using detail::class_with_loss;
using detail::family_of_architecture;
using detail::hf_family_table;
using detail::HfFamily;
using detail::HfReader;
using detail::HfWrapper;

Expected<const HfFamily*> family_named(const std::string& as, const std::string& where) {
  for (const HfFamily& family : hf_family_table())
    if (as == family.id) return &family;
  return fail(where, fmt::format("unknown family '{:.40}'", as), name_hint(as, hf_families()));
}

/// The objects of a file: all of it, and the part that tells of the text.
struct HfObjects {
  JsonObject outer, text;
  bool several = false;                ///< the text stands beside images or sound
  const HfWrapper* wrapper = nullptr;  ///< a class around a text of any family; null: the text is the class's own
  bool among = false;                  ///< the text's keys stand among those of the other parts
};

HfObjects objects_of(JsonObject& file, const HfWrapper* wrapper) {
  if (wrapper == nullptr) {
    const bool several = file.type_of("text_config") == "object";  // text beside vision or audio
    JsonObject text = several ? file.object("text_config") : file;
    text.allow_unknown_keys();
    return {file, text, several, nullptr, false};
  }
  JsonObject outer = *wrapper->outer == '\0' ? file : file.object(wrapper->outer);
  // transformers writes such a class's text apart
  const bool own = *wrapper->text == '\0', among = own && outer.type_of("text_config") != "object";
  JsonObject text = among ? outer : outer.object(own ? "text_config" : wrapper->text);
  outer.allow_unknown_keys();
  text.allow_unknown_keys();
  return {outer, text, true, wrapper, among};
}

/// The family of the text in a class that holds any.
Expected<const HfFamily*> family_inside(HfObjects& objects) {
  const bool fixed = *objects.wrapper->family != '\0';
  const std::string id = fixed ? objects.wrapper->family : detail::family_of_text(objects.text);
  if (auto error = objects.text.first_error()) return tl::unexpected(*error);
  for (const HfFamily& family : hf_family_table())
    if (id == family.id) return &family;
  return fail(objects.text.where("model_type"), "the text's architecture and model_type are not known",
      fmt::format("one of: {}", fmt::join(detail::known_text_types(), ", ")));
}

std::string known_architectures() {
  std::vector<std::string> names;
  for (const HfFamily& family : hf_family_table())
    names.insert(names.end(), family.architectures.begin(), family.architectures.end());
  const std::vector<std::string> around = detail::wrapper_architectures();
  names.insert(names.end(), around.begin(), around.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "architectures" is a list that names the class of the checkpoint; diffusers' files name one.
std::string architecture_of(JsonObject& file) {
  std::vector<std::string> names;
  std::string name;
  if (file.has("_class_name")) file.read("_class_name", name);
  if (!name.empty()) return name;
  if (file.has("architectures")) file.read("architectures", names);
  return names.empty() ? "" : names.front();
}

/// transformers takes the first of several classes (AutoModel).
void note_other_classes(JsonObject& file, HfReader& reader) {
  std::vector<std::string> names;
  if (file.type_of("architectures") == "list") file.read("architectures", names);
  if (names.size() > 1)
    reader.note(fmt::format("architectures names {} classes: {:.60} is read", names.size(), names.front()));
}

/// Families whose names begin as a model_type does: t5, t5-encoder.
std::vector<std::string> families_like(std::string type) {
  std::replace(type.begin(), type.end(), '_', '-');
  const std::string version = "-v2";
  if (type.ends_with(version)) type.resize(type.size() - version.size());
  if (type.ends_with("-model")) type.resize(type.size() - std::string_view("-model").size());
  std::vector<std::string> like;
  for (const HfFamily& family : hf_family_table())
    if (!type.empty() && (family.id == type || std::string_view(family.id).starts_with(type + "-")))
      like.emplace_back(family.id);
  return like;
}

/// Why a file is of no family.
struct NoFamily {
  Error error;
  bool others_may_read = false;  ///< nobody knows what it is of, so that a family may know all of its keys
};

tl::expected<const HfFamily*, NoFamily> known_or_fault(Expected<const HfFamily*> family) {
  return std::move(family).map_error([](Error error) { return NoFamily{std::move(error)}; });
}

tl::expected<const HfFamily*, NoFamily> choose_family(
    JsonObject& file, const std::string& architecture, const std::string& as) {
  const auto is_of_known = [](std::string where, std::string what, std::string hint) {
    return tl::unexpected(NoFamily{{std::move(where), std::move(what), std::move(hint)}});
  };
  if (auto error = file.failed() ? file.first_error() : std::nullopt)
    return tl::unexpected(NoFamily{*error, as.empty()});
  if (!as.empty()) return known_or_fault(family_named(as, "--as"));
  if (const HfFamily* family = family_of_architecture(class_with_loss(architecture))) return family;
  if (const std::string layers = detail::absent_layers(architecture); !layers.empty())
    return is_of_known(file.where("architectures"),
        fmt::format("{:.60} has layers that are not built here: {}", architecture, layers),
        "a network of other layers; stepcast list networks names some");
  if (architecture.empty() && file.has("pretrained_cfg"))
    return tl::unexpected(NoFamily{{file.where("architecture"), "a file of timm names an architecture and no sizes",
                                       "a config.json of transformers, which has them: google/vit-base-patch16-224"},
        true});
  if (architecture.empty() && !file.has("text_config")) {
    const std::string id = detail::family_of_text(file);
    if (!id.empty()) return known_or_fault(family_named(id, file.where("model_type")));
  }
  std::string type;
  if (architecture.empty() && file.type_of("model_type") == "string") file.read("model_type", type);
  if (const std::string layers = detail::absent_layers_of_type(type); !layers.empty())
    return is_of_known(file.where("model_type"),
        fmt::format("'{:.60}' has layers that are not built here: {}", type, layers),
        "a network of other layers; stepcast list networks names some");
  if (const std::vector<std::string> like = families_like(type); !like.empty())
    return is_of_known(file.where("model_type"),
        fmt::format("the config names no architecture, and a model_type '{:.60}' tells none of several classes", type),
        fmt::format("--as {}, or \"architectures\" in the file", fmt::join(like, ", --as ")));
  const std::string what =
      !type.empty() ? fmt::format("the config names no architecture, and its model_type '{:.60}' is not known", type)
      : architecture.empty() ? "the config names no architecture"
                             : fmt::format("the architecture '{:.60}' is not known", architecture);
  return tl::unexpected(
      NoFamily{{file.where("architectures"), what, fmt::format("known: {}", known_architectures())}, true});
}

/// Says which family the file can be read as: one that knows all of its keys.
Error with_way_of_reading(Error error, const std::string& text, const std::string& where) {
  for (const HfFamily& family : hf_family_table())
    if (read_hf_config(text, where, family.id)) {
      std::string hint = fmt::format("--as {0} reads it as {0}; {1}", family.id, error.hint);
      return with_hint(std::move(error), std::move(hint));
    }
  return with_more_hint(std::move(error), "none of these families knows all of its keys");
}

/// "meta-llama/Llama-3.1-8B" or ".../Llama-3.1-8B/config.json" gives llama-3.1-8b.
std::string id_from(std::string name) {
  while (!name.empty() && name.back() == '/') name.pop_back();
  std::string id = lower_case(name.substr(name.find_last_of('/') + 1));
  std::replace(id.begin(), id.end(), '_', '-');
  return is_row_id(id) ? id : "";
}

std::string id_of(JsonObject& file, const std::string& where, const HfFamily& family) {
  std::string named;
  if (file.type_of("_name_or_path") == "string") file.read("_name_or_path", named);
  const std::filesystem::path path(where);
  const std::string stem = path.stem() == "config" ? path.parent_path().filename().string() : path.stem().string();
  for (const std::string& candidate : {id_from(named), id_from(stem)})
    if (!candidate.empty()) return candidate;
  return family.id;
}

/// What nobody read, apart from what is known to leave the layers alone.
struct LeftKeys {
  std::vector<std::string> unknown, parts;
  std::string where, near;  ///< of the first unknown one

  [[nodiscard]] Error refusal(const std::string& family) const {
    const std::string hint = near.empty() ? "leave out those that change no layer; other layers go into a file of "
                                            "stepcast's own form: stepcast show network llama3-8b prints one"
                                          : fmt::format("did you mean '{}'?", near);
    return {where,
        fmt::format("{} does not know these keys, which may change layers: {}", family, fmt::join(unknown, ", ")),
        hint};
  }
};

/// Beside a text_config stand the other parts of a network, which its text part does without.
bool is_other_part(const std::string& key) {
  static constexpr const char* parts[] = {"vision_config", "audio_config", "talker_config", "code2wav_config"};
  return std::ranges::find(parts, key) != std::end(parts);
}

/// Parts whose keys stand among those of the text (LLaVA, Phi-3.5 vision, MiniCPM-V).
bool stands_among_the_text(const std::string& key) {
  return detail::lists("mm_vision_tower img_processor embd_layer slice_config tts_config", key);
}

/// Beside "use_sliding_window": false the other keys of windows say nothing.
bool says_no_window(JsonObject object) {
  bool used = true;
  if (object.type_of("use_sliding_window") == "boolean") object.read("use_sliding_window", used);
  return !used;
}
bool about_windows(const std::string& key) { return key == "sliding_window" || key == "max_window_layers"; }

/// A name of another class for what was read, with the same number.
bool says_again(const JsonObject::UnreadKey& key, const NetworkSpec& read) {
  const struct {
    std::string_view keys;
    std::int64_t value;
  } rows[] = {{"num_local_experts num_experts n_routed_experts moe_num_experts", read.experts.count},
      {"num_experts_per_tok num_experts_per_token moe_topk moe_k", read.experts.top_k}, {"head_dim", read.head_dim},
      {"num_key_value_heads num_kv_heads", read.kv_heads}, {"hidden_size d_model n_embd", read.hidden},
      {"num_hidden_layers n_layer num_layers", read.layers}};
  return std::ranges::any_of(rows, [&](const auto& row) {
    return row.value > 0 && key.value == std::to_string(row.value) && detail::lists(row.keys, key.key);
  });
}

/// Around a text_config some files say the text's keys again.
bool stands_inside(const JsonObject::UnreadKey& key, const std::vector<JsonObject::UnreadKey>& inside) {
  return std::ranges::any_of(
      inside, [&](const JsonObject::UnreadKey& other) { return other.key == key.key && other.value == key.value; });
}

/// `counted`: the class has such a part beside keys of the text that stand around it. `inside`: all keys of the text.
LeftKeys left_keys(const JsonObject& file, const HfObjects& objects, bool counted, const std::string& family,
    const NetworkSpec& read, const std::vector<JsonObject::UnreadKey>& inside) {
  LeftKeys left;
  const bool apart = objects.wrapper != nullptr && objects.wrapper->others_apart;
  const bool own = objects.among;
  const std::string around = objects.wrapper != nullptr ? objects.wrapper->id : family;
  const auto take = [&](const JsonObject& object, bool outer, const std::string& id) {
    const bool windowless = says_no_window(object);
    for (const JsonObject::UnreadKey& key : object.unread()) {
      if (detail::leaves_layers_alone(id, key) || (windowless && about_windows(key.key))) continue;
      if (own && (is_other_part(key.key) || stands_among_the_text(key.key))) {
        left.parts.push_back(key.key);
        continue;
      }
      if (own && detail::leaves_layers_alone(around, key)) continue;
      if (says_again(key, read) || (outer && objects.several && stands_inside(key, inside))) continue;
      if (outer && (apart || is_other_part(key.key))) {
        if (!apart || key.value.starts_with('{')) left.parts.push_back(key.key);
        continue;
      }
      if (left.unknown.empty()) left.where = object.where(key.key), left.near = key.near;
      left.unknown.push_back(fmt::format("{} {}", key.key, key.value));
    }
  };
  if (objects.wrapper != nullptr && *objects.wrapper->outer != '\0') take(file, true, around);
  if (objects.several && !own) take(objects.outer, true, around);
  take(objects.text, counted, family);
  return left;
}

/// What the files call the fields of our own form.
struct FieldKeys {
  const char* field;
  std::vector<const char*> keys;
};

/// Rules between numbers speak of our own fields: says which key of this file holds the one that is wrong.
Error in_keys_of(JsonObject& config, Error error, const std::string& where) {
  static const FieldKeys table[] = {{"layers", {"num_hidden_layers", "n_layer"}},
      {"hidden", {"hidden_size", "n_embd", "n_embed"}},
      {"ffn_hidden", {"intermediate_size_mlp", "intermediate_size", "ffn_dim", "n_inner"}},
      {"heads", {"num_attention_heads", "n_head"}}, {"kv_heads", {"num_key_value_heads"}}, {"vocab", {"vocab_size"}},
      {"head_dim", {"head_dim", "num_attention_heads", "n_head"}},
      {"sequence", {"max_position_embeddings", "n_positions", "seq_length"}},
      {"max_positions", {"n_positions", "max_position_embeddings"}}, {"mtp_layers", {"num_nextn_predict_layers"}},
      {"experts/count", {"num_local_experts", "num_experts", "n_routed_experts"}},
      {"experts/top_k", {"num_experts_per_tok", "experts_per_token"}},
      {"experts/ffn_hidden", {"moe_intermediate_size", "intermediate_size"}},
      {"experts/dense_layers", {"first_k_dense_replace", "mlp_only_layers"}},
      {"experts/every", {"decoder_sparse_step", "interleave_moe_layer_step"}},
      {"latent_attention/nope_dim", {"qk_nope_head_dim"}}, {"latent_attention/rope_dim", {"qk_rope_head_dim"}},
      {"latent_attention/value_dim", {"v_head_dim"}}, {"window/pattern", {"sliding_window", "attention_chunk_size"}}};
  for (const FieldKeys& row : table) {
    if (error.where != fmt::format("{}:/{}", where, row.field)) continue;
    for (const char* key : row.keys)
      if (config.has(key)) return error_at(config.where(key), std::move(error));
  }
  return error;
}

/// An encoder that may stand in front of the network in place of its own.
Expected<NetworkSpec> complete_beside(NetworkSpec network, NetworkSpec encoder, const std::string& where) {
  network.encoders.clear();
  network.encoders.push_back(std::move(encoder));
  TRY(auto completed, complete_network(std::move(network), where));
  return std::move(completed.encoders.front());
}

}  // namespace

bool looks_like_hf_config(const std::string& text) {
  JsonObject file(text, "");
  return !file.failed() &&
         (file.has("architectures") || file.has("model_type") || file.has("_class_name") || file.has("pretrained_cfg"));
}

std::vector<std::string> hf_families() { return names_of(hf_family_table(), &HfFamily::id); }

Expected<HfConfig> read_hf_config(
    const std::string& text, const std::string& where, const std::string& as, UnknownKeys unknown) {
  JsonObject file(text, where);
  file.allow_unknown_keys();
  const std::string architecture = architecture_of(file);
  const HfWrapper* wrapper = as.empty() ? detail::wrapper_of(architecture) : nullptr;
  HfObjects objects = objects_of(file, wrapper);
  const auto chosen =
      wrapper != nullptr ? known_or_fault(family_inside(objects)) : choose_family(file, architecture, as);
  if (!chosen) {
    const NoFamily& fault = chosen.error();
    return tl::unexpected(fault.others_may_read ? with_way_of_reading(fault.error, text, where) : fault.error);
  }
  const HfFamily* family = *chosen;
  HfReader reader(objects.text);
  reader.architecture = architecture;
  if (objects.several) reader.outer = objects.outer;
  if (wrapper != nullptr && objects.text.type_of("model_type") == "string")
    objects.text.read("model_type", reader.text_type);
  if (wrapper == nullptr && !as.empty() && family_of_architecture(architecture) != family)
    reader.note(fmt::format("{} read as {}", architecture.empty() ? "no architecture" : architecture, as));
  if (wrapper == nullptr && as.empty() && architecture.empty())
    reader.note(fmt::format("no architecture: its model_type is read as {}", family->id));
  note_other_classes(file, reader);
  family->read(reader);
  if (as.empty() && wrapper == nullptr && class_with_loss(architecture) != architecture)
    detail::count_other_head(reader, architecture, *family);
  reader.check_bounds();
  JsonObject apart(text, where);  // where text alone is forecast the file's own keys stay unread
  apart.allow_unknown_keys();
  HfObjects around = objects_of(apart, wrapper);
  const std::string parts_id = wrapper != nullptr ? wrapper->id : family->id;
  NetworkSpec& spec = reader.spec;
  std::vector<std::string> unknown_seen;
  std::int64_t unread = 0;
  std::string unseen;
  const auto images = detail::image_encoder(around.outer, parts_id, spec, unknown_seen, unread);
  if (const auto error = apart.first_error()) {
    if (looks_at_encoder(spec)) return tl::unexpected(*error);
    unseen = to_text(*error);
    reader.note("vision_config is not read: " + unseen);
  }
  if (looks_at_encoder(spec) && !unknown_seen.empty()) {
    LeftKeys seen;
    seen.unknown = unknown_seen, seen.where = around.outer.where("vision_config");
    return tl::unexpected(seen.refusal(parts_id));
  }
  JsonObject again(text, where);  // what the encoder's reader refused is no error here
  again.allow_unknown_keys();
  HfObjects whole = objects_of(again, wrapper);
  std::vector<NetworkPart> parts = detail::other_parts(whole.outer, parts_id, spec, images.has_value(), reader.notes);
  if (images && unknown_seen.empty() && reader.missing.empty()) {
    spec.encoders.push_back(*images);
    if (detail::images_see_themselves(parts_id, reader.config))
      reader.note("positions of an image see each other in its class, and are counted causal: FLOPs are slightly low");
  } else if (images) {
    const std::vector<NetworkPart> seen = detail::parts_of(*images);
    parts.insert(parts.begin(), seen.begin(), seen.end());
  }
  std::vector<std::string> unknown_heard;
  std::int64_t unread_sound = 0;
  std::string unheard;
  JsonObject heard(text, where);
  heard.allow_unknown_keys();
  HfObjects beside = objects_of(heard, wrapper);
  auto sound = detail::sound_encoder(beside.outer, parts_id, spec, unknown_heard, unread_sound);
  if (const auto error = heard.first_error()) {
    unheard = to_text(*error);
    reader.note("audio_config is not read: " + unheard);
  } else if (!unknown_heard.empty()) {
    unheard = fmt::format("audio_config has {}", fmt::join(unknown_heard, ", "));
    reader.note("sound is not forecast: " + unheard);
  }
  bool hears = sound && unheard.empty() && reader.missing.empty();
  if (hears && !spec.encoders.empty()) {  // no rule looks at what stands beside the network
    auto completed = complete_beside(spec, *sound, where);
    hears = completed.has_value();
    if (hears) {
      sound = std::move(*completed);
    } else {
      sound.reset(), unread_sound = 0;
      unheard = to_text(completed.error());
      reader.note("audio_config is not read: " + unheard);
    }
  }
  if (hears && spec.encoders.empty()) {
    spec.encoders.push_back(*std::exchange(sound, std::nullopt));
  } else if (sound) {
    const std::vector<NetworkPart> more = detail::parts_of(*sound);
    parts.insert(parts.end(), more.begin(), more.end());
    if (!hears) sound.reset();
  }
  if (unread_sound > 0) parts.push_back({"unread", unread_sound});
  if (objects.several && spec.encoders.empty()) {
    const char* text_key = wrapper != nullptr ? wrapper->text : "text_config";
    reader.note(fmt::format("{} only", *text_key == '\0' ? "its text" : text_key));
  }
  if (images && unread > 0) parts.push_back({"unread", unread});
  parts.insert(parts.end(), reader.beside.begin(), reader.beside.end());
  if (!unknown_seen.empty()) {
    unseen = fmt::format("vision_config has {}", fmt::join(unknown_seen, ", "));
    reader.note("images are not forecast: " + unseen);
  }
  spec.id = spec.name = id_of(file, where, *family);
  spec.family = family->id;
  spec.source =
      fmt::format("{} ({}): {}", where, architecture.empty() ? as : architecture, fmt::join(reader.notes, "; "));
  TRY(file.finish(true));
  JsonObject unasked(text, where);
  const auto inside = objects_of(unasked, wrapper).text.unread();
  LeftKeys left = left_keys(
      file, objects, !objects.several && (images || parts.size() > reader.beside.size()), family->id, spec, inside);
  if (images && !spec.encoders.empty())
    for (const char* of_images : {"vision_config", "slice_config"}) std::erase(left.parts, of_images);
  if (hears) std::erase(left.parts, "audio_config");
  if (unseen.empty() && contains(left.parts, "vision_config"))
    unseen = "vision_config is of no class that is described";
  if (unheard.empty() && contains(left.parts, "audio_config"))
    unheard = "audio_config is of no class that is described";
  if (!left.unknown.empty() && unknown == UnknownKeys::refused) return tl::unexpected(left.refusal(family->id));
  if (!reader.missing.empty()) {
    parts.insert(parts.begin(), reader.counted.begin(), reader.counted.end());
    return HfConfig{std::move(spec), family->id, std::move(reader.notes), left.unknown, std::move(parts), left.parts,
        std::move(reader.missing), std::move(reader.layers), {}, std::move(unseen), std::move(unheard)};
  }
  auto complete = complete_network(std::move(spec), where);
  if (!complete) return tl::unexpected(in_keys_of(reader.config, complete.error(), where));
  return HfConfig{std::move(*complete), family->id, std::move(reader.notes), left.unknown, std::move(parts), left.parts,
      {}, {}, std::move(sound), std::move(unseen), std::move(unheard)};
}

}  // namespace stepcast
