// The table of formats: every row does something, and names that are none say so.
#include <set>

#include <gtest/gtest.h>

#include "dataflow/translate/foreign.h"

namespace stepcast::dataflow {
namespace {

TEST(ForeignFormats, RowsAreNamedOnceAndReadOrWrite) {
  std::set<std::string> names;
  for (const ForeignFormat& row : foreign_formats()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.what.empty()) << row.name;
    EXPECT_TRUE(row.read != nullptr || row.write != nullptr) << row.name;
    EXPECT_EQ(row.read != nullptr, !row.files.empty()) << row.name;
  }
  for (const char* name : {"timeloop", "scalesim", "maestro"}) EXPECT_TRUE(names.contains(name)) << name;
}

TEST(ForeignFormats, UnknownNamesAndNoFilesAreRefused) {
  const auto unknown = import_foreign("timelop", {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what, "unknown format 'timelop'");
  EXPECT_EQ(unknown.error().hint, "did you mean 'timeloop'?");
  const auto empty = import_foreign("timeloop", {});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().what, "no files of timeloop");
  const auto written = export_foreign("timelop", MappingProgram{}, "");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().what, "unknown format 'timelop'");
}

}  // namespace
}  // namespace stepcast::dataflow
