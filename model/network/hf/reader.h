// Internal to hf_config: a config being read into a spec.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/base/json_reader.h"
#include "model/network/network.h"

namespace stepcast::detail {

/// The keys of one config, the spec they fill, and what has to be said about it.
class HfReader {
 public:
  explicit HfReader(JsonObject config) : config(std::move(config)) {}

  std::int64_t size(const char* key);  ///< required, at least 1
  /// absent: the class's default, noted. What is there is `least` or more.
  std::int64_t size_or(const char* key, std::int64_t absent, std::int64_t least = 0);
  std::int64_t either(const char* key, const char* other);  ///< the first that is there; required
  bool flag_or(const char* key, bool absent);
  /// tie_word_embeddings: what stands around a text_config counts, for its class ties the tables.
  bool tied_or(bool absent);
  double number_or(const char* key, double absent);  ///< not noted: rates that only say zero or not
  std::string text_or(const char* key, const char* absent);
  void activation(const char* key, const char* absent, bool gated);
  /// `sequence` from the rotary scaling's pre-training length, else from the key that bounds positions.
  void length(const char* key);
  /// The same where the class has a length of its own.
  void length_or(const char* key, std::int64_t absent);
  /// A number that may be negative: an index from the end.
  std::int64_t signed_size(const char* key);
  /// A bound on what passes: null is none, absent what the class has.
  bool cap(const char* key, bool absent);
  /// 0 where the key is absent or null.
  std::int64_t length_or_none(const char* key);
  /// Attention of so many positions in the layers of the pattern (AttentionWindow), or in those that `layer_types`
  /// lists. 0, or no w in it = none.
  void window(std::int64_t positions, std::string pattern, bool chunks = false);
  /// On attention's weights by keys that begin with its name, on the stream by the others.
  void dropout(std::initializer_list<const char*> keys, double absent);
  /// Before anything walks over the layers: so many are refused that no network has, and periods of none.
  void check_bounds();
  /// How many classes the file has: num_labels, or the names in id2label; else `usual`, noted.
  std::int64_t labels(std::int64_t usual);
  void note(std::string text) { notes.push_back(std::move(text)); }
  /// Layers that no operator describes, with their key: the file is counted (`counted`, `layers`), not forecast.
  void lacks(std::string layer) { missing.push_back(std::move(layer)); }

  JsonObject config;
  std::string architecture;         ///< class of the file; "": it names none
  std::optional<JsonObject> outer;  ///< what stands around a text_config
  std::string
      text_type;  ///< model_type of a text config, whose class has sizes for absent keys; "": they must be there
  NetworkSpec spec;
  std::vector<std::string> notes;
  std::vector<std::string> missing;
  std::vector<NetworkPart> counted;  ///< all weights of what the family reads, where layers are missing
  std::vector<LayerCount> layers;    ///< and its layers
  std::vector<NetworkPart> beside;   ///< weights beside the network that no step of training touches
};

/// A row of the table of architectures.
struct HfFamily {
  const char* id;  ///< for `as`
  std::vector<const char*> architectures;
  void (*read)(HfReader& reader);
};

std::span<const HfFamily> hf_family_table();

}  // namespace stepcast::detail
