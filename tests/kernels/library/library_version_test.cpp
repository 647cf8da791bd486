#include "kernels/library/library_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::kernels {
namespace {

TEST(LibraryVersion, NumbersOfEachLibraryInItsOwnParts) {
  EXPECT_EQ(version_text(130100, 10000), "13.1.0");  // cuBLAS of CUDA 13.0
  EXPECT_EQ(nccl_version_text(22703), "2.27.3");
  EXPECT_EQ(nccl_version_text(2804), "2.8.4");
  EXPECT_EQ(cudnn_version_text(91002), "9.10.2");
  EXPECT_EQ(cudnn_version_text(8907), "8.9.7");
}

TEST(LibraryVersion, EachLibraryHasAVersionOrSaysWhatIsMissing) {
  const auto libraries = gpu_libraries();
  ASSERT_EQ(libraries.size(), 4u);
  EXPECT_EQ(libraries[0].name, "cublasLt");
  EXPECT_EQ(libraries[1].name, "cudnn");
  EXPECT_EQ(libraries[2].name, "nccl");
  EXPECT_EQ(libraries[3].name, "nvml");
  for (const LibraryState& library : libraries) {
    EXPECT_NE(library.version.empty(), library.missing.empty()) << library.name << ": " << library.missing;
  }
}

TEST(LibraryVersion, ToolkitThatIsNotThereSaysWhereItIsLookedFor) {
  const LibraryState state = cublas_state(99);
  EXPECT_EQ(state.version, "");
  EXPECT_THAT(state.missing, testing::HasSubstr("libcublasLt.so.99"));
  EXPECT_THAT(state.missing, testing::HasSubstr("LD_LIBRARY_PATH"));
}

}  // namespace
}  // namespace stepcast::kernels
