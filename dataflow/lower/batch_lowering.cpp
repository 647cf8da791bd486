#include "dataflow/lower/batch_lowering.h"

#include <optional>
#include <utility>

#include "dataflow/lower/lowering.h"

namespace stepcast::dataflow {

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
  return state_->lowering.emplace(state_->spec, state_->plan, state_->stack, false, LoweredPart::whole, &state_->read)
      .run();
}

Expected<Program> BatchLowering::another(const PlanSizes& sizes) {
  Plan& plan = state_->plan;
  plan.micro_batch = sizes.micro_batch, plan.global_batch = sizes.global_batch;
  plan.sequence = sizes.sequence;
  if (plan.cache) plan.cache->cached = sizes.cached;
  TRY(auto resized, state_->lowering->resized());
  return resized ? std::move(*resized) : first(Plan(plan));
}

}  // namespace stepcast::dataflow
