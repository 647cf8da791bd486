#include "sim/serving/iteration.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>

#include <fmt/format.h>

namespace stepcast::sim {
namespace {

using dataflow::BlockRun, dataflow::Chunk, dataflow::Item, dataflow::KernelClass, dataflow::KernelWork, dataflow::Move,
    dataflow::Program, dataflow::ProgramBlock, dataflow::StageEdge;

double runs_of(const Program& program, int block) {
  double runs = 0;
  for (const Chunk& chunk : program.chunks)
    for (const BlockRun& run : chunk.runs)
      if (run.block == block) runs += static_cast<double>(run.count);
  return runs;
}

tl::unexpected<Error> differ(const std::string& label) {
  return fail("iteration", fmt::format("{} is another kernel for other rows", label), "rows of one kind");
}

/// The same kernel or move of all Programs.
template <class Thing> struct Samples {
  const Thing &one, &twice_as_many, &twice_as_long, &further;
  const Rows& rows;

  template <class Value> [[nodiscard]] Affine through(const Value& value) const {
    return affine_through({value(one), value(twice_as_many), value(twice_as_long), value(further)}, rows);
  }
  [[nodiscard]] bool all(const std::function<bool(const Thing&)>& same) const {
    return same(twice_as_many) && same(twice_as_long) && same(further);
  }
};

Expected<PackedLine> line_of(const Samples<KernelWork>& samples, RowKind kind) {
  const KernelWork& work = samples.one;
  const bool same = samples.all([&](const KernelWork& other) {
    return other.label == work.label && other.kernel == work.kernel && other.n == work.n && other.k == work.k &&
           other.batch == work.batch && other.heads == work.heads;
  });
  if (!same) return differ(work.label);
  PackedLine line;
  line.label = work.label;
  line.work = work;
  PackedLine::Shares shares;
  shares.rows = samples.through([](const KernelWork& w) { return w.m; });
  shares.bytes = samples.through([](const KernelWork& w) { return w.bytes.value(); });
  shares.flops = samples.through([](const KernelWork& w) { return w.flops.value(); });
  line.shares[static_cast<std::size_t>(kind)] = shares;
  if (line.attends()) {
    line.queries_share = work.queries / samples.rows.positions;
    line.keys_share = work.sequence / (samples.rows.cached + samples.rows.positions);
    const auto keys = dataflow::attended_keys(work.key_reach, work.sequence, samples.rows.positions * line.keys_share);
    line.flops_per_pair = work.flops.value() / (work.sequences * work.queries * keys.walked);
  }
  return line;
}

Expected<PackedLine> line_of(const Samples<Move>& samples, const Program& program, RowKind kind) {
  const Move& move = samples.one;
  if (!samples.all([&](const Move& other) { return other.label == move.label && other.kind == move.kind; }))
    return differ(move.label);
  PackedLine line;
  line.label = move.label;
  line.move = move;
  line.group = program.groups[move.group];
  PackedLine::Shares shares;
  shares.rows = samples.through([](const Move& m) { return m.local_before.value(); });
  shares.bytes = samples.through([](const Move& m) { return m.received.value(); });
  line.shares[static_cast<std::size_t>(kind)] = shares;
  return line;
}

/// Lines of one block in Programs of both kinds of rows are one kernel where they have one name and shape.
bool same_kernel(const PackedLine& a, const PackedLine& b) {
  if (a.label != b.label || a.work.has_value() != b.work.has_value() || a.calls != b.calls) return false;
  if (!a.work) return a.group == b.group && a.move.kind == b.move.kind;
  return a.work->kernel == b.work->kernel && a.work->n == b.work->n && a.work->k == b.work->k &&
         a.work->batch == b.work->batch && a.work->heads == b.work->heads && a.work->kv_heads == b.work->kv_heads &&
         a.work->head_dim == b.work->head_dim && !a.by_row();
}

Source weaker(Source a, Source b) { return std::max(a, b); }

}  // namespace

double beyond_profiled(const IterationSums& sums, const Engine& engine, const Engine::Tuning& tuning) {
  const bool beyond = engine.profiled_positions > 0 && sums.positions > static_cast<double>(engine.profiled_positions);
  return beyond ? tuning.beyond_profiled : 1;
}

void IterationSums::add(const IterationSums& other, double share) {
  kernels += other.kernels * share, moves += other.moves * share;
  experts += other.experts * share, expert_roofs += other.expert_roofs * share, rereads += other.rereads * share,
      expert_calls += other.expert_calls * share;
  sequences += other.sequences * share, launched += other.launched * share;
}

GpuTime gpu_time(const IterationSums& sums, const Engine& engine, const Engine::Tuning& tuning) {
  const Seconds experts = by_factor(sums.experts, sums.expert_roofs, tuning.experts);
  const Seconds kernels = (sums.kernels - sums.experts + experts + tuning.expert_start * sums.expert_calls +
                              sums.rereads * tuning.keys_read_again) *
                          tuning.kernels;
  return {kernels, sums.moves * beyond_profiled(sums, engine, tuning)};
}

Seconds elapsed(const IterationSums& sums, const Engine& engine, const Engine::Tuning& tuning) {
  const GpuTime gpu = gpu_time(sums, engine, tuning);
  const Seconds launches = tuning.host_per_launch * (sums.launched * sums.host_pace);
  const Seconds works = gpu.kernels + gpu.moves;
  const Seconds busy = engine.launches_in_turn ? works + launches : std::max(works, launches);
  const Seconds before = tuning.host_per_iteration + tuning.host_per_sequence * sums.sequences;
  const Seconds loop = engine.loop_per_sequence * (sums.sequences * sums.hosts * sums.host_pace);
  const Seconds alone = engine.host_beside ? std::max(busy, before) : busy + before;
  return engine.plans_ahead ? std::max(alone, launches + loop) : alone + loop;
}

Expected<IterationForm> IterationForm::of(const RowPrograms& words) {
  IterationForm form;
  TRY(form.add(words, RowKind::words));
  return form;
}

Expected<IterationForm> IterationForm::of(const RowPrograms& words, double most_words, const RowPrograms& prompts) {
  IterationForm form;
  form.most_words_ = most_words;
  TRY(form.add(words, RowKind::words));
  TRY(form.add(prompts, RowKind::prompts));
  return form;
}

Expected<void> IterationForm::add(const RowPrograms& programs, RowKind kind) {
  const Program &one = programs.one, &two = programs.twice_as_many, &twice = programs.twice_as_long,
                &further = programs.further ? *programs.further : one;
  std::size_t after = 0;  // lines of this kind alone come behind the one before them
  const auto put = [&](PackedLine&& line, std::size_t from) {
    if (kind == RowKind::prompts)
      for (std::size_t i = from; i < lines_.size(); ++i)
        if (!lines_[i].shares[1] && same_kernel(lines_[i], line)) {
          lines_[i].shares[1] = line.shares[1];
          after = i + 1;
          return;
        }
    if (kind == RowKind::words) after = lines_.size();
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(after), std::move(line));
    ++after;
  };
  const std::vector<int> order = blocks_in_order(one);
  std::size_t items = lines_.size() + one.edges.size();
  for (const int b : order) items += one.blocks[b].forward.size();
  lines_.reserve(items);
  const auto place_of = [&](int block) { return static_cast<int>(std::ranges::find(order, block) - order.begin()); };
  const auto blocks_there = static_cast<int>(order.size());
  if (kind == RowKind::words)
    for (std::size_t c = 0; c < one.chunks.size(); ++c) {
      const int stage = one.chunks[c].stage;
      for (const BlockRun& run : one.chunks[c].runs) runs_.push_back({place_of(run.block), stage, run.count});
      if (c < one.edges.size()) runs_.push_back({blocks_there + static_cast<int>(c), stage, 1});
    }
  for (const int b : order) {
    const ProgramBlock* blocks[] = {&one.blocks[b], &two.blocks[b], &twice.blocks[b], &further.blocks[b]};
    const std::size_t from = after;
    for (const ProgramBlock* block : blocks)
      if (block->forward.size() != blocks[0]->forward.size()) return differ(block->name);
    for (const Item& item : blocks[0]->forward) {
      const auto samples = [&](auto list) {
        const auto& of = [&](int program) -> const auto& { return (blocks[program]->*list)[item.index]; };
        return Samples<std::remove_cvref_t<decltype(of(0))>>{of(0), of(1), of(2), of(3), programs.rows};
      };
      if (item.is_move && blocks[0]->moves[item.index].group < 0) continue;
      auto line = item.is_move ? line_of(samples(&ProgramBlock::moves), one, kind)
                               : line_of(samples(&ProgramBlock::works), kind);
      if (!line) return tl::unexpected(line.error());
      line->calls = runs_of(one, b), line->block = place_of(b);
      if (line->work && line->work->experts > 0 && expert_width_ == 0) expert_width_ = line->work->k;
      if (line->work) dense_ = std::max(dense_, line->work->dense);
      for (const auto& shares : line->shares)
        counts_keys_ = counts_keys_ || (shares && !line->by_row() && shares->rows.per_key != 0);
      put(std::move(*line), from);
    }
  }
  for (std::size_t e = 0; e < one.edges.size(); ++e) {
    if (one.edges[e].bytes.value() <= 0) continue;
    PackedLine line;
    line.label = "boundary";
    line.calls = 1, line.block = blocks_there + static_cast<int>(e);
    line.move.kind = dataflow::MoveKind::send_recv;
    line.rank_distance = one.edges[e].rank_distance;
    const Samples<StageEdge> edges{one.edges[e], two.edges[e], twice.edges[e], further.edges[e], programs.rows};
    const Affine bytes = edges.through([](const StageEdge& edge) { return edge.bytes.value(); });
    line.shares[static_cast<std::size_t>(kind)] = PackedLine::Shares{bytes, bytes, {}};
    put(std::move(line), 0);
  }
  choices_ = one.choices;
  tokens_per_position_ = one.tokens_per_step / (programs.rows.sequences * programs.rows.positions);
  held_.assign(static_cast<std::size_t>(one.stages), {});
  for (std::size_t stage = 0; stage < one.caches.size(); ++stage) held_[stage].caches = one.caches[stage];
  for (const Chunk& chunk : one.chunks) {
    Held& held = held_[static_cast<std::size_t>(chunk.stage)];
    for (const BlockRun& run : chunk.runs) {
      const ProgramBlock& block = one.blocks[run.block];
      const auto count = static_cast<double>(run.count);
      held.all += count * block.parameters, held.experts += count * block.expert_parameters;
      held.wide += count * block.wide_parameters;
    }
  }
  return {};
}

RowKind IterationForm::kind_of(const Rows& rows) const {
  return most_words_ > 0 && rows.positions > most_words_ ? RowKind::prompts : RowKind::words;
}

bool IterationForm::serves(const PackedLine& line, RowKind kind) const {
  return line.shares[static_cast<std::size_t>(kind)].has_value();
}

PackedRows IterationForm::pack(std::span<const Rows> rows) const {
  PackedRows packed;
  packed.picks =
      dense_ == 0 || std::ranges::any_of(rows, [&](const Rows& row) { return row.cached + row.positions > dense_; });
  for (const Rows& row : rows) {
    const auto kind = static_cast<std::size_t>(kind_of(row));
    packed.positions[kind] += row.sequences * row.positions;
    packed.sequences[kind] += row.sequences;
    if (counts_keys_) packed.keys[kind] += row.sequences * (row.cached + row.positions);
  }
  return packed;
}

Routing IterationForm::routing(const PackedRows& rows) const {
  return {tokens_per_position_ * (rows.positions[0] + rows.positions[1]), choices_, expert_width_};
}

IterationSums IterationForm::packed_sums(const PackedRows& rows, const EngineCost& cost, bool graph) const {
  IterationSums sums;
  sums.sequences = rows.sequences[0] + rows.sequences[1];
  sums.positions = rows.positions[0] + rows.positions[1];
  sums.host_pace = cost.engine().pace();
  for (const PackedLine& line : lines_) {
    if (!line.runs_for(rows)) continue;
    if (!graph) sums.launched += line.calls * line.kernels();
    if (line.by_row()) continue;
    const LinePrice price = line.price(rows, routing(rows), cost, graph);
    const Seconds time = price.time * line.calls;
    (line.work ? sums.kernels : sums.moves) += time;
    if (!line.of_experts()) continue;
    sums.experts += time, sums.expert_roofs += price.roof * line.calls, sums.expert_calls += line.calls;
  }
  return sums;
}

void IterationForm::add_rows(
    IterationSums& sums, std::span<const Rows> rows, const EngineCost& cost, std::vector<Starts>* starts) const {
  const auto start_of = [&](std::size_t at, const Rows& row) -> std::optional<Seconds> {
    if (starts == nullptr || row.positions > 1 || !lines_[at].attends() || lines_[at].picking()) return std::nullopt;
    const auto [known, anew] = (*starts)[at].try_emplace(row.sequences);
    if (anew) known->second = cost.decode_start(*lines_[at].work, row.sequences);
    return known->second;
  };
  if (starts != nullptr) starts->resize(lines_.size());
  for (std::size_t at = 0; at < lines_.size(); ++at) {
    const PackedLine& line = lines_[at];
    if (!line.by_row()) continue;
    for (const Rows& row : rows) {
      if (!serves(line, kind_of(row)) || line.idles_for(row)) continue;
      const LinePrice price = line.price(row, cost, start_of(at, row));
      sums.kernels += price.time * line.calls;
      sums.rereads += price.time * (price.rereads * line.calls);
    }
  }
}

IterationTime IterationForm::time(std::span<const Rows> rows, const EngineCost& cost, bool graph) const {
  const PackedRows packed = pack(rows);
  IterationTime out;
  out.sums = packed_sums(packed, cost, graph);
  add_rows(out.sums, rows, cost);
  const Engine::Tuning& tuning = cost.tuning();
  const double beyond = beyond_profiled(out.sums, cost.engine(), tuning);
  const auto add = [&](const PackedLine& line, std::string shape, const LinePrice& price) {
    const auto same = std::ranges::find_if(out.parts, [&](const IterationPart& part) {
      return part.label == line.label && part.shape == shape && part.is_move != line.work.has_value();
    });
    const bool first = same == out.parts.end();
    IterationPart& part = first ? out.parts.emplace_back() : *same;
    if (first) part.source = price.source, part.binding = price.binding;
    part.label = line.label, part.shape = std::move(shape), part.is_move = !line.work, part.attends = line.attends();
    if (line.work) part.kernel = line.work->kernel;
    part.calls += line.calls, part.time += line.tuned(price, tuning) * (line.calls * (line.work ? 1 : beyond));
    part.bytes += price.bytes * line.calls;
    part.flops += price.flops * line.calls;
    part.useful += price.useful * line.calls;
    part.source = weaker(part.source, price.source);
    part.extrapolated = part.extrapolated || price.extrapolated;
  };
  for (const PackedLine& line : lines_) {
    if (!line.runs_for(packed)) continue;
    out.launches += line.calls * line.kernels();
    if (!line.by_row()) {
      add(line, line.shape(packed), line.price(packed, routing(packed), cost, graph));
      continue;
    }
    for (const Rows& row : rows)
      if (serves(line, kind_of(row)) && !line.idles_for(row)) add(line, line.shape(row), line.price(row, cost));
  }
  const GpuTime gpu = gpu_time(out.sums, cost.engine(), tuning);
  out.kernels = gpu.kernels, out.moves = gpu.moves;
  out.time = elapsed(out.sums, cost.engine(), tuning);
  // Where kernels and moves are all of the time the difference is a rounding error of either sign.
  constexpr double rounding = 1e-9;
  const Seconds waited = out.time - out.kernels - out.moves;
  if (waited > out.time * rounding) out.host = waited;
  // The interval of a fitted tuning is that of networks that were left out, whose products were of such sizes too. None
  // of them had kernels that nobody timed.
  const auto in_spread = [&](const IterationPart& part) {
    return !tuning.fitted.empty() && part.kernel == KernelClass::gemm && part.source != Source::assumed;
  };
  double extrapolated = 0;
  for (const IterationPart& part : out.parts)
    if (part.extrapolated && !in_spread(part)) extrapolated += part.time / out.time;
  // Beyond what a law has seen nobody knows its error: as much again as kernels of other shapes are off, 25 %. It has
  // nothing to do with the others, so that their squares add.
  const double unseen = extrapolated * std::log(1.25);
  out.spread = {std::exp(-std::hypot(std::log(tuning.spread.p10), unseen)),
      std::exp(std::hypot(std::log(tuning.spread.p90), unseen))};
  return out;
}

std::size_t IterationPrices::Hash::operator()(const Key& key) const {
  std::size_t seed = (key.graph ? 1 : 0) + (key.rows.picks ? 2 : 0);
  for (const auto* figures : {&key.rows.positions, &key.rows.sequences, &key.rows.keys})
    for (const double figure : *figures) seed = (seed ^ std::hash<double>()(figure)) * 0x100000001b3;  // as in FNV-1a
  return seed;
}

IterationSums IterationPrices::sums(std::span<const Rows> rows, bool graph) {
  const Key key{form_->pack(rows), graph};
  auto found = packed_.find(key);
  if (found == packed_.end()) found = packed_.emplace(key, form_->packed_sums(key.rows, *cost_, graph)).first;
  IterationSums sums = found->second;
  form_->add_rows(sums, rows, *cost_, &starts_);
  return sums;
}

}  // namespace stepcast::sim
