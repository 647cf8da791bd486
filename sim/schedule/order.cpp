#include "sim/schedule/order.h"

#include <fmt/format.h>

namespace stepcast::sim {

std::string to_text(const Action& action) {
  constexpr char letter[] = {'F', 'B', 'I', 'W'};
  return fmt::format("{}(s={}, mb={})", letter[static_cast<int>(action.kind)], action.stage, action.micro_batch);
}

}  // namespace stepcast::sim
