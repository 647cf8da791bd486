#include "calibrate/trace/host_call.h"

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

TEST(HostCalls, NamesSayWhatKeepsTheHost) {
  EXPECT_EQ(host_call_of("cudaStreamSynchronize"), HostCallKind::synchronisation);
  EXPECT_EQ(host_call_of("hipDeviceSynchronize"), HostCallKind::synchronisation);
  EXPECT_EQ(host_call_of("aten::_local_scalar_dense"), HostCallKind::synchronisation);
  EXPECT_EQ(host_call_of("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), HostCallKind::loader);
  EXPECT_EQ(host_call_of("Python GC"), HostCallKind::garbage_collection);
  EXPECT_FALSE(host_call_of("cudaLaunchKernel"));
}

}  // namespace
}  // namespace stepcast::calibrate
