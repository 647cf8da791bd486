#include "model/base/embedded.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(Embedded, CatalogueEqualsItsFilesAndIsSorted) {
  const auto files = embedded_catalog();
  ASSERT_FALSE(files.empty());
  EXPECT_TRUE(std::is_sorted(files.begin(), files.end(), [](auto& a, auto& b) { return a.name < b.name; }));
  for (const EmbeddedFile& file : files) {
    std::ifstream stream(std::string(STEPCAST_SOURCE_DIR "/model/catalog/") + std::string(file.name), std::ios::binary);
    EXPECT_TRUE(stream.is_open()) << file.name;
    EXPECT_EQ(file.text, std::string(std::istreambuf_iterator<char>(stream), {})) << file.name;
  }
}

}  // namespace
}  // namespace stepcast
