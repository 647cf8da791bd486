// The arguments of a launch while its dialect is settled: asked by name, changed as if they had been written so.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "model/base/error.h"
#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

class DialectWords {
 public:
  /// `nested`: the dialect has sections, and a name stands in whichever.
  explicit DialectWords(Launch& launch, bool nested = false) : launch(launch), nested_(nested) {}

  Launch& launch;

  /// The last of that name; null where it is not given or none.
  GivenArgument* last(std::string_view name);
  bool has(std::string_view name) { return last(name) != nullptr; }
  bool has_any(std::initializer_list<std::string_view> names);
  std::string value(std::string_view name, std::string_view otherwise = "");
  bool is_on(std::string_view name, bool otherwise = false);
  /// A whole number from 0 to 2,000,000; words are 0.
  std::int64_t count(std::string_view name, std::string_view otherwise = "0");
  /// Between 0 and 1,000; else `otherwise`.
  double number(std::string_view name, double otherwise);

  /// As if it had been written so; a new one stands where `like` does.
  void put(std::string_view name, std::string text, std::string_view like = "");
  /// The same where it is not given.
  void put_default(std::string_view name, std::string_view text);
  void drop(std::string_view name);
  void note(std::string text) { launch.notes.push_back(std::move(text)); }
  /// "run.yaml:4 attention: local: why"
  [[nodiscard]] Error limit(const GivenArgument& given, std::string_view why) const;

  // What programs of fine-tuning have in common.

  /// That adapters on some projections alone are forecast as on all.
  void note_targets(std::string_view name);
  /// That sequences are shorter than `name` says where samples do not fill them.
  void note_samples(std::string_view name, bool full);

 private:
  bool nested_;
};

/// "true", "1", "yes".
bool says_yes(const std::string& value);

}  // namespace stepcast::launch
