// What must hold for any file that somebody imports: every format answers, an error has words, and what is accepted are
// sound measurements that their own file keeps. The fuzz target and the replay of its corpus both ask this.
#pragma once

#include <cmath>
#include <string>

#include "calibrate/import/importer.h"
#include "calibrate/rows/measurement_file.h"

namespace stepcast::calibrate {

/// "" or what is wrong.
inline std::string complaint_about_measurements(const Measurements& all) {
  for (const Measurement& row : all.rows) {
    if (!(row.time.value() > 0) || !std::isfinite(row.time.value())) return "a time that is none";
    if (row.context < 0 || row.context >= static_cast<int>(all.contexts.size())) return "a row without a context";
    const auto* collective = std::get_if<CollectiveQuery>(&row.what);
    if (collective && (collective->nodes < 1 || collective->ranks < collective->nodes)) return "more nodes than ranks";
  }
  const std::string written = write_measurements(all);
  const auto again = read_measurements(written, "w");
  if (!again) return "written measurements do not read: " + to_text(again.error()) + "\n" + written;
  if (again->rows.size() != all.rows.size()) return "rows were lost";
  if (write_measurements(*again) != written) return "reading and writing again gives another text:\n" + written;
  return {};
}

inline std::string complaint_about_answer(const Expected<Measurements>& read) {
  if (!read) return read.error().what.empty() || read.error().where.empty() ? "an error without words" : "";
  const std::string found = complaint_about_measurements(*read);
  return found.empty() ? complaint_about_measurements(condensed(*read)) : found;
}

inline std::string complaint_about_import(const std::string& text) {
  const ImportOptions options;
  for (const ImportFormat& format : import_formats())
    if (const std::string found = complaint_about_answer(import_text(text, "2x8", std::string(format.id), options));
        !found.empty())
      return std::string(format.id) + ": " + found;
  return complaint_about_answer(import_text(text, "1x8-all_gather", "", options));
}

}  // namespace stepcast::calibrate
