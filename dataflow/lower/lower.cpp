#include "dataflow/lower/lower.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dataflow/place/block.h"
#include "dataflow/lower/batch_lowering.h"
#include "dataflow/lower/built_networks.h"
#include "dataflow/lower/fuse.h"
#include "dataflow/place/moves.h"
#include "dataflow/place/par_rules.h"
#include "dataflow/place/resize.h"
#include "dataflow/lower/read_plan.h"
#include "dataflow/lower/stages.h"
#include "model/base/contains.h"
#include "model/network/sized/resize_network.h"

namespace stepcast::dataflow {
namespace {

double element_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

/// Scale bytes included: one per 32 elements in mx formats, one per 16 in nvfp4 (OCP MX 1.0; NVIDIA Blackwell
/// whitepaper).
double narrow_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp8: return 1;
    case Precision::mxfp8: return 1 + 1.0 / 32;
    case Precision::nvfp4: return 0.5 + 1.0 / 16;
    default: return 0;
  }
}

/// What of a step is lowered.
enum class Part : std::uint8_t { whole, step, passes };

}  // namespace

class Lowering {
 public:
  Lowering(const NetworkSpec& spec, const Plan& plan, const Stack& stack, bool explain, Part part = Part::whole,
      const ParsedPlan* read = nullptr, BuiltNetworks* built = nullptr)
      : spec_(spec), plan_(plan), stack_(stack), explain_(explain), step_alone_(part == Part::step),
        passes_alone_(part == Part::passes), parsed_(read), built_(built) {
    stack_.gradient_bytes = gradient_bytes(stack, plan.precision);
  }

  Expected<Program> run() {
    if (parsed_ == nullptr) {
      TRY(own_, read_plan(plan_, stack_));
      parsed_ = &own_;
    }
    TRY(const auto batch, asked_batch());
    if (plan_.cache) TRY(check_servable());
    shape_ = shape_of(batch);
    if (built_ != nullptr) network_ = built_->of(spec_, shape_, stack_.attention);
    else network_ = own_network_ = std::make_shared<Network>(build_network(spec_, shape_, stack_.attention));
    TRY(check_adapters());
    step_alone_ = step_alone_ && !gathers_for_a_step();
    TRY(placed_, place(*network_, parsed_->program.meshes, parsed_->statements, plan_.gpus,
                     {stack_.gradient_bytes, stack_.recompute_whole, step_alone_, passes_alone_}));
    TRY(layout_, stage_layout(spec_.layers, placed_.mesh, parsed_->statements));
    TRY(check_encoder());
    TRY(fill(batch));
    if (!plan_.cache) make_tail();
    if (!step_alone_ && !passes_alone_) make_notes();
    return std::move(out_);
  }

  /// After run(), when the plan's batch and cache have changed: kernels and moves alone. nullopt: these differ in more
  /// than their sizes, or it cannot be told.
  Expected<std::optional<Program>> resized() {
    TRY(const auto batch, asked_batch());
    const BatchShape shape = shape_of(batch);
    if (placed_dims_.empty()) placed_dims_ = own_network_->dims;
    if (!resize_network(*own_network_, spec_, shape_, shape, stack_.attention)) return std::nullopt;
    std::vector<int> grown;
    for (std::size_t d = 0; d < placed_dims_.size(); ++d) {
      const Dim& dim = own_network_->dims[d];
      const std::int64_t placed = placed_dims_[d].extent;
      if (dim.extent == placed) continue;
      if (!dim.expected && dim.extent % placed != 0) return std::nullopt;
      grown.push_back(static_cast<int>(d));
    }
    if (!resize(placed_, *network_, parsed_->statements, grown)) return std::nullopt;
    out_ = {}, layers_ = {}, shape_ = shape, kernels_alone_ = true;
    TRY(fill(batch));
    return std::move(out_);
  }

  const ParsedPlan& parsed() const { return *parsed_; }
  const Network& network() const { return *network_; }
  const PlacedNetwork& placed() const { return placed_; }

 private:
  Expected<PlanBatch> asked_batch() const {
    std::int64_t stated = 0;
    for (const Statement& statement : parsed_->statements)
      if (const auto* stage = std::get_if<StageStatement>(&statement.body)) stated = stage->micro_batches;
    return batch_of(spec_, plan_, *parsed_, stated);
  }

  BatchShape shape_of(const PlanBatch& batch) const {
    const double bytes = element_bytes(plan_.precision);
    BatchShape shape{batch.sequences_per_micro_batch, batch.sequence, bytes, bytes, plan_.lora_rank, stack_.loss_bytes,
        plan_.adapted};
    if (plan_.cache) shape.serves = true, shape.cached = cached(), shape.cache_bytes = plan_.cache->element_bytes;
    return shape;
  }

  Expected<void> fill(const PlanBatch& batch) {
    fill_sizes(batch);
    TRY(make_blocks());
    fill_chunks();
    return make_edges();
  }

  Expected<void> check_adapters() const {
    const auto adapts = [](const Block& block) { return std::ranges::any_of(block.operators, &Operator::adapts); };
    if (plan_.lora_rank == 0 || std::ranges::any_of(network_->blocks, adapts)) return {};
    return fail("--lora",
        fmt::format("{} has no projection that adapters stand on: {}", spec_.id, plan_.adapted.text()),
        "--lora-on all where other projections have them, or train all weights");
  }

  /// What is gathered once per step stands among what a micro-batch does until it is taken out.
  bool gathers_for_a_step() const {
    return std::ranges::any_of(parsed_->statements, [](const Statement& statement) {
      const auto* move = std::get_if<MoveStatement>(&statement.body);
      return move != nullptr && move->life == Life::step;
    });
  }

  void fill_sizes(const PlanBatch& batch) {
    out_.precision = plan_.precision;
    out_.routed_rows = spec_.experts.count > 0;
    out_.choices = static_cast<double>(spec_.experts.top_k);
    out_.unlike_measured = !spec_.causal || !spec_.encoders.empty() || spec_.features > 0;
    out_.ranks = plan_.gpus;
    out_.stages = layout_.stages;
    out_.stage_stride = layout_.stride;
    out_.chunks_per_stage = layout_.chunks;
    out_.micro_batches = batch.micro_batches;
    out_.schedule = layout_.schedule;
    out_.tokens_per_step = static_cast<double>(plan_.global_batch) * static_cast<double>(batch.sequence);
    const double master = element_bytes(plan_.precision) >= 4 ? 0 : stack_.master_bytes;
    // Adam reads the gradient, reads and writes master and moments, writes the weight (Kingma and Ba 2015; one fused
    // kernel).
    out_.bytes_per_optimizer_element =
        stack_.gradient_bytes + 2 * (master + stack_.optimizer_bytes) + element_bytes(plan_.precision);
    // The norm reads every gradient once, and it is set to zero once.
    out_.bytes_per_gradient_element = 2 * stack_.gradient_bytes;
  }

  /// Forms that have no iteration of an engine yet.
  Expected<void> check_servable() const {
    const auto lacks = [&](bool has, const char* what) -> Expected<void> {
      if (!has) return {};
      return fail(spec_.id, fmt::format("an engine's iteration of a network with {}", what),
          "networks of attention, MLPs and experts");
    };
    TRY(lacks(!spec_.causal || spec_.vocab == 0, "no words to say"));
    TRY(lacks(!spec_.encoders.empty(), "an encoder"));
    TRY(lacks(reads_beside_stream(spec_), "layers that read what others embedded or made of keys"));
    return {};
  }

  /// What every stage looks at would have to travel with the stream.
  Expected<void> check_encoder() const {
    const bool reads = std::ranges::any_of(network_->blocks,
        [](const Block& block) { return !block.reads.empty() && block.place != Block::Place::first; });
    if (reads && layout_.stages > 1)
      return fail(plan_.mapping_where,
          fmt::format("layers on {} stages that look at what stands on the first", layout_.stages), "one stage");
    if (spec_.encoders.empty() || spec_.encoders.front().layers == 0) return {};
    if (recompute_limit() > 0)
      return fail(plan_.mapping_where, "recompute on some layers of each stage, which leaves the encoder's unsaid",
          "recompute on all layers, or on none");
    return {};
  }

  std::int64_t recompute_limit() const {
    for (const Statement& statement : parsed_->statements)
      if (const auto* recompute = std::get_if<RecomputeStatement>(&statement.body); recompute && recompute->layers > 0)
        return recompute->layers;
    return 0;
  }

  ProgramBlock lowered(std::size_t b, const PlacedBlock& placed, const std::vector<char>& counted) {
    return fuse({*network_, network_->blocks[b], placed, placed_.splits[b], placed_.mesh, stack_, parsed_->statements,
        out_.groups, explain_, counted, blocks_reading_, spec_.experts, narrow_bytes(plan_.precision), step_alone_,
        kernels_alone_});
  }

  void count_readers() {
    std::vector<const Block*> counted(network_->tensors.size(), nullptr);
    blocks_reading_.assign(network_->tensors.size(), 0);
    for (const Block& block : network_->blocks)
      for (const Operator& op : block.operators)
        for (const Access& input : op.inputs)
          if (std::exchange(counted[input.tensor], &block) != &block) ++blocks_reading_[input.tensor];
  }

  Expected<void> make_blocks() {
    // A weight belongs to the first block that uses it; blocks on the same ranks count it once. On the other end of the
    // pipeline it is whole again, and its gradient is summed over both ends once per step (rule 26).
    std::vector<char> first(network_->tensors.size(), 0), last(network_->tensors.size(), 0);
    count_readers();
    const bool one_stage = layout_.stages == 1 || layout_.folded;  // a V ends where it begins
    for (std::size_t b = 0; b < network_->blocks.size(); ++b) {
      const Block::Place place = network_->blocks[b].place;
      std::vector<char>& here = one_stage || place == Block::Place::first ? first : last;
      out_.blocks.push_back(lowered(b, placed_.blocks[b], here));
      if (place == Block::Place::layers)
        layers_.block_of.push_back({static_cast<int>(b), static_cast<int>(b), network_->blocks[b].kind});
      for (const WeightChain& chain : placed_.blocks[b].chains) {
        if (!one_stage && place == Block::Place::last && first[chain.tensor] && !last[chain.tensor]) share(chain);
        if (place != Block::Place::layers) here[chain.tensor] = 1;
      }
    }
    layers_.recompute_limit = recompute_limit();
    if (layers_.recompute_limit == 0) return {};
    const std::int64_t per_stage = spec_.layers / layout_.stages;
    if (layers_.recompute_limit > per_stage)
      return fail(plan_.mapping_where,
          fmt::format("recompute on {} layers of each stage, but a stage has {}", layers_.recompute_limit, per_stage),
          fmt::format("from 1 to {}", per_stage));
    // `layers N`: the rest of each stage's layers run without; the same blocks placed without such statements. What
    // others recompute, all layers do.
    std::vector<Statement> without;
    for (const Statement& statement : parsed_->statements) {
      const auto* recompute = std::get_if<RecomputeStatement>(&statement.body);
      if (recompute == nullptr || recompute->layers == 0) without.push_back(statement);
    }
    TRY(auto plain, place(*network_, parsed_->program.meshes, without, plan_.gpus,
                        {stack_.gradient_bytes, stack_.recompute_whole, step_alone_, passes_alone_}));
    const std::vector<char> none(network_->tensors.size(), 0);
    for (LayerBlocks::Kind& kind : layers_.block_of) {
      out_.blocks.push_back(lowered(static_cast<std::size_t>(kind.block), plain.blocks[kind.block], none));
      kind.plain = static_cast<int>(out_.blocks.size()) - 1;
    }
    return {};
  }

  std::int64_t cached() const { return plan_.cache ? plan_.cache->cached : 0; }

  void count_cache() {
    out_.caches.resize(static_cast<std::size_t>(layout_.stages));
    for (const Chunk& chunk : out_.chunks)
      for (const BlockRun& run : chunk.runs) add_cache(run, out_.caches[static_cast<std::size_t>(chunk.stage)]);
  }
  /// A window's keys are kept as far as it reaches.
  void add_cache(const BlockRun& run, std::vector<CacheLine>& lines) const {
    const auto layers = static_cast<double>(run.count);
    const auto add = [&](const CacheLine& line) {
      if (line.bytes_per_position == 0 && line.bytes_per_sequence == 0) return;
      const auto same = std::ranges::find(lines, line.reach, &CacheLine::reach);
      if (same == lines.end()) return lines.push_back(line);
      same->bytes_per_position += line.bytes_per_position;
      same->bytes_per_sequence += line.bytes_per_sequence;
    };
    for (const Copy& copy : placed_.blocks[run.block].copies) {
      if (copy.parent >= 0 || network_->tensors[copy.tensor].role != TensorRole::cache) continue;
      const auto positions = static_cast<double>(network_->dims[network_->find_dim("t")].extent * plan_.micro_batch);
      add({layers * copy.bytes / positions, reach_of(network_->blocks[run.block], copy.tensor), 0});
    }
    add({0, 0, layers * state_bytes(run.block)});
  }
  /// 0: all keys are kept.
  static std::int64_t reach_of(const Block& block, int cache) {
    for (const Operator& op : block.operators)
      for (const Access& access : op.inputs)
        if (op.kind == OperatorKind::attention && op.domain == Domain::window && access.tensor == cache &&
            contains(access.loops, op.key_loop))
          return op.reach;
    return 0;
  }
  /// Of one sequence in one layer: the states of its scans, the inputs that its convolutions look back at, and the rows
  /// that the next compressed key is made of, with their gates, in fp32; where neighbours overlap, those of the one
  /// before, too (vllm-project/vllm models/deepseek_v4/compressor.py, CompressorStateCache: 1 + overlap times `ratio`
  /// rows of 2 x (1 + overlap) x width).
  double state_bytes(int block) const {
    double bytes = 0;
    for (const KernelWork& work : out_.blocks[block].works)
      if (work.kernel == KernelClass::scan) bytes += scan_state_bytes(work.scan);
    for (const Operator& op : network_->blocks[block].operators) {
      if (op.function == "compress") bytes += compressing_bytes(op);
      if (op.function != "conv") continue;
      const Tensor& taps = network_->tensors[op.inputs[1].tensor];
      const auto width = static_cast<double>(network_->dims[taps.dims.back()].extent);
      for (const Copy& copy : placed_.blocks[block].copies)
        if (copy.tensor == op.inputs[1].tensor && copy.parent < 0) bytes += copy.bytes * (width - 1) / width;
    }
    return bytes;
  }

  double compressing_bytes(const Operator& op) const {
    const auto extent = [&](int loop) { return static_cast<double>(network_->dims[loop].extent); };
    const std::vector<int>& places = op.inputs[2].loops;
    const double ratio = extent(places.front()), wide = extent(places.back()),
                 overlap = wide / extent(op.output.loops.back());
    constexpr double sums_and_gates = 2, fp32 = 4;
    return overlap * ratio * sums_and_gates * wide * fp32;
  }

  void share(const WeightChain& chain) {
    Move move;
    move.label = "shared " + network_->tensors[chain.tensor].name + " gradient";
    move.kind = MoveKind::all_reduce;
    move.pass = Pass::step;
    move.when = When::once_last_use;
    move.cargo = Cargo::gradient;
    move.blocking = true;
    Group group;
    group.digits = {{layout_.stride * (layout_.stages - 1), 2}};
    group.size = 2;
    group.label = placed_.mesh.label(layout_.atoms) + "{first,last}";
    out_.groups.push_back(group);
    move.group = static_cast<int>(out_.groups.size()) - 1;
    move.local_before = move.local_after = Bytes(chain.accumulator_bytes);
    move.received = Bytes(chain.accumulator_bytes);  // all-reduce over two: 2 * 1/2 of the size
    if (explain_) move.because = "used on the first and on the last stage";
    out_.shared.push_back(std::move(move));
  }

  void fill_chunks() {
    layers_.kinds = layer_kinds(spec_, network_->dims[network_->find_dim("s")].extent + cached()).of_layer;
    for (std::size_t b = 0; b < network_->blocks.size(); ++b)
      if (network_->blocks[b].place != Block::Place::layers)
        (network_->blocks[b].place == Block::Place::first ? layers_.before : layers_.after)
            .push_back({static_cast<int>(b), network_->blocks[b].repeat});
    out_.chunks = make_chunks(layout_, layers_);
    if (plan_.cache && !kernels_alone_) count_cache();
    const bool recomputes = std::ranges::any_of(
        parsed_->statements, [](const Statement& s) { return std::holds_alternative<RecomputeStatement>(s.body); });
    if (!recomputes) return;
    for (const Chunk& chunk : out_.chunks)
      for (const BlockRun& run : chunk.runs)
        if (run.block < static_cast<int>(network_->blocks.size()) &&
            network_->blocks[run.block].place == Block::Place::layers)
          out_.recompute_layers += static_cast<double>(run.count);
  }

  /// The stream crosses with its local bytes at home, or as `home boundary` says; then a gather brings it home.
  Expected<void> make_edges() {
    const std::size_t stream_block = static_cast<std::size_t>(layers_.block_of.front().block);
    const PlacedBlock& layer = placed_.blocks[stream_block];
    const Copy& stream = layer.copies[layer.output];
    TRY(auto crossing,
        boundary_placement(*network_, network_->blocks[stream_block], stream.place, placed_.mesh, parsed_->statements));
    const double bytes = local_elements(*network_, stream.tensor, crossing, placed_.mesh) *
                         network_->tensors[stream.tensor].bytes_per_element;
    std::optional<Move> gather;
    for (const Hop& hop : hops(crossing, stream.place, placed_.mesh, false, 0)) {
      if (hop.kind == MoveKind::slice || hop.kind == MoveKind::mask) continue;
      Move move;
      move.label = "boundary gather";
      move.kind = hop.kind;
      move.cargo = Cargo::boundary;
      move.group = intern_group(out_.groups, placed_.mesh, hop.atoms);
      move.local_before = Bytes(bytes);
      move.received = Bytes(received_bytes(hop.kind, bytes, static_cast<double>(placed_.mesh.size_of(hop.atoms))));
      move.local_after = Bytes(stream.bytes);
      move.blocking = true;
      gather = std::move(move);
    }
    for (std::size_t i = 0; i + 1 < out_.chunks.size(); ++i) {
      StageEdge edge;
      edge.from = static_cast<int>(i);
      edge.to = static_cast<int>(i) + 1;
      const std::int64_t steps = std::abs(out_.chunks[i + 1].stage - out_.chunks[i].stage);
      edge.rank_distance = steps * layout_.stride;
      edge.bytes = Bytes(steps == 0 ? 0 : bytes);
      if (steps > 0) edge.gather = gather;
      out_.edges.push_back(std::move(edge));
    }
    return {};
  }

  /// The global norm: one number per rank, summed where gradients are split, and over the stages.
  void make_tail() {
    AtomMask split = layout_.stages > 1 ? layout_.atoms : 0;
    for (const PlacedBlock& block : placed_.blocks)
      for (const WeightChain& chain : block.chains)
        for (std::size_t a = 0; a < placed_.mesh.atoms.size(); ++a)
          if (chain.optimizer.at[a] >= 0 || chain.optimizer.at[a] == flat_shard) split |= AtomMask{1} << a;
    if (split == 0 || placed_.mesh.size_of(split) == 1) return;
    Move norm;
    norm.label = "gradient norm all_reduce";
    norm.kind = MoveKind::all_reduce;
    norm.pass = Pass::step;
    norm.when = When::tail;
    norm.cargo = Cargo::scalar;
    norm.blocking = true;
    norm.group = intern_group(out_.groups, placed_.mesh, split);
    const auto ranks = static_cast<double>(placed_.mesh.size_of(split));
    norm.local_before = norm.local_after = Bytes(4);
    norm.received = Bytes(2 * (ranks - 1) / ranks * 4);
    if (explain_) norm.because = "sum of squares over every axis that splits a gradient, and over the stages";
    out_.tail.push_back(std::move(norm));
  }

  void make_notes() {
    for (std::size_t b = 0; b < network_->blocks.size(); ++b)
      for (std::size_t o = 0; o < network_->blocks[b].operators.size(); ++o) {
        const Operator& op = network_->blocks[b].operators[o];
        if (op.kind != OperatorKind::einsum && op.kind != OperatorKind::attention) continue;
        AtomMask repeated = 0;
        for (std::size_t a = 0; a < placed_.mesh.atoms.size(); ++a)
          if (!placed_.mesh.atoms[a].stage && placed_.splits[b][o].loop[a] < 0) repeated |= AtomMask{1} << a;
        if (placed_.mesh.size_of(repeated) > 1)
          out_.notes.push_back({fmt::format("{} is repeated by {} ranks: nothing splits it on {}", op.name,
              placed_.mesh.size_of(repeated), placed_.mesh.label(repeated))});
      }
    // What a move says and the times do not follow is said, not dropped.
    for (const Statement& statement : parsed_->statements) {
      const auto* move = std::get_if<MoveStatement>(&statement.body);
      if (!move) continue;
      const auto note = [&](const char* what) {
        out_.notes.push_back({fmt::format("'{}': {}", print(statement), what)});
      };
      if (move->chunks > 1) note("the chunks are timed as one move beside its neighbour, not pipelined");
      if (!move->dedupe.empty()) note("every copy of a row is counted, also those for one destination");
      if (!move->bucket.empty() && move->bucket != "unit" && move->bucket != "none")
        note("buckets are one per block, whatever their size");
    }
  }

  const NetworkSpec& spec_;
  const Plan& plan_;
  Stack stack_;  ///< with the accumulators of the plan's precision
  bool explain_, step_alone_, passes_alone_, kernels_alone_ = false;
  ParsedPlan own_;
  const ParsedPlan* parsed_;  ///< own, or what was read before
  BuiltNetworks* built_;      ///< null: built for this alone
  BatchShape shape_;
  std::shared_ptr<Network> own_network_;  ///< null: what was built before
  std::shared_ptr<const Network> network_;
  PlacedNetwork placed_;
  std::vector<Dim> placed_dims_;  ///< as they were then, where another size was asked for
  StageLayout layout_;
  Program out_;
  LayerBlocks layers_;
  std::vector<int> blocks_reading_;  ///< by tensor
};

Expected<Program> lower(const NetworkSpec& spec, const Plan& plan, const Stack& stack, bool reasons) {
  return Lowering(spec, plan, stack, reasons).run();
}

Expected<Program> lower(const NetworkSpec& spec, const Plan& plan, const Stack& stack, const ParsedPlan& read) {
  return Lowering(spec, plan, stack, false, Part::whole, &read).run();
}

Expected<Program> lower(const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built) {
  return Lowering(spec, plan, stack, false, Part::whole, nullptr, &built).run();
}

struct BatchLowering::State {
  const NetworkSpec& spec;
  const Stack& stack;
  const ParsedPlan& read;
  Plan plan;  ///< of the last batch
  std::optional<Lowering> lowering;
};

BatchLowering::BatchLowering(const NetworkSpec& spec, const Stack& stack, const ParsedPlan& read)
    : state_(std::make_unique<State>(spec, stack, read)) {}
BatchLowering::~BatchLowering() = default;

Expected<Program> BatchLowering::first(const Plan& plan) {
  state_->plan = plan;
  return state_->lowering.emplace(state_->spec, state_->plan, state_->stack, false, Part::whole, &state_->read).run();
}

Expected<Program> BatchLowering::another(const PlanSizes& sizes) {
  Plan& plan = state_->plan;
  plan.micro_batch = sizes.micro_batch, plan.global_batch = sizes.global_batch;
  plan.sequence = sizes.sequence;
  if (plan.cache) plan.cache->cached = sizes.cached;
  TRY(auto resized, state_->lowering->resized());
  return resized ? std::move(*resized) : first(Plan(plan));
}

Expected<Program> lower_step(const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built) {
  return Lowering(spec, plan, stack, false, Part::step, nullptr, &built).run();
}

Expected<Program> lower_passes(const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built) {
  return Lowering(spec, plan, stack, false, Part::passes, nullptr, &built).run();
}

Expected<Explanation> explain(const NetworkSpec& spec, const Plan& plan, const Stack& stack) {
  Lowering lowering(spec, plan, stack, true);
  TRY(lowering.run());
  Explanation out;
  MappingProgram written;
  written.meshes = lowering.parsed().program.meshes;
  for (Statement& statement : statements_for(lowering.network(), lowering.parsed().statements))
    written.body.emplace_back(std::move(statement));
  out.expanded = print(written);
  const PlacedNetwork& placed = lowering.placed();
  for (std::size_t b = 0; b < lowering.network().blocks.size(); ++b) {
    const Block& block = lowering.network().blocks[b];
    for (std::size_t o = 0; o < block.operators.size(); ++o)
      for (std::size_t a = 0; a < placed.mesh.atoms.size(); ++a) {
        const Atom& atom = placed.mesh.atoms[a];
        if (atom.stage || atom.size == 1) continue;
        const OperatorSplit& split = placed.splits[b][o];
        const std::string loop = split.loop[a] < 0 ? "none" : lowering.network().dims[split.loop[a]].name;
        const std::string statement = split.statement[a] < 0 ? "no statement: every rank repeats it"
                                                             : print(lowering.parsed().statements[split.statement[a]]);
        out.choices.push_back(
            {block.name, block.operators[o].name, placed.mesh.label(AtomMask{1} << a), loop, statement});
      }
  }
  return out;
}

}  // namespace stepcast::dataflow
