// The one writer of the program's files: nothing in its way is followed, waited for or destroyed.
#include "studies/cli/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/base/namespaces.h"
#include "studies/cli/unwritten.h"

namespace stepcast::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

bool is_plan(const std::string& name) { return file_holds(name, "plan:"); }

class OutputFiles : public testing::Test {
 protected:
  OutputFiles()
      : folder_(testing::TempDir() + "stepcast_output_" +
                testing::UnitTest::GetInstance()->current_test_info()->name() + "/") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~OutputFiles() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string at(const std::string& name) const { return folder_ + name; }
  [[nodiscard]] OutputPlace place(const std::string& name) const { return {at(name), "-o", is_plan, {}, false}; }
  void put(const std::string& name, const std::string& text) const { std::ofstream(at(name)) << text; }
  [[nodiscard]] std::string held(const std::string& name) const {
    std::ifstream file(at(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string refusal(const OutputPlace& place) {
    const auto file = OutputFile::open(place);
    return file ? "opened" : to_text(file.error());
  }
  std::string folder_;
};

TEST_F(OutputFiles, TwoWritersOfOneNameLeaveOneWholeFile) {
  auto one = OutputFile::open(place("x"));
  auto other = OutputFile::open(place("x"));
  ASSERT_TRUE(one && other);
  const std::string ones(100'000, '1'), others(50'000, '2');
  EXPECT_TRUE(one->fill("plan:" + ones));
  EXPECT_TRUE(other->fill("plan:" + others));
  EXPECT_TRUE(one->put_in_place());
  EXPECT_EQ(held("x"), "plan:" + ones);
  EXPECT_TRUE(other->put_in_place());
  EXPECT_EQ(held("x"), "plan:" + others);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFiles, WhatStandsInTheWayIsRefusedInWords) {
  fs::create_directory(at("folder"));
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  fs::create_symlink(at("nothing"), at("link"));
  put("theirs", "somebody's notes");
  fs::create_symlink(at("theirs"), at("to theirs"));
  const std::pair<const char*, const char*> cases[] = {{"folder", "is a folder"}, {"pipe", "a pipe that nobody reads"},
      {"link", "a symbolic link to nothing"}, {"theirs", "is there and is no such file of stepcast"},
      {"to theirs", "is there and is no such file of stepcast"}, {"no/such/folder", "cannot be written"}};
  for (const auto& [name, what] : cases) EXPECT_THAT(refusal(place(name)), HasSubstr(what)) << name;
  EXPECT_THAT(refusal({"", "-o", is_plan, {}, false}), HasSubstr("an empty name"));
  EXPECT_EQ(held("theirs"), "somebody's notes");
  EXPECT_FALSE(fs::exists(at("nothing")));
}

TEST_F(OutputFiles, ALinkStaysAndItsOwnFileIsReplaced) {
  put("ours", "plan: before");
  fs::create_symlink(at("ours"), at("link"));
  auto file = OutputFile::open(place("link"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->write("plan: after"));
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(held("ours"), "plan: after");
}

TEST_F(OutputFiles, AnInputIsNoOutputHoweverItIsSpelt) {
  put("in", "plan: mine");
  fs::create_symlink(at("in"), at("link"));
  for (const std::string& input : {at("in"), at("./in"), at("link"), at("other") + "," + at("in")}) {
    Arguments arguments;
    arguments.words = {input};
    arguments.flags["--output"] = at("in");
    const bool list = input.find(',') != std::string::npos;
    if (list) arguments.words.clear(), arguments.flags["--launch"] = input;
    EXPECT_THAT(refusal(output_place(arguments, "--output", is_plan)), HasSubstr("a file that this command reads"))
        << input;
    arguments.flags["--force"] = "";
    EXPECT_EQ(refusal(output_place(arguments, "--output", is_plan)), "opened");
  }
  EXPECT_EQ(held("in"), "plan: mine");
}

TEST_F(OutputFiles, ForceReplacesWhatIsNotOurs) {
  put("theirs", "somebody's notes");
  OutputPlace forced = place("theirs");
  forced.force = true;
  auto file = OutputFile::open(forced);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->write("plan: mine"));
  EXPECT_EQ(held("theirs"), "plan: mine");
}

TEST_F(OutputFiles, WhatAKilledWriterLeftIsRemovedAndALivingOnesStays) {
  std::string left;
  {
    auto living = PartFile::create(at("x"));
    ASSERT_TRUE(living);
    for (const auto& entry : fs::directory_iterator(folder_)) left = entry.path().string();
    EXPECT_TRUE(is_part(left));
    { const auto second = PartFile::create(at("y")); }
    EXPECT_TRUE(fs::exists(left)) << "its writer lives";
  }
  EXPECT_FALSE(fs::exists(left));
  std::ofstream(left) << "half";  // its writer is gone, and with it the lock
  put(".stepcast-notes.part", "mine");
  { const auto next = PartFile::create(at("z")); }
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(held(".stepcast-notes.part"), "mine");
}

TEST_F(OutputFiles, DevicesAreWrittenDirectly) {
  auto null = OutputFile::open({"/dev/null", "-o", is_plan, {}, false});
  ASSERT_TRUE(null);
  EXPECT_TRUE(null->write("plan:"));
  if (!fs::exists("/dev/full")) return;
  auto full = OutputFile::open({"/dev/full", "-o", is_plan, {}, false});
  ASSERT_TRUE(full);
  EXPECT_THAT(to_text(full->write("plan:").error()), HasSubstr("could not be written"));
  EXPECT_THROW(full->finish("plan:"), Unwritten);  // no fault of the program
}

TEST_F(OutputFiles, TextsAreCleanedAndBinaryFilesAreNot) {
  const std::string hostile = "plan: \x1b[2J\xff\r\n";
  ASSERT_TRUE(OutputFile::open(place("text"))->write(hostile));
  EXPECT_EQ(held("text"), "plan: \\x1b[2J\\xff\r\n");
  OutputPlace binary = place("binary");
  binary.binary = true;
  ASSERT_TRUE(OutputFile::open(binary)->write(hostile));
  EXPECT_EQ(held("binary"), hostile);
}

}  // namespace
}  // namespace stepcast::cli
