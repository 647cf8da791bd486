// What is inside of actions: the layouts of the chunks, named and put on streams.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "model/machine/machine_names.h"
#include "sim/step/paired.h"
#include "sim/streams.h"
#include "sim/streams/layout.h"
#include "studies/run/sequence_slices.h"
#include "studies/timeline/scene.h"

namespace stepcast::timeline {
namespace {

bool lays_same(const Chunk& one, const Chunk& other) {
  return std::equal(one.runs.begin(), one.runs.end(), other.runs.begin(), other.runs.end(),
      [](const BlockRun& a, const BlockRun& b) { return a.block == b.block && a.count == b.count; });
}

/// Layouts of all chunks and slices. Both copies of a model run the chunks of one.
class SceneLayouts {
 public:
  SceneLayouts(const std::vector<Program>& slices, const CostModel& cost) : chunks_(slices.front().chunks.size()) {
    for (const Program& slice : slices) {
      const std::vector<BlockPrices> prices = price_blocks(slice, cost, paired_share(slice));
      const std::size_t first = layouts_.size();
      for (std::size_t i = 0; i < chunks_; ++i) {
        std::size_t like = 0;
        while (!lays_same(slice.chunks[like], slice.chunks[i])) ++like;
        layouts_.push_back(like < i ? layouts_[first + like] : chunk_layout(slice, prices, slice.chunks[i], cost));
      }
    }
  }
  [[nodiscard]] ListLayout of(int stage, ActionKind kind, int slice) const {
    const ChunkLayout& layout =
        layouts_[static_cast<std::size_t>(slice) * chunks_ + static_cast<std::size_t>(stage) % chunks_];
    if (kind == ActionKind::forward) return layout.forward;
    if (kind == ActionKind::backward) return layout.backward;
    return backward_part(layout.backward, kind == ActionKind::weight_grad);
  }
  [[nodiscard]] const std::vector<ChunkLayout>& all() const { return layouts_; }

 private:
  std::size_t chunks_;
  std::vector<ChunkLayout> layouts_;
};

/// Stream of each level's moves, by whether they block.
struct FabricStreams {
  int background = 0, blocking = 0;
};

std::vector<FabricStreams> add_streams(const Machine& machine, const SceneLayouts& layouts, StepScene& scene) {
  std::vector<bool> blocks(machine.levels.size()), beside(machine.levels.size());
  for (const ChunkLayout& layout : layouts.all())
    for (const ListLayout* list : {&layout.forward, &layout.backward})
      for (const LaidItem& item : list->items)
        if (item.kind == LaidKind::move && item.end > item.start) (item.blocking ? blocks : beside)[item.tier] = true;
  scene.streams = {{"step", "step"}, {"pipeline", "pipeline"}, {"compute", "compute"}};
  const auto add = [&](const std::string& key, const std::string& name) {
    scene.streams.push_back({key, name});
    return static_cast<int>(scene.streams.size()) - 1;
  };
  std::vector<FabricStreams> fabrics;
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const Level& level = machine.levels[i];
    const std::string name = fmt::format("{}: {}", level.name, name_of<FabricKind>(fabric_names, level.fabric));
    const int first = add(level.name, name);
    const bool apart = blocks[i] && beside[i];
    fabrics.push_back({apart ? add(level.name + "-beside", name + ", beside compute") : first, first});
  }
  scene.send_ahead_stream = add("send-ahead", "send ahead");
  scene.send_back_stream = add("send-back", "send back");
  scene.host_stream = add("host", "host");
  return fabrics;
}

class SceneNames {
 public:
  explicit SceneNames(std::vector<std::string>& names) : names_(names) {}
  int of(const std::string& name) {
    const auto [known, added] = index_.try_emplace(name, static_cast<int>(names_.size()));
    if (added) names_.push_back(name);
    return known->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, int> index_;
};

/// By run of the chunk: which of its layers the run begins with; -1 where it has none.
std::vector<int> first_layers(const Program& program, const Chunk& chunk) {
  std::vector<int> first;
  int layers = 0;
  for (const BlockRun& run : chunk.runs) {
    const bool has = program.blocks[run.block].is_layer;
    first.push_back(has ? layers : -1);
    if (has) layers += static_cast<int>(run.count);
  }
  return first;
}

std::string name_of_item(const Program& program, const LaidItem& item) {
  const ProgramBlock& block = program.blocks[item.block];
  if (item.kind == LaidKind::kernel) return block.works[item.item].label;
  if (item.kind == LaidKind::move) return block.moves[item.item].label;
  return item.item < 0 ? "wait" : "wait for " + block.moves[item.item].label;
}

std::vector<SceneSpan> spans_of(const Program& program, const Chunk& chunk, const ListLayout& list,
    const std::vector<FabricStreams>& fabrics, SceneNames& names) {
  const std::vector<int> first = first_layers(program, chunk);
  std::vector<SceneSpan> spans;
  std::vector<int> position(list.items.size(), -1);
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const LaidItem& item = list.items[i];
    if (item.end <= item.start) continue;
    SceneSpan span{
        .kind = static_cast<SpanKind>(item.kind), .name = names.of(name_of_item(program, item)), .pass = item.pass};
    span.stream = StepScene::compute_stream;
    if (item.kind == LaidKind::kernel) span.work = program.blocks[item.block].works[item.item].kernel;
    if (item.kind == LaidKind::move)
      span.stream = item.blocking ? fabrics[item.tier].blocking : fabrics[item.tier].background;
    span.layer = first[item.run] < 0 ? -1 : first[item.run] + static_cast<int>(item.copy);
    span.start = item.start;
    span.end = item.end;
    if (item.waits_for >= 0) span.waits_for = position[item.waits_for];
    position[i] = static_cast<int>(spans.size());
    spans.push_back(span);
  }
  return spans;
}

static_assert(static_cast<int>(SpanKind::move) == static_cast<int>(LaidKind::move) &&
              static_cast<int>(SpanKind::wait) == static_cast<int>(LaidKind::wait));

}  // namespace

Expected<void> add_inside(const Scenario& scenario, const Prediction& prediction, StepScene& scene) {
  const Order& order = *scene.order;
  std::vector<Program> slices = {prediction.program};
  if (scenario.pipeline.slices > 1) {
    TRY(slices, lower_slices(scenario, prediction.program));
  }
  const SceneLayouts layouts(slices, cost_model(scenario).with_ranks(prediction.program.ranks));
  const std::vector<FabricStreams> fabrics = add_streams(scenario.machine.row, layouts, scene);
  SceneNames names(scene.names);
  scene.inside.resize(scene.inside_index(order.stages(), ActionKind::forward, 0));
  scene.inside_seconds.resize(scene.inside.size());
  for (const Action& action : order.actions) {
    const int slice = action.micro_batch % order.slices;
    const std::size_t index = scene.inside_index(action.stage, action.kind, slice);
    if (!scene.inside[index].empty()) continue;
    const ListLayout list = layouts.of(action.stage, action.kind, slice);
    const Program& program = slices[static_cast<std::size_t>(slice)];
    const Chunk& chunk = program.chunks[static_cast<std::size_t>(action.stage) % program.chunks.size()];
    scene.inside[index] = spans_of(program, chunk, list, fabrics, names);
    scene.inside_seconds[index] = list.seconds;
  }
  return {};
}

}  // namespace stepcast::timeline
