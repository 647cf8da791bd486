#include "studies/launch/emit/emit.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepcast {
namespace {

constexpr EmitTarget emit_rows[] = {
    {"megatron", "run.sh", "megatron-lm", "--megatron", emit_megatron},
    {"nemo", "overrides.yaml", "megatron-bridge", "--nemo", emit_nemo},
    {"torchtitan", "run.toml", "torchtitan", "--torchtitan", emit_torchtitan},
    {"deepspeed", "ds_config.json", "deepspeed", "--deepspeed", emit_deepspeed},
    {"accelerate", "accelerate.yaml", "accelerate", "--accelerate", emit_accelerate},
};

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

}  // namespace stepcast
