#include "kernels/library/nccl_library.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::kernels {
namespace {

using testing::HasSubstr;

/// nccl.h of the toolkit, "" where there is none. Read as text: the tests' include path holds no CUDA headers.
std::string nccl_header() {
  std::vector<std::string> folders{"/usr/local/cuda/include", "/usr/include"};
  for (const char* variable : {"NCCL_HOME", "CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable)) folders.insert(folders.begin(), std::string(home) + "/include");
  for (const std::string& folder : folders) {
    std::ifstream file(folder + "/nccl.h");
    std::stringstream text;
    if (file && text << file.rdbuf()) return text.str();
  }
  return "";
}

/// The number that an enumerator or macro has in the header; -1 where it is not there.
int number_in(const std::string& header, const std::string& name) {
  std::smatch found;
  const std::regex enumerator("\\b" + name + "\\s*=?\\s+(\\d+)");
  return std::regex_search(header, found, enumerator) ? std::stoi(found[1]) : -1;
}

TEST(NcclLibrary, NumbersAreThoseOfTheHeader) {
  const std::string header = nccl_header();
  if (header.empty()) GTEST_SKIP() << "skipped: no nccl.h";
  struct Row {
    const char* name;
    int ours;
  };
  const auto row = [](const char* name, auto value) { return Row{name, static_cast<int>(value)}; };
  for (const Row& expected :
      {row("ncclSuccess", NcclResult::success), row("ncclUnhandledCudaError", NcclResult::unhandled_cuda_error),
          row("ncclSystemError", NcclResult::system_error), row("ncclInternalError", NcclResult::internal_error),
          row("ncclInvalidArgument", NcclResult::invalid_argument), row("ncclInvalidUsage", NcclResult::invalid_usage),
          row("ncclRemoteError", NcclResult::remote_error), row("ncclInProgress", NcclResult::in_progress),
          row("ncclInt8", NcclType::int8), row("ncclUint8", NcclType::uint8), row("ncclInt32", NcclType::int32),
          row("ncclUint32", NcclType::uint32), row("ncclInt64", NcclType::int64), row("ncclUint64", NcclType::uint64),
          row("ncclFloat16", NcclType::float16), row("ncclFloat32", NcclType::float32),
          row("ncclFloat64", NcclType::float64), row("ncclBfloat16", NcclType::bfloat16),
          row("ncclSum", NcclOperator::sum), row("ncclProd", NcclOperator::product),
          row("ncclMax", NcclOperator::maximum), row("ncclMin", NcclOperator::minimum),
          row("ncclAvg", NcclOperator::average), row("NCCL_UNIQUE_ID_BYTES", sizeof(NcclUniqueId))})
    EXPECT_EQ(number_in(header, expected.name), expected.ours) << expected.name;
}

TEST(NcclLibrary, TheLibraryAnswersWithoutAGpu) {
  const auto nccl = nccl_library();
  if (!nccl) GTEST_SKIP() << "skipped: no NCCL: " << to_text(nccl.error());
  const auto version = (*nccl)->version();
  ASSERT_TRUE(version) << to_text(version.error());
  EXPECT_TRUE(std::regex_match(*version, std::regex("2\\.\\d+\\.\\d+"))) << *version;
  EXPECT_THAT((*nccl)->error_text(NcclResult::invalid_argument), HasSubstr("invalid argument"));
}

TEST(NcclLibrary, UniqueIdsDiffer) {
  const auto nccl = nccl_library();
  if (!nccl) GTEST_SKIP() << "skipped: no NCCL: " << to_text(nccl.error());
  std::array<NcclUniqueId, 2> ids{};
  for (NcclUniqueId& id : ids) {
    const auto made = (*nccl)->checked((*nccl)->get_unique_id(&id), "ncclGetUniqueId");
    if (!made) GTEST_SKIP() << "skipped: " << to_text(made.error());  // a host without any network interface
  }
  EXPECT_FALSE(std::equal(std::begin(ids[0].bytes), std::end(ids[0].bytes), std::begin(ids[1].bytes)));
}

TEST(NcclLibrary, AWrongCallComesOutAsAnErrorThatNamesIt) {
  const auto nccl = nccl_library();
  if (!nccl) GTEST_SKIP() << "skipped: no NCCL: " << to_text(nccl.error());
  const auto wrong = (*nccl)->checked((*nccl)->get_version(nullptr), "ncclGetVersion");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where, "ncclGetVersion");
  EXPECT_THAT(wrong.error().what, HasSubstr("invalid argument"));
}

const char* fake_words(NcclResult) { return "unhandled cuda error"; }
const char* fake_last_words(NcclCommunicator) { return "Cuda failure 'out of memory'"; }

TEST(NcclLibrary, LastWordsAreAddedWhereTheLibraryHasThem) {
  NcclLibrary library;
  library.error_text = fake_words;
  EXPECT_EQ(library.checked(NcclResult::unhandled_cuda_error, "ncclSend").error().what, "unhandled cuda error");
  library.last_error = fake_last_words;
  EXPECT_EQ(library.checked(NcclResult::unhandled_cuda_error, "ncclSend").error().what,
      "unhandled cuda error: Cuda failure 'out of memory'");
  EXPECT_TRUE(library.checked(NcclResult::success, "ncclSend"));
}

TEST(NcclLibrary, AnotherLibraryLacksTheFunctions) {
  constexpr std::array<std::string_view, 1> other{"libc.so.6"};
  const auto library = SharedLibrary::open(other, "");
  ASSERT_TRUE(library);
  const auto loaded = load_nccl(*library);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(to_text(loaded.error()), HasSubstr("ncclGetVersion"));
}

}  // namespace
}  // namespace stepcast::kernels
