// Which collective the rows of nccl-tests are: outputs before 2.16.9 do not say. The columns, the size of a rank's part
// and busbw/algbw leave few; a name decides between those.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/nccl/nccl_run.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"

namespace stepcast::calibrate::nccl {
namespace {

enum class Factor { twice_gathered, gathered, one };  // 2(n-1)/n, (n-1)/n, 1: doc/PERFORMANCE.md of nccl-tests
enum class Has { yes, no, either };

struct KindShape {
  CollectiveKind kind;
  Has redop, root;
  bool in_parts;  // count is a rank's part of the buffer
  Factor factor;
  bool in_place_unchecked;  // "N/A" under the in-place #wrong although results were checked
};
/// run_ops, roots and GetBw of src/*.cu. sendrecv lists the operation that it was started with.
constexpr KindShape kind_shapes[] = {
    {CollectiveKind::all_reduce, Has::yes, Has::no, false, Factor::twice_gathered, false},
    {CollectiveKind::reduce_scatter, Has::yes, Has::no, true, Factor::gathered, false},
    {CollectiveKind::all_gather, Has::no, Has::no, true, Factor::gathered, false},
    {CollectiveKind::all_to_all, Has::no, Has::no, true, Factor::gathered, true},
    {CollectiveKind::broadcast, Has::no, Has::yes, false, Factor::one, false},
    {CollectiveKind::reduce, Has::yes, Has::yes, false, Factor::one, false},
    {CollectiveKind::send_recv, Has::either, Has::no, false, Factor::one, true},
};

struct KindWord {
  std::string_view word;
  std::optional<CollectiveKind> kind;
};
/// Longest first where one holds another; without _ and -.
constexpr KindWord kind_words[] = {{"reducescatter", CollectiveKind::reduce_scatter},
    {"allreduce", CollectiveKind::all_reduce}, {"allgather", CollectiveKind::all_gather}, {"alltoallv", std::nullopt},
    {"alltoall", CollectiveKind::all_to_all}, {"sendrecv", CollectiveKind::send_recv},
    {"broadcast", CollectiveKind::broadcast}, {"hypercube", std::nullopt}, {"gather", std::nullopt},
    {"scatter", std::nullopt}, {"reduce", CollectiveKind::reduce}};
constexpr const char* kind_hint = "all_reduce, all_gather, reduce_scatter, all_to_all, send_recv, broadcast or reduce";

bool row_fits(const KindShape& shape, const Row& row) {
  const bool redop = !row.redop.empty() && row.redop != "none";
  const bool root = row.root.value_or(-1) >= 0;
  const auto agrees = [](Has wanted, bool found) { return wanted == Has::either || (wanted == Has::yes) == found; };
  return agrees(shape.redop, redop) && agrees(shape.root, root);
}

/// Whole numbers of ranks whose factor lies in the range.
std::optional<KindRanks> ranks_for(const KindShape& shape, RatioRange ratio, std::int64_t parts) {
  constexpr double most_ranks = 1 << 24;
  if (shape.factor == Factor::one) {
    if (ratio.low > 1 || ratio.high < 1 || parts != 1) return std::nullopt;
    return KindRanks{shape.kind, 2, 0};
  }
  if (shape.in_parts) {
    const double factor = static_cast<double>(parts - 1) / static_cast<double>(parts);
    if (parts < 2 || factor < ratio.low || factor > ratio.high) return std::nullopt;
    return KindRanks{shape.kind, parts, parts};
  }
  if (parts != 1 || ratio.low >= 2) return std::nullopt;
  const double least = std::max(2.0, std::ceil(2 / (2 - std::max(ratio.low, 0.0))));
  const double greatest = ratio.high >= 2 ? 0 : std::floor(2 / (2 - ratio.high));
  if (least > most_ranks || (ratio.high < 2 && greatest < least)) return std::nullopt;
  return KindRanks{
      shape.kind, static_cast<std::int64_t>(least), greatest > most_ranks ? 0 : static_cast<std::int64_t>(greatest)};
}

/// Whether the in-place results went unchecked although the others were; none where nothing was checked.
std::optional<bool> in_place_unchecked(const Run& run) {
  std::optional<bool> unchecked;
  for (const Row& row : run.rows)
    if (row.size > 0 && row.out_of_place && row.in_place && row.out_of_place->wrong) unchecked = !row.in_place->wrong;
  return unchecked;
}

bool is_unchecked_kind(CollectiveKind kind) {
  return std::any_of(std::begin(kind_shapes), std::end(kind_shapes),
      [&](const KindShape& shape) { return shape.kind == kind && shape.in_place_unchecked; });
}

std::string names_of(const std::vector<KindRanks>& kinds) {
  std::vector<std::string> names;
  for (const KindRanks& row : kinds) names.emplace_back(to_text(row.kind));
  return fmt::format("{}", fmt::join(names, " or "));
}

Expected<KindRanks> as_named(
    CollectiveKind kind, const std::vector<KindRanks>& possible, const std::string& where, const std::string& name) {
  for (const KindRanks& row : possible)
    if (row.kind == kind) return row;
  return fail(where, fmt::format("the rows are of {}, not of {}", names_of(possible), to_text(kind)),
      fmt::format("{} names {}: columns, size / count and busbw / algbw do not fit it", name, to_text(kind)));
}

}  // namespace

Expected<std::optional<CollectiveKind>> kind_in_name(std::string_view name, const std::string& where) {
  std::string letters = lower_case(name);
  std::erase_if(letters, [](char c) { return c == '_' || c == '-'; });
  for (const KindWord& row : kind_words) {
    if (letters.find(row.word) == std::string::npos) continue;
    if (!row.kind) return fail(where, fmt::format("a run of {}", row.word), kind_hint);
    return row.kind;
  }
  return std::optional<CollectiveKind>();
}

std::vector<KindRanks> possible_kinds(const Run& run, RatioRange ratio, std::int64_t parts) {
  std::vector<KindRanks> possible;
  for (const KindShape& shape : kind_shapes) {
    const bool fits =
        std::all_of(run.rows.begin(), run.rows.end(), [&](const Row& row) { return row_fits(shape, row); });
    if (!fits) continue;
    if (const auto ranks = ranks_for(shape, ratio, parts)) possible.push_back(*ranks);
  }
  return possible;
}

Expected<KindRanks> choose_kind(const Run& run, const std::vector<KindRanks>& possible, const std::string& where,
    const ImportOptions& options, std::vector<std::string>& notes) {
  if (possible.empty())
    return fail(run.rows.front().where, "busbw / algbw is that of no collective over a whole number of ranks",
        "2(n-1)/n for all_reduce, (n-1)/n where each rank holds a part, 1 for the others");
  const auto program = kind_in_name(run.program, where);
  const auto given = kind_in_name(options.kind, "kind");
  if (!program) return tl::unexpected(program.error());
  if (!given) return tl::unexpected(given.error());
  if (!options.kind.empty() && !*given)
    return fail(
        "kind", fmt::format("'{:.40}' is no collective, and {} is of nccl-tests", options.kind, where), kind_hint);
  if (*program && *given && **program != **given)
    return fail(where, fmt::format("the file is of {}", run.program), fmt::format("it was given as {}", options.kind));
  if (*program) return as_named(**program, possible, where, "the output");
  if (*given) return as_named(**given, possible, where, "the option");
  const auto file = kind_in_name(last_of_path(where), where);
  if (!file && possible.size() > 1) return tl::unexpected(file.error());
  if (file && *file) {
    const bool fits =
        std::any_of(possible.begin(), possible.end(), [&](const KindRanks& row) { return row.kind == **file; });
    if (fits || possible.size() > 1) return as_named(**file, possible, where, "the file name");
    notes.push_back(fmt::format(
        "{}: the file name says {}, the rows are of {}", where, to_text(**file), to_text(possible[0].kind)));
  }
  if (possible.size() == 1) return possible.front();
  std::vector<KindRanks> left = possible;
  if (const auto unchecked = in_place_unchecked(run))
    std::erase_if(left, [&](const KindRanks& row) { return is_unchecked_kind(row.kind) != *unchecked; });
  if (left.size() == 1) return left.front();
  return fail(where, fmt::format("the rows may be of {}", names_of(possible)),
      fmt::format("say which: --kind {}", to_text(possible.front().kind)));
}

}  // namespace stepcast::calibrate::nccl
