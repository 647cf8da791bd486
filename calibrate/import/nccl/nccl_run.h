// One run of nccl-tests (github.com/NVIDIA/nccl-tests), from its text or its JSON, and what follows from its rows:
// which collective it was, over how many ranks on how many nodes. The outputs before 2.16.9 say none of it; the rows
// do, because they print the bandwidth twice, once times a factor of the ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/importer.h"
#include "calibrate/rows/measurement.h"
#include "model/base/error.h"

namespace stepcast::calibrate::nccl {

/// A printed number and how far the true one may lie from it.
struct Printed {
  double value = 0, half_unit = 0;
};

/// Out of place or in place.
struct Half {
  Printed time_us, algbw, busbw;     ///< bandwidths in 1e9 bytes per second
  std::optional<double> wrong;       ///< wrong elements, or the largest deviation in old outputs; none = not checked
  double least_us = 0, most_us = 0;  ///< of single iterations, where they were timed
};

struct Row {
  std::string where;           ///< "log.txt:17"
  double size = 0, count = 0;  ///< bytes of the whole buffer; elements, per rank where each holds a part
  std::string type, redop;     ///< redop: "" where the output has no such column
  std::optional<int> root;
  std::optional<Half> out_of_place, in_place;
};

struct Device {
  int rank = 0, device = 0;
  std::string host, name;
};

struct Run {
  std::string program;        ///< "all_reduce_perf"; "" in outputs before 2.16.9
  int threads = 0, gpus = 0;  ///< nThread and nGpus of one process; 0 = not said
  int iterations = 0;
  bool graph = false;
  double least_bytes = 0, most_bytes = 0;  ///< of the sweep that was asked for
  std::vector<Device> devices;             ///< as many as are listed
  std::int64_t out_of_bounds = 0;
  std::vector<std::string> forced;  ///< "NCCL_ALGO=Ring"
  MeasurementContext context;       ///< software, nccl, cuda, date
  std::vector<Row> rows;
};

/// Bytes of one element; 0 for a word that is no type of nccl-tests or rccl-tests.
double element_bytes(std::string_view type);

/// Checks the run against itself and adds its rows and notes. `where` names the file: its name may say the collective
/// ("all_reduce") and the layout ("2x8").
Expected<void> add_run(Measurements& into, const Run& run, const std::string& where, const ImportOptions& options);

/// The collective that a program, file or user names; none where the name has no such word. Collectives that no query
/// asks for (gather, scatter, alltoallv, hypercube) are an error.
Expected<std::optional<CollectiveKind>> kind_in_name(std::string_view name, const std::string& where);
/// The least and greatest busbw/algbw that the rows allow; fails at the first row that contradicts itself or the
/// others.
struct RatioRange {
  double low = 0, high = 2;
};
Expected<RatioRange> check_rows(const Run& run);
/// size / (count x bytes of the type), the same in every row: 1, or the ranks where each holds a part.
Expected<std::int64_t> parts_of(const Run& run);

/// What the rows are compatible with. `greatest` 0: without an upper end.
struct KindRanks {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t least = 2, greatest = 0;
};
std::vector<KindRanks> possible_kinds(const Run& run, RatioRange ratio, std::int64_t parts);
Expected<KindRanks> choose_kind(const Run& run, const std::vector<KindRanks>& possible, const std::string& where,
    const ImportOptions& options, std::vector<std::string>& notes);

struct RanksNodes {
  std::int64_t ranks = 2, nodes = 1;
};
Expected<RanksNodes> place_ranks(const Run& run, const KindRanks& kind, const std::string& where,
    const ImportOptions& options, std::vector<std::string>& notes);

/// "2x8" in a file name: nodes and GPUs of each; nodes 0 for "Nx8".
struct NamedLayout {
  std::int64_t nodes = 0, gpus = 0;
  std::string_view before;  ///< of the name: "H100-SXM" of "H100-SXM-2x8-all_reduce.txt"
};
std::optional<NamedLayout> layout_in_name(std::string_view name);

}  // namespace stepcast::calibrate::nccl
