// What a sweep of serving is called in text, tables and pages: columns of a configuration, loads, doubts.
#pragma once

#include <string>
#include <vector>

#include "studies/serve/sweep/explored.h"

namespace stepcast::serve::sweeping {

struct AxisColumn {
  const char* title;
  bool name;  ///< of something, and no number
  std::string (*text)(const Configuration& configuration);
  bool speaks_alone = false;  ///< the value says by itself what it is of
};
/// In the order in which tables show them.
const std::vector<AxisColumn>& axis_columns();
/// Of those in which these rows differ, the places in axis_columns().
std::vector<std::size_t> varying_axes(const Explored& explored, const std::vector<std::size_t>& rows);
/// "vllm, tp 4, replicas 2": all axes of a configuration that differ in the sweep.
class ConfigurationWords {
 public:
  explicit ConfigurationWords(const Explored& explored);
  [[nodiscard]] std::string of(const Configuration& configuration) const;

 private:
  std::vector<const AxisColumn*> varying_;
};

/// "simulated", "mean field", or "not sure" with the reason behind it.
std::string standing_of(const Row& row);
const char* mark_of(const Row& row);
std::string title_of(const Asked& asked, const Explored& explored);

std::string sweep_text(const Asked& asked, const Explored& explored, double seconds);
std::string sweep_json(const Asked& asked, const Explored& explored);
/// Front and all rows as a page that stands alone.
std::string sweep_page(const Asked& asked, const Explored& explored);
constexpr const char* page_name = "serve-sweep";

}  // namespace stepcast::serve::sweeping
