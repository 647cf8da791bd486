#include "studies/cli/flags.h"

#include <algorithm>
#include "sim/schedule/schedule_table.h"

namespace stepcast::cli {

const Flag* find_flag(std::span<const Flag> flags, std::string_view name) {
  const auto found = std::find_if(flags.begin(), flags.end(),
      [&](const Flag& flag) { return flag.name == name || (!flag.alias.empty() && flag.alias == name); });
  return found == flags.end() ? nullptr : &*found;
}

Expected<void> check_flag(const Flag& flag, const std::string& text, const std::string& where) {
  if (flag.kind == FlagKind::count) {
    TRY(parse_count(text, where, flag.least, flag.most));
  }
  if (flag.kind == FlagKind::text && text.empty()) return fail(where, "is empty", std::string(flag.doc));
  if (flag.check != nullptr) return flag.check(text, where);
  return {};
}

}  // namespace stepcast::cli
