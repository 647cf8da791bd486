#include "dataflow/lower/lower.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dataflow/lower/fuse/fuse.h"
#include "dataflow/lower/lowering.h"
#include "dataflow/place/resize.h"
#include "model/base/large_value.h"
#include "model/network/sized/resize_network.h"

namespace stepcast::dataflow {

LARGE_VALUE_MEMBERS(Program)
namespace {

double element_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

/// Of weights as they are trained, before casts.
double weight_bytes(const Stack& stack, Precision precision) {
  constexpr double single = 4;
  return stack.autocast ? single : element_bytes(precision);
}

}  // namespace

Lowering::Lowering(const NetworkSpec& spec, const Plan& plan, const Stack& stack, bool explain, LoweredPart part,
    const ParsedPlan* read, BuiltNetworks* built)
    : spec_(spec), plan_(plan), stack_(stack), explain_(explain), step_alone_(part == LoweredPart::step),
      passes_alone_(part == LoweredPart::passes), parsed_(read), built_(built) {
  stack_.gradient_bytes = gradient_bytes(stack, plan.precision);
}

Expected<Program> Lowering::run() {
  if (parsed_ == nullptr) {
    TRY(own_, read_plan(plan_, stack_));
    parsed_ = &own_;
  }
  TRY(const auto batch, asked_batch());
  if (plan_.cache) TRY(check_servable());
  shape_ = shape_of(batch);
  if (built_ != nullptr) {
    network_ = built_->of(spec_, shape_, stack_.attention);
    facts_ = built_->facts(network_);
  } else {
    network_ = own_network_ = std::make_shared<Network>(build_network(spec_, shape_, stack_.attention));
    facts_ = facts_of(*network_);
  }
  TRY(check_adapters());
  step_alone_ = step_alone_ && !gathers_for_a_step();
  TRY(place_network());
  TRY(layout_, stage_layout(spec_.layers, placed_->mesh, parsed_->statements));
  TRY(check_encoder());
  TRY(fill(batch));
  if (!plan_.cache) make_tail();
  if (!step_alone_ && !passes_alone_) make_notes();
  return std::move(out_);
}

PlacingOptions Lowering::placing() const {
  return {stack_.gradient_bytes, stack_.recompute_whole, step_alone_, passes_alone_, stack_.one_by_one};
}

Expected<void> Lowering::place_network() {
  if (built_ != nullptr) {
    TRY(placed_, built_->placed().of(network_, *parsed_, plan_.gpus, placing()));
    return {};
  }
  TRY(auto placed, place(*network_, parsed_->program.meshes, parsed_->statements, plan_.gpus, placing()));
  placed_ = std::make_shared<PlacedNetwork>(std::move(placed));
  return {};
}

Expected<std::optional<Program>> Lowering::resized() {
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
  if (!resize(*placed_, *network_, parsed_->statements, grown)) return std::nullopt;
  out_ = {}, layers_ = {}, shape_ = shape, kernels_alone_ = true;
  TRY(fill(batch));
  return std::move(out_);
}

Expected<std::optional<Program>> Lowering::doubled() {
  TRY(const auto batch, asked_batch());
  const BatchShape shape = shape_of(batch);
  const std::shared_ptr<const Network> placed = network_, larger = built_->of(spec_, shape, stack_.attention);
  if (!double_sizes(*placed_, *placed, *larger, parsed_->statements)) return std::nullopt;
  out_ = {}, layers_ = {}, shape_ = shape, network_ = larger;
  const auto filled = fill(batch);
  if (filled) make_tail();
  halve_sizes(*placed_, *placed, *larger);  // others may share it
  TRY(filled);
  return std::move(out_);
}

Expected<PlanBatch> Lowering::asked_batch() const {
  std::int64_t stated = 0;
  for (const Statement& statement : parsed_->statements)
    if (const auto* stage = std::get_if<StageStatement>(&statement.body)) stated = stage->micro_batches;
  return batch_of(spec_, plan_, *parsed_, stated);
}

BatchShape Lowering::shape_of(const PlanBatch& batch) const {
  const double bytes = element_bytes(plan_.precision);
  BatchShape shape{batch.sequences_per_micro_batch, batch.sequence, bytes, weight_bytes(stack_, plan_.precision),
      plan_.lora_rank, stack_.loss_bytes, plan_.adapted};
  shape.autocast = shape.weight_bytes > bytes;
  if (plan_.cache) shape.serves = true, shape.cached = cached(), shape.cache_bytes = plan_.cache->element_bytes;
  return shape;
}

Expected<void> Lowering::fill(const PlanBatch& batch) {
  fill_sizes(batch);
  TRY(make_blocks());
  fill_chunks();
  return make_edges();
}

Expected<void> Lowering::check_adapters() const {
  const auto adapts = [](const Block& block) { return std::ranges::any_of(block.operators, &Operator::adapts); };
  if (plan_.lora_rank == 0 || std::ranges::any_of(network_->blocks, adapts)) return {};
  return fail("--lora", fmt::format("{} has no projection that adapters stand on: {}", spec_.id, plan_.adapted.text()),
      "--lora-on all where other projections have them, or train all weights");
}

// What is gathered once per step stands among what a micro-batch does until it is taken out.
bool Lowering::gathers_for_a_step() const {
  return std::ranges::any_of(parsed_->statements, [](const Statement& statement) {
    const auto* move = std::get_if<MoveStatement>(&statement.body);
    return move != nullptr && move->life == Life::step;
  });
}

void Lowering::fill_sizes(const PlanBatch& batch) {
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
  const double weight = weight_bytes(stack_, plan_.precision);
  const double master = weight >= 4 ? 0 : stack_.master_bytes;
  // Adam reads the gradient, reads and writes moments and master, which the weight itself is where there is none, and
  // writes the weight (Kingma and Ba 2015; one fused kernel).
  out_.bytes_per_optimizer_element =
      stack_.gradient_bytes + 2 * (master + stack_.optimizer_bytes) + (master > 0 ? weight : 2 * weight);
  // The norm reads every gradient once, and it is set to zero once.
  out_.bytes_per_gradient_element = 2 * stack_.gradient_bytes;
}

// Forms that have no iteration of an engine yet.
Expected<void> Lowering::check_servable() const {
  const auto lacks = [&](bool has, const char* what) -> Expected<void> {
    if (!has) return {};
    return fail(spec_.id, fmt::format("an engine's iteration of a network with {}", what),
        "networks of attention, MLPs and experts");
  };
  TRY(lacks(!spec_.causal || spec_.vocab == 0, "no words to say"));
  TRY(lacks(!spec_.encoders.empty(), "an encoder"));
  return {};
}

// What every stage looks at would have to travel with the stream.
Expected<void> Lowering::check_encoder() const {
  const bool reads = std::ranges::any_of(
      network_->blocks, [](const Block& block) { return !block.reads.empty() && block.place != Block::Place::first; });
  if (reads && layout_.stages > 1)
    return fail(plan_.mapping_where,
        fmt::format("layers on {} stages that look at what stands on the first", layout_.stages), "one stage");
  if (spec_.encoders.empty() || spec_.encoders.front().layers == 0) return {};
  if (recompute_limit() > 0)
    return fail(plan_.mapping_where, "recompute on some layers of each stage, which leaves the encoder's unsaid",
        "recompute on all layers, or on none");
  return {};
}

std::int64_t Lowering::recompute_limit() const {
  for (const Statement& statement : parsed_->statements)
    if (const auto* recompute = std::get_if<RecomputeStatement>(&statement.body); recompute && recompute->layers > 0)
      return recompute->layers;
  return 0;
}

Expected<Program> lower(const NetworkSpec& spec, const Plan& plan, const Stack& stack, bool reasons) {
  return Lowering(spec, plan, stack, reasons).run();
}

Expected<Program> lower(const NetworkSpec& spec, const Plan& plan, const Stack& stack, const ParsedPlan& read) {
  return Lowering(spec, plan, stack, false, LoweredPart::whole, &read).run();
}

Expected<Program> lower(const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built) {
  return Lowering(spec, plan, stack, false, LoweredPart::whole, nullptr, &built).run();
}

Expected<Program> lower_step(const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built) {
  return Lowering(spec, plan, stack, false, LoweredPart::step, nullptr, &built).run();
}

Expected<Program> lower_passes(const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built) {
  return Lowering(spec, plan, stack, false, LoweredPart::passes, nullptr, &built).run();
}

}  // namespace stepcast::dataflow
