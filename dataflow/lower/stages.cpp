#include "dataflow/lower/stages.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast::dataflow {
namespace {

std::string legal_stages(std::int64_t layers, std::int64_t chunks) {
  std::vector<std::int64_t> legal;
  for (std::int64_t p = 1; p * chunks <= layers; ++p)
    if (layers % (p * chunks) == 0) legal.push_back(p);
  return legal.empty() ? "none" : fmt::format("{}", fmt::join(legal, ", "));
}

Expected<void> from_list(StageLayout& layout, std::int64_t layers, const Statement& statement, const Layout& list) {
  const auto entries = static_cast<std::int64_t>(list.list.size());
  const std::int64_t sum = std::accumulate(list.list.begin(), list.list.end(), std::int64_t{0});
  if (entries % layout.stages != 0)
    return fail(where_of(statement), fmt::format("the list has {} entries for {} stages", entries, layout.stages),
        "one entry per virtual stage: a multiple of the stages");
  if (sum != layers)
    return fail(where_of(statement), fmt::format("the list places {} layers, the network has {}", sum, layers),
        fmt::format("the entries must sum to {}", layers));
  if (layout.folded && entries != 2 * layout.stages)
    return fail(where_of(statement),
        fmt::format("the list has {} entries for {} stages laid there and back", entries, layout.stages),
        fmt::format("{} entries: two per stage", 2 * layout.stages));
  layout.chunks = entries / layout.stages;
  layout.layers = list.list;
  return {};
}

}  // namespace

std::int64_t chunks_of(const Layout& layout, std::int64_t stages) {
  if (layout.kind == Layout::Kind::zigzag) return 2;
  const auto entries = static_cast<std::int64_t>(layout.list.size());
  if (layout.kind == Layout::Kind::list) return std::max<std::int64_t>(1, entries / std::max<std::int64_t>(1, stages));
  return layout.kind == Layout::Kind::cyclic ? layout.cyclic : 1;
}

Expected<StageLayout> stage_layout(std::int64_t layers, const Mesh& mesh, const std::vector<Statement>& statements) {
  StageLayout layout;
  const Statement* found = nullptr;
  for (const Statement& statement : statements) {
    const auto* stage = std::get_if<StageStatement>(&statement.body);
    if (!stage) continue;
    if (found)
      return fail(
          where_of(statement), "a second statement places the layers", fmt::format("the first is '{}'", print(*found)));
    found = &statement;
    const Mesh::Axis* axis = mesh.find(stage->axis);
    if (!axis)
      return fail(where_of(statement), fmt::format("unknown axis '{}' in '{}'", stage->axis, print(statement)),
          name_hint(stage->axis, mesh.axis_names()));
    layout.stages = axis->size;
    layout.stride = axis->stride;
    layout.atoms = axis->atoms;
    layout.schedule = stage->schedule;
    layout.micro_batches = stage->micro_batches;
    layout.chunks = chunks_of(stage->layout, layout.stages);
    layout.folded = stage->layout.kind == Layout::Kind::zigzag;
    if (stage->layout.list.empty()) continue;
    TRY(from_list(layout, layers, statement, stage->layout));
    return layout;
  }
  const std::int64_t parts = layout.stages * layout.chunks;
  if (layers % parts != 0)
    return fail(found ? where_of(*found) : "plan",
        fmt::format("{} layers on {} stages with {} chunks each: {:.2f} layers per chunk", layers, layout.stages,
            layout.chunks, static_cast<double>(layers) / static_cast<double>(parts)),
        fmt::format("with {} chunks legal stage counts are {}; or place them unevenly with `list [...]`", layout.chunks,
            legal_stages(layers, layout.chunks)));
  layout.layers.assign(static_cast<std::size_t>(parts), layers / parts);
  return layout;
}

namespace {

void add_run(Chunk& chunk, int block, std::int64_t count) {
  if (!chunk.runs.empty() && chunk.runs.back().block == block) chunk.runs.back().count += count;
  else chunk.runs.push_back({block, count});
}

}  // namespace

std::vector<Chunk> make_chunks(const StageLayout& layout, const LayerBlocks& layers) {
  std::vector<Chunk> chunks;
  std::vector<std::int64_t> recomputed(static_cast<std::size_t>(layout.stages), 0);
  std::int64_t layer = 0;
  const std::int64_t parts = layout.stages * layout.chunks;
  for (std::int64_t part = 0; part < parts; ++part) {
    Chunk chunk;
    const bool back = layout.folded && part >= layout.stages;
    chunk.stage = static_cast<int>(back ? parts - 1 - part : part % layout.stages);
    chunk.chunk = static_cast<int>(part / layout.stages);
    if (part == 0)
      for (const BlockRun& run : layers.before) add_run(chunk, run.block, run.count);
    for (std::int64_t i = 0; i < layout.layers[part]; ++i, ++layer)
      for (const LayerBlocks::Kind& kind : layers.block_of) {
        if (kind.kind != layers.kinds[layer]) continue;
        const bool again = layers.recompute_limit == 0 || recomputed[chunk.stage]++ < layers.recompute_limit;
        add_run(chunk, again ? kind.block : kind.plain, 1);
      }
    if (part + 1 == parts)
      for (const BlockRun& run : layers.after) add_run(chunk, run.block, run.count);
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

}  // namespace stepcast::dataflow
