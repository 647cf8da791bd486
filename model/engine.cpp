#include "model/engine.h"

#include "model/base/row_text.h"
#include "model/machine/plausible.h"

namespace stepcast {
namespace {

constexpr Choice<CacheRule> rule_names[] = {{"of total", CacheRule::of_total}, {"of free", CacheRule::of_free}};

constexpr IntegerRange positions{1, 1'000'000};

constexpr auto engine_members = [](auto& file, auto& engine) {
  file.head(engine);
  file.read("from", engine.from);
  file.rare("until", engine.until);
  file.read("kernels", engine.kernels);
  file.read("fused", engine.fused);
  file.optional("captured", engine.captured);
  file.optional("most_captured", engine.most_captured, IntegerRange{0, 1'000'000});
  file.read("host_per_launch", engine.host_per_launch, Zero::allowed);
  file.read("host_per_iteration", engine.host_per_iteration, Zero::allowed);
  file.read("host_per_sequence", engine.host_per_sequence, Zero::allowed);
  file.optional("host_beside", engine.host_beside);
  file.read("most_positions", engine.most_positions, positions);
  file.read("cache_block", engine.cache_block, positions);
  file.choice("cache_rule", engine.cache_rule, rule_names);
  file.read("cache_share", engine.cache_share, NumberRange{0.01, 1});
  file.read("reserved", engine.reserved, Zero::allowed);
};

}  // namespace

Expected<Engine> read_engine(const std::string& text, const std::string& where) {
  RowReader file(text, where);
  Engine engine;
  engine_members(file, engine);
  return file.finish(std::move(engine));
}

std::string write_engine(const Engine& engine) { return row_json(engine, engine_members); }

Stack lowered_for(const Engine& engine) {
  Stack stack;
  stack.id = engine.id;
  stack.name = engine.name;
  stack.fused = engine.fused;
  stack.gradient_bytes = stack.master_bytes = stack.optimizer_bytes = 0;
  stack.loss_bytes = 2;
  stack.gpu_spread = 0;
  return stack;
}

}  // namespace stepcast
