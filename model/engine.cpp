#include "model/engine.h"

#include <algorithm>

#include "model/base/row_text.h"
#include "model/machine/plausible.h"

namespace stepcast {
namespace {

constexpr Choice<CacheRule> rule_names[] = {{"of total", CacheRule::of_total}, {"of free", CacheRule::of_free}};

constexpr IntegerRange positions{1, 1'000'000};

constexpr auto tuning_members = [](auto& file, auto& tuning) {
  file.rare("architecture", tuning.architecture);
  file.rare("products_in", tuning.products_in);
  file.read("kernels", tuning.kernels, NumberRange{0.1, 20});
  file.unless(1.0, "products", tuning.products, NumberRange{0.1, 100});
  file.rare("keys_read_again", tuning.keys_read_again, NumberRange{0, 1});
  file.read("host_per_launch", tuning.host_per_launch, Zero::allowed);
  file.read("host_per_iteration", tuning.host_per_iteration, Zero::allowed);
  file.read("host_per_sequence", tuning.host_per_sequence, Zero::allowed);
  file.read("p10", tuning.spread.p10, NumberRange{0.01, 1});
  file.read("p90", tuning.spread.p90, NumberRange{1, 100});
};
constexpr auto read_tunings = [](JsonObject& file, std::vector<Engine::Tuning>& tunings) {
  for (const JsonObject& object : file.objects("tunings")) {
    RowReader row(object);
    tuning_members(row, tunings.emplace_back());
  }
  const bool others =
      std::ranges::any_of(tunings, [](const auto& row) { return row.architecture.empty() && row.products_in.empty(); });
  file.require(others, "tunings", "no row for GPUs of other architectures", "one without \"architecture\"");
};
constexpr auto write_tunings = [](RowWriter& json, const std::vector<Engine::Tuning>& tunings) {
  json.list("tunings", tunings, [&](const Engine::Tuning& tuning) { tuning_members(json, tuning); });
};

constexpr auto engine_members = [](auto& file, auto& engine) {
  file.head(engine);
  file.read("from", engine.from);
  file.rare("until", engine.until);
  file.read("kernels", engine.kernels);
  file.read("fused", engine.fused);
  file.optional("captured", engine.captured);
  file.optional("most_captured", engine.most_captured, IntegerRange{0, 1'000'000});
  file.reading(read_tunings, engine.tunings);
  file.writing(write_tunings, engine.tunings);
  file.optional("host_beside", engine.host_beside);
  file.read("most_positions", engine.most_positions, positions);
  file.rare("same_experts", engine.same_experts);
  file.optional("ends_at_positions", engine.ends_at_positions);
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

const Engine::Tuning* find_tuning(
    const Engine& engine, const std::string& architecture, const std::string& products_in) {
  const Engine::Tuning* best = nullptr;
  int most = -1;
  for (const Engine::Tuning& row : engine.tunings) {
    const bool here = row.architecture == architecture, in_type = row.products_in == products_in;
    if ((!here && !row.architecture.empty()) || (!in_type && !row.products_in.empty())) continue;
    if (const int fits = (here ? 2 : 0) + (in_type ? 1 : 0); fits > most) best = &row, most = fits;
  }
  return best;
}

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
