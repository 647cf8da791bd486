#include "studies/cli/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

namespace stepcast::cli {

Expected<OutputFile> OutputFile::open(const std::string& name, const std::string& flag) {
  std::error_code unknown;
  const auto status = std::filesystem::status(name, unknown);
  if (std::filesystem::is_directory(status)) return fail(flag, fmt::format("{} is a folder", name), "name a file");
  const bool device = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  OutputFile file;
  file.name_ = name;
  file.part_ = device ? name : name + ".part";
  file.file_.reset(std::fopen(file.part_.c_str(), "wb"));
  if (file.file_ == nullptr)
    return fail(
        flag, fmt::format("{} cannot be written: {}", name, std::strerror(errno)), "name a file in a folder of yours");
  return file;
}

OutputFile::~OutputFile() {
  if (file_ == nullptr || part_ == name_) return;
  file_.reset();
  std::remove(part_.c_str());
}

tl::unexpected<Error> OutputFile::failed() const {
  return fail(name_, fmt::format("could not be written: {}", std::strerror(errno)), "is the disk full?");
}

Expected<void> OutputFile::write(const std::string& text) {
  TRY(fill(text));
  return put_in_place();
}

Expected<void> OutputFile::fill(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) return failed();
  if (std::fflush(file_.get()) != 0) return failed();
  return {};
}

Expected<void> OutputFile::put_in_place() {
  if (part_ != name_ && std::rename(part_.c_str(), name_.c_str()) != 0) return failed();
  file_.reset();
  return {};
}

void OutputFile::finish(const std::string& text) {
  if (const auto written = write(text); !written) throw std::runtime_error(to_text(written.error()));
}

Expected<void> check_apart(const Arguments& arguments, std::initializer_list<const char*> flags) {
  for (const char* const* one = flags.begin(); one != flags.end(); ++one)
    for (const char* const* other = flags.begin(); other != one; ++other)
      if (arguments.has(*one) && arguments.has(*other) && arguments.value(*one) == arguments.value(*other))
        return fail(*one, std::string("writes the file that ") + *other + " writes", "a name of its own for each");
  return {};
}

}  // namespace stepcast::cli
