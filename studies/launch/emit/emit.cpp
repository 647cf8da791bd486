#include "studies/launch/emit/emit.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast::launch {
namespace {

constexpr EmitTarget emit_rows[] = {
    {"megatron", "run.sh", "megatron-lm", "--megatron", emit_megatron},
    {"nemo", "overrides.yaml", "megatron-bridge", "--nemo", emit_nemo},
    {"torchtitan", "run.toml", "torchtitan", "--torchtitan", emit_torchtitan},
    {"deepspeed", "ds_config.json", "deepspeed", "--deepspeed", emit_deepspeed},
    {"accelerate", "accelerate.yaml", "accelerate", "--accelerate", emit_accelerate},
};

Expected<void> check_emit_target(const std::string& text, const std::string& where) {
  const auto target = find_emit_target(text, where);
  return target ? Expected<void>{} : tl::unexpected(target.error());
}

const std::string& emit_targets_text() {
  static const std::string text = [] {
    std::vector<std::string_view> ids;
    for (const EmitTarget& row : emit_targets()) ids.push_back(row.id);
    return fmt::format("print instead what starts this plan elsewhere: {}", fmt::join(ids, ", "));
  }();
  return text;
}

}  // namespace

std::span<const EmitTarget> emit_targets() { return emit_rows; }

Expected<const EmitTarget*> find_emit_target(const std::string& id, const std::string& where) {
  std::vector<std::string> ids;
  for (const EmitTarget& row : emit_rows) {
    if (row.id == id) return &row;
    ids.emplace_back(row.id);
  }
  return fail(where, fmt::format("nothing is written for '{:.60}'", id), name_hint(id, ids));
}

Flag emit_flag(std::string_view group) {
  // clang-format off
  return {.name = emit_name, .key = "", .value = "TARGET", .group = group, .doc = emit_targets_text(),
          .check = check_emit_target};
  // clang-format on
}

}  // namespace stepcast::launch
