// One process at a time: a lock beside a file that several might go on from (a requeued job whose first run still
// lives).
#pragma once

#include <optional>
#include <string>

namespace stepcast::sweep {

/// Held by an open file NAME.lock, so that the system frees it when the process ends, however it ends.
class FileLock {
 public:
  /// Nothing when another process holds it, with errno EWOULDBLOCK; or when the lock file cannot be made.
  static std::optional<FileLock> take(const std::string& name);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();  ///< frees and removes it

 private:
  FileLock(std::string path, int file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  int file_ = -1;
};

}  // namespace stepcast::sweep
