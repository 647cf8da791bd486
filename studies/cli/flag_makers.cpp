#include "studies/cli/flag_makers.h"

#include "model/base/quantity_text.h"

namespace stepcast::cli {

Flag text_flag(
    std::string_view name, std::string_view value, std::string_view group, std::string_view doc, FlagCheck check) {
  return {.name = name, .key = "", .value = value, .group = group, .doc = doc, .check = check};
}

Flag count_flag(
    std::string_view name, std::string_view group, std::string_view doc, std::int64_t most, std::int64_t least) {
  Flag flag = text_flag(name, "N", group, doc);
  flag.kind = FlagKind::count, flag.least = least, flag.most = most;
  return flag;
}

Flag length_flag(
    std::string_view name, std::string_view group, std::string_view doc, std::int64_t most, std::int64_t least) {
  Flag flag = count_flag(name, group, doc, most, least);
  flag.sizes = true;
  return flag;
}

Flag toggle_flag(std::string_view name, std::string_view group, std::string_view doc) {
  Flag flag = text_flag(name, "", group, doc);
  flag.kind = FlagKind::toggle;
  return flag;
}

Flag json_flag() { return toggle_flag("--json", "Output", "one JSON document with base units"); }

Expected<void> check_share(const std::string& text, const std::string& where) {
  TRY(parse_fraction(text, where));
  return {};
}

}  // namespace stepcast::cli
