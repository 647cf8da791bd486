// Snapshots of a sweep on disk: the last whole one survives kills, full disks and mistakes.
#include "studies/sweep/result/result_file.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "tests/studies/run_program.h"
#include "tests/studies/sweep/synthetic_results.h"

namespace stepcast::sweep {
namespace {

using testing::HasSubstr;
namespace synthetic = testing_sweep;

class SweepResultFile : public testing::Test {
 protected:
  SweepResultFile() : folder_(testing_program::own_path("files/")), name_(folder_ + "r.jsonl") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~SweepResultFile() override { std::filesystem::remove_all(folder_); }

  static std::string text_of(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(name_, std::ios::binary) << text; }
  [[nodiscard]] Expected<ResultFile> opened(bool resume = false, Shard shard = {}) const {
    return ResultFile::open(name_, "--output", {resume, false}, question_, shard);
  }
  /// "where: what (hint)"; what stood there must still stand.
  [[nodiscard]] std::string refusal(bool resume = false, Shard shard = {}) const {
    const std::string before = text_of(name_);
    const auto file = opened(resume, shard);
    EXPECT_EQ(text_of(name_), before);
    return file ? "opened" : to_text(file.error());
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::string folder_, name_;
  SweepQuestion question_ = synthetic::question(100);
};

TEST_F(SweepResultFile, SavesAndGoesOn) {
  {
    auto file = opened();
    ASSERT_TRUE(file.has_value()) << to_text(file.error());
    EXPECT_FALSE(file->earlier().has_value());
    for (const std::uint64_t left : {400, 300, 123})
      ASSERT_TRUE(file->save(synthetic::result(question_, {}, left)).has_value());
  }
  EXPECT_EQ(files(), 1U);
  auto file = opened(true);
  ASSERT_TRUE(file.has_value()) << to_text(file.error());
  ASSERT_TRUE(file->earlier().has_value());
  EXPECT_EQ(write_result(*file->earlier()), write_result(synthetic::result(question_, {}, 123)));
  SweepResult all = *file->earlier();
  for (const IndexRange& range : missing(all.done, {0, question_.size()}))
    for (std::uint64_t i = range.begin; i < range.end; ++i) synthetic::look(all, i);
  ASSERT_TRUE(file->save(all).has_value());
  EXPECT_EQ(text_of(name_), write_result(synthetic::result(question_)));
}

TEST_F(SweepResultFile, ResumeBeginsWhereThereIsNothing) {
  EXPECT_FALSE(opened(true).value().earlier().has_value());
  write("");
  EXPECT_FALSE(opened(true).value().earlier().has_value());
}

TEST_F(SweepResultFile, AClaimWithoutWorkIsTakenBack) {
  {
    auto file = opened();
    ASSERT_TRUE(file.has_value());
    for (const bool resume : {false, true})
      EXPECT_EQ(refusal(resume),
          "--output: another process works on " + name_ + " (wait for it, or a file of its own for each shard)");
    const ResultFile moved = std::move(*file);
    EXPECT_EQ(files(), 2U) << "the claim and its lock";
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(SweepResultFile, EarlierResultsSurvive) {
  write(write_result(synthetic::result(question_, {}, 100)));
  EXPECT_EQ(refusal(),
      "--output: " + name_ +
          " holds an unfinished result of this sweep: 500 of 600 configurations are done "
          "(--resume goes on from it, unless it is still at work; or name another file, so that it survives)");
  question_.machine = "dgx-a100";
  EXPECT_THAT(
      refusal(), HasSubstr("unfinished result of another question (machine: 'dgx-h100' and 'dgx-a100'): 500 of 600"));
  EXPECT_THAT(refusal(true), HasSubstr("holds the result of another question: machine: 'dgx-h100' and 'dgx-a100'"));
  EXPECT_THAT(to_text(check_replaceable(name_, "-o").error()), HasSubstr("holds an unfinished result: 500 of 600"));
}

TEST_F(SweepResultFile, FinishedResultsMakeRoomOnlyForASnapshot) {
  const std::string before = write_result(synthetic::result(synthetic::question(3)));
  write(before);
  EXPECT_TRUE(check_replaceable(name_, "-o").has_value());
  {
    auto file = opened();
    ASSERT_TRUE(file.has_value()) << to_text(file.error());
    EXPECT_EQ(text_of(name_), before);
  }
  EXPECT_EQ(text_of(name_), before);
  EXPECT_EQ(files(), 1U);
  ASSERT_TRUE(opened()->save(synthetic::result(question_)).has_value());
  EXPECT_EQ(text_of(name_), write_result(synthetic::result(question_)));
  EXPECT_TRUE(opened(true).value().earlier()->complete());
}

TEST_F(SweepResultFile, ForeignAndDamagedFilesAreLeftAlone) {
  write("my notes\n");
  EXPECT_THAT(refusal(),
      HasSubstr("is there and is no whole result of a sweep: this is no result of a sweep (name another file"));
  EXPECT_THAT(refusal(true), HasSubstr("this is no result of a sweep; nothing was changed in it"));
  const std::string whole = write_result(synthetic::result(question_, {}, 9));
  write(whole.substr(0, whole.size() - 10));
  EXPECT_THAT(refusal(), HasSubstr("no whole result of a sweep: the file is cut short"));
  EXPECT_THAT(refusal(true),
      testing::ContainsRegex("r.jsonl line [0-9]+: the file is cut short in this line; nothing was changed in it "
                             "\\(it cannot be resumed: name another file, or remove it to begin anew\\)"));
}

TEST_F(SweepResultFile, ShardsNeedFilesOfTheirOwn) {
  write(write_result(synthetic::result(question_, {1, 4}, 5)));
  EXPECT_THAT(refusal(true, {2, 4}), HasSubstr("holds shard 1/4, this is 2/4 (a file of its own for each shard)"));
  EXPECT_TRUE(opened(true, {1, 4}).value().earlier().has_value());
}

TEST_F(SweepResultFile, NamesThatCannotBeWritten) {
  const auto said = [&](const std::string& name) {
    const auto file = ResultFile::open(name, "--output", {}, question_, {});
    return file ? "opened" : to_text(file.error());
  };
  EXPECT_THAT(said(folder_), HasSubstr("is a folder (name a file)"));
  EXPECT_THAT(said(folder_ + "no/such/r.jsonl"), HasSubstr("cannot be written: No such file or directory"));
  EXPECT_THAT(said("/dev/null"), HasSubstr("/dev/null is no regular file"));
  EXPECT_EQ(files(), 0U);
}

/// What a child with a limit on the size of files says; the parent's limit stays.
std::string in_child_with_limit(rlim_t bytes, const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{bytes, bytes};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string said = work();
    const auto told = ::write(ends[1], said.data(), said.size());
    _exit(told == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char chunk[256];
  for (ssize_t n = 0; (n = ::read(ends[0], chunk, sizeof chunk)) > 0;) said.append(chunk, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return said;
}

TEST_F(SweepResultFile, ALinkToNothingIsNamed) {
  std::filesystem::create_symlink(folder_ + "gone.jsonl", name_);
  for (const bool resume : {false, true})
    EXPECT_THAT(refusal(resume),
        HasSubstr(name_ + " is a symbolic link to " + folder_ + "gone.jsonl, which is not there (remove the link"));
  EXPECT_TRUE(std::filesystem::is_symlink(name_));
  EXPECT_EQ(files(), 1U);
}

TEST_F(SweepResultFile, AFullDiskLeavesTheSnapshotBefore) {
  const std::string before = write_result(synthetic::result(question_, {}, question_.size() - 1));
  const std::string larger = write_result(synthetic::result(question_));
  ASSERT_LT(before.size(), larger.size());
  write(before);
  const std::string said = in_child_with_limit(before.size(), [&] {
    auto file = opened(true);
    if (!file) return to_text(file.error());
    const auto saved = file->save(synthetic::result(question_));
    return saved ? std::string("saved") : to_text(saved.error());
  });
  EXPECT_EQ(said, name_ + ": could not be written: File too large; it still holds what was saved before "
                          "(make room, then --resume goes on from there)");
  EXPECT_EQ(text_of(name_), before);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SweepResultFile, AKillAtAnyPointLeavesAWholeSnapshot) {
  std::mt19937 random(7);
  std::uint64_t resumed = 0;
  for (int kills = 0; kills < 12; ++kills) {
    const pid_t child = fork();
    if (child == 0) {
      auto file = opened(true);
      if (!file) _exit(2);
      SweepResult result = file->earlier() ? *file->earlier() : synthetic::result(question_, {}, question_.size());
      for (const IndexRange& range : missing(result.done, {0, question_.size()}))
        for (std::uint64_t i = range.begin; i < range.end; ++i) {
          synthetic::look(result, i);
          if (!file->save(result)) _exit(3);
        }
      _exit(0);
    }
    usleep(1000 * (1 + random() % 8));  // any point will do
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    if (!std::filesystem::exists(name_)) continue;
    const auto whole = read_result_file(name_);
    ASSERT_TRUE(whole.has_value()) << to_text(whole.error());
    EXPECT_GE(whole->tally.enumerated, resumed);
    resumed = whole->tally.enumerated;
    EXPECT_EQ(write_result(*whole), write_result(synthetic::result(question_, {}, question_.size() - resumed)));
  }
}

}  // namespace
}  // namespace stepcast::sweep
