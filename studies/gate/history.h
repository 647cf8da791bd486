// The history of a gate: every recorded check with its runs and manifests, in an SQLite file that other tools read too.
//
//   checks(id, case_name, at, commit_id, good, unit)       one row for each case and check
//   runs(check_id, number, seconds, file, manifest)        its runs
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"

struct sqlite3;

namespace stepcast::gate {

struct RecordedRun {
  double seconds = 0;
  std::string file, manifest;  ///< manifest: JSON; "" where none lies beside the result
};

struct RecordedCheck {
  std::string case_name, at, commit;  ///< at: "2026-03-01T12:00:00Z"
  bool good = false;                  ///< nothing was slower or undecided
  std::string unit;
  std::vector<RecordedRun> runs;
};

class GateHistory {
 public:
  /// Errors: a file that is no database, or one of another program. Without `create`, a file that is not there is an
  /// empty history.
  static Expected<GateHistory> open(const std::string& path, bool create);
  GateHistory(GateHistory&& other) noexcept;
  GateHistory& operator=(GateHistory&&) = delete;
  ~GateHistory();

  /// Of a case, in the order they were recorded; at most the last `most`.
  [[nodiscard]] Expected<std::vector<RecordedCheck>> checks(const std::string& case_name, std::size_t most) const;
  /// All of these or none. A check that says the same as its case's last one is left out; how many were added.
  Expected<std::size_t> record(const std::vector<RecordedCheck>& checks);

 private:
  GateHistory(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
  [[nodiscard]] tl::unexpected<Error> failed() const;
  Expected<void> add(const RecordedCheck& check);
  std::string path_;
  sqlite3* db_ = nullptr;  ///< null: a file that is not there
};

}  // namespace stepcast::gate
