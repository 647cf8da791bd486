// A lock that ends with its holder.

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "studies/sweep/result/file_lock.h"

namespace stepcast::sweep {
namespace {

std::string locked_name() {
  return (std::filesystem::temp_directory_path() / ("stepcast_lock_" + std::to_string(::getpid()))).string();
}

TEST(FileLock, IsHeldByOneAndLeavesNothing) {
  const std::string name = locked_name();
  {
    const auto first = FileLock::take(name);
    ASSERT_TRUE(first);
    EXPECT_FALSE(FileLock::take(name));
    EXPECT_EQ(errno, EWOULDBLOCK);
    EXPECT_TRUE(std::filesystem::exists(name + ".lock"));
  }
  EXPECT_FALSE(std::filesystem::exists(name + ".lock"));
  EXPECT_TRUE(FileLock::take(name));
}

TEST(FileLock, IsFreeWhenItsProcessWasKilled) {
  const std::string name = locked_name() + "_killed";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileLock::take(name);
    const char told = lock ? 'y' : 'n';
    (void)!::write(ready[1], &told, 1);
    ::pause();
  }
  char told = 'n';
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  ASSERT_EQ(told, 'y');
  EXPECT_FALSE(FileLock::take(name));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileLock::take(name));  // the lock file is still there, and locks nothing
}

TEST(FileLock, NeedsAFolderThatCanBeWritten) { EXPECT_FALSE(FileLock::take("/nowhere/at/all")); }

}  // namespace
}  // namespace stepcast::sweep
