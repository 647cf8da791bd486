// Internal to model/network: what a network's file may not say, rule by rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "model/network/network.h"

namespace stepcast::detail {

/// The first broken rule. Later ones may rest on it and are not looked at.
class Rules {
 public:
  /// `part`: a pointer to the object that the keys are in: "encoder/".
  Rules(const NetworkSpec& spec, std::string where, std::string part = "")
      : n(spec), where_(std::move(where)), part_(std::move(part)) {}

  void require(bool holds, const char* key, const std::string& what, const std::string& hint) {
    if (!holds && !broken_) broken_ = Error{fmt::format("{}:/{}{}", where_, part_, key), what, hint};
  }
  void at_least_one(const char* key, std::int64_t value) {
    require(value >= 1, key, fmt::format("{} is {}", key, value), "a whole number of at least 1");
  }
  [[nodiscard]] bool broken() const { return broken_.has_value(); }
  [[nodiscard]] const std::optional<Error>& first() const { return broken_; }

  const NetworkSpec& n;
  bool asks_sequence = true;  ///< not of an encoder, whose length a run may say

 private:
  const std::string where_, part_;
  std::optional<Error> broken_;
};

/// "1, 2, 4": for hints.
std::string divisors_of(std::int64_t n);

// size_rules.cpp
void derive_sizes(NetworkSpec& spec);
void check_sizes(Rules& rules);
void check_total(Rules& rules);

// pattern_rules.cpp
void check_pattern(Rules& rules);

// layer_rules.cpp
void check_streams(Rules& rules);
void check_experts(Rules& rules);
void check_norms(Rules& rules);
void check_inputs(Rules& rules);
void check_modulation(Rules& rules);

// encoder_rules.cpp
void check_features(Rules& rules);
/// With what follows from the rest.
Expected<NetworkSpec> complete_encoder(NetworkSpec encoder, const NetworkSpec& network, const std::string& where);

// attention_rules.cpp
void check_attention(Rules& rules);
void check_latent(Rules& rules);
void check_sparse(Rules& rules);
void check_compressed(Rules& rules);
void check_query_rank(Rules& rules);
void check_window(Rules& rules);
void check_borrowed(Rules& rules);
/// What x in a word looks at, and how far key and query are apart.
void check_crossing(Rules& rules);

}  // namespace stepcast::detail
