#include "studies/cli/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "model/base/comma_list.h"
#include "studies/cli/shown_text.h"
#include "studies/cli/unwritten.h"

namespace stepcast::cli {
namespace {

namespace fs = std::filesystem;

/// "/dev/stdout" may lead to a regular file, which the shell has opened for us: it is written as a device.
bool is_device(const std::string& name, const fs::file_status& status) {
  return (fs::exists(status) && !fs::is_regular_file(status)) || name.starts_with("/dev/") ||
         name.starts_with("/proc/");
}

tl::unexpected<Error> not_writable(const OutputPlace& place) {
  return fail(place.flag, fmt::format("{} cannot be written: {}", place.name, std::strerror(errno)),
      "name a file in a folder of yours");
}

/// Pipes are opened without waiting: one that nobody reads would wait for ever.
Expected<int> open_device(const OutputPlace& place, const fs::file_status& status) {
  if (fs::is_block_file(status)) return fail(place.flag, fmt::format("{} is a disk", place.name), "name a file");
  const int file = ::open(place.name.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENXIO)
    return fail(place.flag, fmt::format("{} is a pipe that nobody reads", place.name), "name a file");
  if (file < 0) return not_writable(place);
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
  return file;
}

bool is_one_of(const std::string& name, const std::vector<std::string>& inputs) {
  std::error_code unknown;
  return std::any_of(
      inputs.begin(), inputs.end(), [&](const std::string& input) { return fs::equivalent(name, input, unknown); });
}

Expected<void> check_replaceable_file(const OutputPlace& place) {
  std::error_code unknown;
  if (place.force || !fs::is_regular_file(place.name, unknown)) return {};
  if (is_one_of(place.name, place.inputs))
    return fail(place.flag, fmt::format("{} is a file that this command reads", place.name),
        "a name of its own, or --force to write over it");
  if (fs::file_size(place.name, unknown) == 0 || (place.own != nullptr && place.own(place.name))) return {};
  return fail(place.flag, fmt::format("{} is there and is no such file of stepcast", place.name),
      "name another file, remove this one, or --force to write over it");
}

/// A link stays and its file is replaced. What a link to nothing would make is nobody's wish.
Expected<std::string> target_of(const OutputPlace& place) {
  std::error_code problem;
  if (!fs::is_symlink(fs::symlink_status(place.name, problem))) return place.name;
  const fs::path target = fs::canonical(place.name, problem);
  if (!problem) return target.string();
  return fail(place.flag, fmt::format("{} is a symbolic link to nothing", place.name),
      "remove the link, or name the file itself");
}

/// Values of flags that take several files have commas.
void add_names(std::vector<std::string>& names, const std::string& text) {
  names.push_back(text);
  if (text.find(',') == std::string::npos) return;
  for (std::string& name : split_at_commas(text)) names.push_back(std::move(name));
}

}  // namespace

bool file_holds(const std::string& name, std::string_view text) {
  constexpr std::size_t head_size = 4096;
  std::ifstream file(name, std::ios::binary);
  std::string head(head_size, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head_size));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head.find(text) != std::string::npos;
}

OutputPlace output_place(const Arguments& arguments, std::string name, std::string_view flag, IsOwnFile own) {
  OutputPlace place{std::move(name), std::string(flag), own, arguments.words, arguments.has(force_flag.name)};
  for (const std::string& word : arguments.rest) place.inputs.push_back(word);
  for (const auto& [other, value] : arguments.flags)
    if (other != flag) add_names(place.inputs, value);
  return place;
}

OutputPlace output_place(const Arguments& arguments, std::string_view flag, IsOwnFile own) {
  return output_place(arguments, arguments.value(flag), flag, own);
}

Expected<OutputFile> OutputFile::open(const OutputPlace& place) {
  if (place.name.empty()) return fail(place.flag, "an empty name", "name a file");
  std::error_code unknown;
  const auto status = fs::status(place.name, unknown);
  if (fs::is_directory(status)) return fail(place.flag, fmt::format("{} is a folder", place.name), "name a file");
  if (is_device(place.name, status)) {
    OutputFile file(place.name);
    file.binary_ = place.binary;
    TRY(file.device_, open_device(place, status));
    return file;
  }
  TRY(check_replaceable_file(place));
  TRY(const auto target, target_of(place));
  OutputFile file(place.name);
  file.binary_ = place.binary;
  auto part = PartFile::create(target);
  if (!part) return not_writable(place);
  file.part_.emplace(std::move(*part));
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : name_(std::move(other.name_)), part_(std::move(other.part_)), binary_(other.binary_),
      device_(std::exchange(other.device_, -1)) {}

OutputFile::~OutputFile() {
  if (device_ >= 0) close(device_);
}

tl::unexpected<Error> OutputFile::failed() const {
  return fail(name_, fmt::format("could not be written: {}", std::strerror(errno)), "is the disk full?");
}

Expected<void> OutputFile::write(const std::string& text) {
  TRY(fill(text));
  return put_in_place();
}

Expected<void> OutputFile::fill(const std::string& text) {
  const std::string& written = binary_ ? text : shown_text(text);
  if (part_ ? part_->write(written) : write_all(device_, written)) return {};
  return failed();
}

Expected<void> OutputFile::put_in_place() {
  if (part_ && !part_->put_in_place()) return failed();
  part_.reset();
  return {};
}

void OutputFile::finish(const std::string& text) {
  if (const auto written = write(text); !written) throw Unwritten(to_text(written.error()));
}

Expected<void> check_apart(const Arguments& arguments, std::initializer_list<const char*> flags) {
  for (const char* const* one = flags.begin(); one != flags.end(); ++one)
    for (const char* const* other = flags.begin(); other != one; ++other)
      if (arguments.has(*one) && arguments.has(*other) && arguments.value(*one) == arguments.value(*other))
        return fail(*one, std::string("writes the file that ") + *other + " writes", "a name of its own for each");
  return {};
}

}  // namespace stepcast::cli
