// Which products of a layer have low-rank adapters beside them (LoRA, Hu et al. 2021, arXiv 2106.09685).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/base/error.h"

namespace stepcast {

/// A set of projections; all of them unless said.
class AdaptedProjections {
 public:
  AdaptedProjections() = default;

  /// Is it beside the product of that name and tag? One whose projection has no name of its own has an adapter only
  /// where all have.
  [[nodiscard]] bool has(std::string_view product, std::string_view tag) const;
  [[nodiscard]] bool all() const { return bits_ == every; }
  /// "q,v", or "all".
  [[nodiscard]] std::string text() const;

  /// Of "q,k,v,out,gate,up,down" some, or "all". Error: another word, or none.
  static Expected<AdaptedProjections> parse(const std::string& text, const std::string& where);

  friend bool operator==(const AdaptedProjections&, const AdaptedProjections&) = default;

 private:
  static constexpr std::uint8_t every = 0x7f;

  std::uint8_t bits_ = every;
};

}  // namespace stepcast
