#include "studies/launch/limits/named_file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::launch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// launch/run.yaml, launch/conf/run.yaml, other/secret.yaml, and launch/link.yaml that leads out.
class NamedFile : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = fs::path(testing::TempDir()) / ("named_file_" + test);
    fs::remove_all(root_);
    for (const char* file : {"launch/run.yaml", "launch/conf/run.yaml", "other/secret.yaml"}) {
      fs::create_directories((root_ / file).parent_path());
      std::ofstream(root_ / file) << "a: 1\n";
    }
    fs::create_symlink(root_ / "other/secret.yaml", root_ / "launch/link.yaml");
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] Expected<std::string> named(const std::string& name, const std::vector<std::string>& more = {}) const {
    LaunchFolders folders = {(root_ / "launch").string()};
    folders.insert(folders.end(), more.begin(), more.end());
    return named_file(folders, name);
  }
  [[nodiscard]] std::string path(const char* part) const { return (root_ / part).string(); }

  fs::path root_;
};

TEST_F(NamedFile, BesideTheLaunchAndBelowIt) {
  EXPECT_EQ(*named("run.yaml"), path("launch/run.yaml"));
  EXPECT_EQ(*named("conf/run.yaml"), path("launch/conf/run.yaml"));
  // where its front is another machine's: the longest end that is there
  EXPECT_EQ(*named("/nowhere/conf/run.yaml"), path("launch/conf/run.yaml"));
  EXPECT_EQ(*named("$(dirname $0)/conf/run.yaml"), path("launch/conf/run.yaml"));
  EXPECT_EQ(*named("/nowhere/other/run.yaml"), path("launch/run.yaml"));
  EXPECT_EQ(*named("absent.yaml"), "");
}

TEST_F(NamedFile, OutsideOnlyWhereTheUserSaysSo) {
  for (const std::string& name :
      {std::string("../other/secret.yaml"), path("other/secret.yaml"), std::string("link.yaml")}) {
    const auto refused = named(name);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().where, name);
    EXPECT_THAT(refused.error().hint, HasSubstr("--files-from " + fs::canonical(root_ / "other").string()));
    EXPECT_TRUE(named(name, {path("other")})) << name;
  }
}

TEST_F(NamedFile, FilesOfTheSystemNever) {
  for (const char* name : {"/proc/self/environ", "/dev/null", "../../../../../../../../proc/self/environ"}) {
    const auto refused = named(name, {"/proc", "/dev", "/"});
    ASSERT_FALSE(refused) << name;
    EXPECT_THAT(refused.error().what, HasSubstr("no regular file"));
  }
  EXPECT_FALSE(named(path("launch/conf")));
}

}  // namespace
}  // namespace stepcast::launch
