#include "dataflow/lower/passes_pair.h"

#include <utility>

#include "dataflow/lower/lowering.h"

namespace stepcast::dataflow {

Expected<PassesPair> lower_passes_pair(
    const NetworkSpec& spec, const Plan& plan, const Stack& stack, BuiltNetworks& built) {
  Plan sized = plan;
  Lowering lowering(spec, sized, stack, false, LoweredPart::passes, nullptr, &built);
  TRY(auto one, lowering.run());
  sized.micro_batch *= 2, sized.global_batch *= 2;
  TRY(auto doubled, lowering.doubled());
  if (doubled) return PassesPair{std::move(one), std::move(*doubled)};
  TRY(auto two, Lowering(spec, sized, stack, false, LoweredPart::passes, nullptr, &built).run());
  return PassesPair{std::move(one), std::move(two)};
}

}  // namespace stepcast::dataflow
