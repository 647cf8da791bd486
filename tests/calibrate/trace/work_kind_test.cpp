#include "calibrate/trace/work_kind.h"

#include <gtest/gtest.h>

namespace stepcast::calibrate::work_kind_test {
namespace {

TEST(TracedKernels, CollectivesSayTheirKind) {
  const std::pair<const char*, const char*> rows[] = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all_reduce"}, {"_allgather_base", "all_gather"},
      {"ncclDevKernel_SendRecv(ncclDevComm*)", "send_recv"}, {"dnorm1.y reduce_scatter", "reduce_scatter"},
      {"ncclDevKernel_Generic(ncclDevComm*)", "collective"},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>", "all_reduce"}};
  for (const auto& [name, kind] : rows) EXPECT_EQ(collective_kind_in(name), kind) << name;
}

}  // namespace
}  // namespace stepcast::calibrate::work_kind_test
