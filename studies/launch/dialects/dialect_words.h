// The arguments of a launch while its dialect is settled: asked by name, changed as if they had been written so.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

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
  /// A whole number up to 2,000,000; 0 where it is below, and `otherwise` where it is not given. Errors, here and in
  /// `number`, are at its place: no such number, or one that hangs on a variable that nothing sets.
  Expected<std::int64_t> count(std::string_view name, std::int64_t otherwise = 0);
  /// Above 0, up to 2,000,000.
  Expected<double> number(std::string_view name, double otherwise);

  /// As if it had been written so; a new one stands where `like` does.
  void put(std::string_view name, std::string text, std::string_view like = "");
  /// What the program has where it is not told: each that is not given is put in, and a note names them.
  void put_defaults(std::initializer_list<std::pair<std::string_view, std::string_view>> defaults);
  void put_default(std::string_view name, std::string_view text) { put_defaults({std::pair(name, text)}); }
  void drop(std::string_view name);
  void note(std::string text) { launch.notes.push_back(std::move(text)); }
  /// "run.yaml:4 attention: local: why"
  [[nodiscard]] Error limit(const GivenArgument& given, std::string_view why) const;

  // What programs of fine-tuning have in common.

  /// Words that release 2 of ms-swift alone has.
  bool speaks_swift_2() { return has_any({"sft_type", "model_id_or_path", "template_type"}); }

  /// The argument that names a number type of torch, put as the switches bf16 and fp16; bf16 where `given` is null,
  /// with a note. Error: another type than bfloat16, float16 and float32.
  Expected<void> put_number_type(const GivenArgument* given);
  /// Where samples do not fill sequences, these are as long as those of the data, and `name` only bounds them
  /// (Launch::bound).
  void ask_samples(std::string_view name, bool full);

 private:
  [[nodiscard]] Error no_number(const GivenArgument& given, std::string_view kind) const;

  bool nested_;
};

/// Can --define set what the argument hangs on? A name can be, "TP" or Primus' "TP:1"; what is computed cannot.
bool can_be_defined(const GivenArgument& given, std::string_view unset);

/// "true", "1", "yes".
bool says_yes(const std::string& value);

}  // namespace stepcast::launch
