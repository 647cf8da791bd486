// A sweep's result on disk while the sweep runs: always the last whole snapshot, whatever ends the process.
#pragma once

#include <optional>
#include <string>

#include "model/base/error.h"
#include "studies/sweep/result/file_lock.h"
#include "studies/sweep/result/result.h"

namespace stepcast::sweep {

/// Reads a file of at most 1 GiB. Errors name the file, and the line where it is not what stepcast wrote; nothing is
/// changed.
Expected<SweepResult> read_result_file(const std::string& name);

/// May a result be written over what stands at `name`? Yes where there is nothing, an empty file, a device or pipe, or
/// a finished result. Errors: anything else, so that earlier results survive.
/// `force` gives up a file that is no result at all.
Expected<void> check_replaceable(const std::string& name, const std::string& flag, bool force = false);

struct ResultFileChoice {
  bool resume = false, force = false;
};

class ResultFile {
 public:
  /// Shows that the file can be written and, where there is none, claims the name with a snapshot of nothing done: two
  /// shards with one name by mistake are refused before their work. A claim that no save() followed is taken back. With
  /// `resume`, goes on from what is there, or begins where nothing is. `flag` stands for the name in errors. Errors:
  /// what check_replaceable() says; another process that works on it; to resume: another question or shard, a damaged
  /// file.
  static Expected<ResultFile> open(const std::string& name, const std::string& flag, ResultFileChoice choice,
      const SweepQuestion& question, const Shard& shard);
  ResultFile(ResultFile&& other) noexcept;
  ResultFile& operator=(ResultFile&&) = delete;
  ~ResultFile();

  /// What to go on from; none at the beginning.
  [[nodiscard]] const std::optional<SweepResult>& earlier() const { return earlier_; }

  /// Replaces the snapshot: written beside it, forced to the disk, renamed. After an error the snapshot before is still
  /// there.
  Expected<void> save(const SweepResult& result);

 private:
  ResultFile() = default;
  std::string name_;
  std::optional<SweepResult> earlier_;
  bool claimed_ = false;  ///< what stands at the name is our snapshot of nothing
  std::optional<FileLock> lock_;
};

}  // namespace stepcast::sweep
