#include "studies/cli/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace stepcast::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view part_begin = ".stepcast-", part_end = ".part";
constexpr std::size_t part_digits = 16;

fs::path folder_of(const std::string& name) {
  const fs::path folder = fs::path(name).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

std::string chance_name() {
  std::random_device chance;
  const auto high = static_cast<std::uint64_t>(chance()) << 32;
  return fmt::format("{}{:016x}{}", part_begin, high | chance(), part_end);
}

/// A writer that lives has its part locked.
void remove_if_left(const fs::path& part) {
  const int file = open(part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  struct stat state {};
  if (fstat(file, &state) == 0 && S_ISREG(state.st_mode) && flock(file, LOCK_EX | LOCK_NB) == 0) unlink(part.c_str());
  close(file);
}

void remove_left_parts(const fs::path& folder) {
  std::error_code problem;
  fs::directory_iterator at(folder, problem);
  for (; !problem && at != fs::directory_iterator(); at.increment(problem))
    if (is_part(at->path())) remove_if_left(at->path());
}

/// Locked before anybody can take it for one that was left. File systems without locks keep what is left.
bool is_locked_and_there(int file) {
  if (flock(file, LOCK_EX) != 0) return true;
  struct stat state {};
  return fstat(file, &state) == 0 && state.st_nlink > 0;
}

}  // namespace

bool is_part(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.size() != part_begin.size() + part_digits + part_end.size()) return false;
  const auto middle = name.substr(part_begin.size(), part_digits);
  return name.starts_with(part_begin) && name.ends_with(part_end) &&
         middle.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<PartFile> PartFile::create(const std::string& name) {
  const fs::path folder = folder_of(name);
  remove_left_parts(folder);
  for (int tries = 0; tries < 16; ++tries) {
    const std::string part = (folder / chance_name()).string();
    const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) return std::nullopt;
    if (is_locked_and_there(file)) return PartFile(name, part, file);
    ::close(file);
  }
  return std::nullopt;
}

PartFile::PartFile(PartFile&& other) noexcept
    : name_(std::move(other.name_)), part_(std::exchange(other.part_, "")), file_(std::exchange(other.file_, -1)) {}

PartFile::~PartFile() {
  close();
  if (!part_.empty()) unlink(part_.c_str());
}

bool PartFile::close() { return file_ < 0 || ::close(std::exchange(file_, -1)) == 0; }

bool PartFile::write(std::string_view text) { return write_all(file_, text); }
bool PartFile::flush_to_disk() { return fsync(file_) == 0; }

bool PartFile::put_in_place() {
  if (std::rename(part_.c_str(), name_.c_str()) != 0) return false;
  part_.clear();
  return close();  // network file systems may only now say that there is no room
}

bool PartFile::claim_place() {
  if (link(part_.c_str(), name_.c_str()) == 0) return close();
  return errno != EEXIST && put_in_place();
}

}  // namespace stepcast::cli
