#include "studies/sweep/result/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace stepcast::sweep {

std::optional<FileLock> FileLock::take(const std::string& name) {
  const std::string path = name + ".lock";
  for (;;) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return std::nullopt;
    FileLock lock("", file);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    // Who held it before may have removed the name between our open and our lock: then it locks nothing any more.
    struct stat mine {
    }, there{};
    if (::fstat(file, &mine) != 0 || ::stat(path.c_str(), &there) != 0 || mine.st_ino != there.st_ino) continue;
    lock.path_ = path;
    return lock;
  }
}

FileLock::FileLock(FileLock&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {
  other.path_.clear();
}

FileLock::~FileLock() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (file_ >= 0) ::close(file_);
}

}  // namespace stepcast::sweep
