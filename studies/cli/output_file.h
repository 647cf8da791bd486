// A file that a command writes: opened before the work, and there afterwards whole or not at all. All files of the
// program are written here.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/flags.h"
#include "studies/cli/part_file.h"

namespace stepcast::cli {

/// A row for every command that writes files.
constexpr Flag force_flag{.name = "--force",
    .key = "",
    .value = "",
    .group = "Output",
    .doc = "write over files that are not the program's own, or that it reads",
    .kind = FlagKind::toggle};

/// Is what stands at the name an earlier file of the form that will be written there?
using IsOwnFile = bool (*)(const std::string& name);

/// Begins as a file of ours does: what IsOwnFile asks of text files. At most the first 4 KiB are looked at.
bool file_holds(const std::string& name, std::string_view text);

/// Where a file goes, and what it must not replace.
struct OutputPlace {
  std::string name, flag;
  IsOwnFile own = nullptr;
  std::vector<std::string> inputs;  ///< names that the command may read from; not all are files
  bool force = false;               ///< replaces whatever is there
  bool binary = false;              ///< written as it is; else as shown_text()
};
/// By the flag's value, or by a name in the folder that is its value.
OutputPlace output_place(const Arguments& arguments, std::string_view flag, IsOwnFile own);
OutputPlace output_place(const Arguments& arguments, std::string name, std::string_view flag, IsOwnFile own);

class OutputFile {
 public:
  /// What stands at the name stays until write() has succeeded. Terminals, /dev/null and pipes with a reader are
  /// written directly; a link is followed to its file. Errors: a folder, a pipe that nobody reads, a disk, a link to
  /// nothing, a file that is no empty one and none of ours, a file that the command reads.
  static Expected<OutputFile> open(const OutputPlace& place);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Expected<void> write(const std::string& text);
  /// write() in two steps, for several files that stand or fall together: all are filled before the first takes its
  /// place.
  Expected<void> fill(const std::string& text);
  Expected<void> put_in_place();
  /// write() at the end of a command: what cannot be written then is a run that failed (exit code 1), an exception.
  void finish(const std::string& text);

 private:
  explicit OutputFile(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] tl::unexpected<Error> failed() const;
  std::string name_;
  std::optional<PartFile> part_;
  bool binary_ = false;
  int device_ = -1;  ///< where there is no part
};

/// Two outputs in one file would leave neither whole: refuses flags that were given the same name.
Expected<void> check_apart(const Arguments& arguments, std::initializer_list<const char*> flags);

}  // namespace stepcast::cli
