// A file that a command writes: opened before the work, and there afterwards whole or not at all.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>

#include "model/base/error.h"
#include "studies/cli/arguments.h"

namespace stepcast::cli {

class OutputFile {
 public:
  /// Opens NAME.part beside NAME; what stands at NAME stays until write() has succeeded. Pipes and devices are written
  /// directly.
  static Expected<OutputFile> open(const std::string& name, const std::string& flag);
  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  ///< removes the part if it was not finished

  Expected<void> write(const std::string& text);
  /// write() in two steps, for several files that stand or fall together: all are filled before the first takes its
  /// place.
  Expected<void> fill(const std::string& text);
  Expected<void> put_in_place();
  /// write() at the end of a command: what cannot be written then is a run that failed (exit code 1), an exception.
  void finish(const std::string& text);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  OutputFile() = default;
  [[nodiscard]] tl::unexpected<Error> failed() const;
  std::string name_, part_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Two outputs in one file would leave neither whole: refuses flags that were given the same name.
Expected<void> check_apart(const Arguments& arguments, std::initializer_list<const char*> flags);

}  // namespace stepcast::cli
