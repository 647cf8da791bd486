// Internal to hf: a pattern of modules as a config.json writes it, read once and asked of many names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace stepcast::detail {

/// "re:..." goes from the name's beginning, "*" and "?" are of the whole name or of what it stands in, else it is a
/// part of the name that begins and ends where words of it do.
class ModulePattern {
 public:
  /// nullopt: it is not read.
  static std::optional<ModulePattern> of(const std::string& text);
  [[nodiscard]] bool holds(std::string_view name) const;
  /// Whether it may tell one layer from another.
  [[nodiscard]] bool counts_layers() const;

 private:
  enum class Kind : std::uint8_t { part, glob, search };
  std::string text_;
  Kind kind_ = Kind::part;
  struct Search;
  std::shared_ptr<const Search> search_;
};

}  // namespace stepcast::detail
