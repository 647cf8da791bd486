#include "calibrate/measure/plan/candidates.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/measure/plan/phases.h"
#include "model/base/quantity_text.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

Expected<std::vector<int>> chosen_phases(const PlanRequest& request) {
  std::vector<int> out;
  std::vector<std::string> names;
  for (const MeasurePhase& phase : measure_phases()) names.emplace_back(phase.id);
  for (const std::string& name : request.only)
    if (phase_index(name) < 0)
      return fail("--only", fmt::format("unknown phase '{:.40}'", name), name_hint(name, names));
  for (int i = 0; i < static_cast<int>(names.size()); ++i)
    if (request.only.empty() ||
        std::find(request.only.begin(), request.only.end(), names[static_cast<std::size_t>(i)]) != request.only.end())
      out.push_back(i);
  return out;
}

/// Which precision the tensor cores would need; none for what runs without them.
const Precision* precision_of(const Query& query) {
  if (const auto* g = std::get_if<GemmQuery>(&query)) return &g->precision;
  if (const auto* a = std::get_if<AttentionQuery>(&query)) return &a->precision;
  return nullptr;
}

class Collector {
 public:
  explicit Collector(const PlanRequest& request, std::vector<int> chosen)
      : request_(request), chosen_(std::move(chosen)), context_(phase_context(request)) {}

  CandidateSet run() {
    note_precisions();
    collect_own();
    for (const int phase : chosen_) collect_phase(phase);
    out_.repeats = is_chosen(phase_index("repeat"));
    return std::move(out_);
  }

 private:
  bool is_chosen(int phase) const { return std::find(chosen_.begin(), chosen_.end(), phase) != chosen_.end(); }

  void note_precisions() {
    std::vector<std::string> lacks;
    for (const Precision p : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp8})
      if (!context_.has(p)) lacks.emplace_back(to_text(p));
    if (!lacks.empty())
      out_.notes.push_back(
          fmt::format("{} has no matrix units for {}: not measured", request_.gpu.id, fmt::join(lacks, ", ")));
    if (context_.precision != Precision::bf16)
      out_.notes.push_back(
          fmt::format("products and attention are measured in {} in place of bf16", to_text(context_.precision)));
  }

  void collect_own() {
    std::vector<std::string> cannot, too_large;
    for (const Query& query : request_.own) {
      const int phase = phase_of(query, context_);
      const Precision* precision = precision_of(query);
      if (phase < 0 || (precision != nullptr && !can_multiply(*precision))) {
        cannot.push_back(work_name(query));
      } else if (!context_.fits(query)) {
        too_large.push_back(work_name(query));
      } else if (is_chosen(phase)) {
        add_own(query, phase);
      }
    }
    note("own shapes that cannot be measured here", cannot);
    note(fmt::format("own shapes beyond the memory of {}", format_bytes(request_.gpu.memory)), too_large);
  }

  bool can_multiply(Precision precision) const {
    return context_.has(precision) && !(precision == Precision::bf16 && request_.capability_major < 8);
  }

  void add_own(const Query& query, int phase) {
    PlannedWork work = sampled_work(query);
    work.own = true;
    if (add(out_.own, work, phase) && request_.cudnn && std::holds_alternative<AttentionQuery>(query)) {
      work.works.front().source = KernelSource::cudnn;
      add(out_.own, work, phase);
    }
  }

  void collect_phase(int phase) {
    const PlannedPhase& row = planned_phases()[static_cast<std::size_t>(phase)];
    if (row.candidates == nullptr) return;
    PhaseList list;
    list.phase = phase;
    std::vector<std::string> too_large;
    std::size_t too_long = 0;
    for (const PlannedWork& work : row.candidates(context_)) {
      if (!fits(work)) {
        too_large.push_back(to_text(work.works.front()));
      } else if (work.mode == WorkMode::sampled && !context_.short_enough(work.works.front().what)) {
        ++too_long;
      } else {
        add(list.works, work, phase);
      }
    }
    note(fmt::format("{}: beyond the memory of {}", row.phase.id, format_bytes(request_.gpu.memory)), too_large);
    if (too_long > 0)
      out_.notes.push_back(fmt::format("{}: {} shapes take over {:.0f} ms here and are left to the laws", row.phase.id,
          too_long, request_.rules.longest_replay.value() * 1e3));
    if (!list.works.empty()) out_.phases.push_back(std::move(list));
  }

  /// All at once: what takes turns, and what runs beside.
  bool fits(const PlannedWork& work) const {
    Bytes sum;
    for (const Work& one : work.works) sum += bytes_taken(one.what) + (one.beside ? bytes_taken(*one.beside) : Bytes());
    return sum <= context_.room;
  }

  /// False where an earlier phase or an own shape has it.
  bool add(std::vector<PlannedWork>& list, PlannedWork work, int phase) {
    const bool sampled = work.mode == WorkMode::sampled;
    if (sampled && !seen_.insert(to_text(work.works.front())).second) return false;
    work.phase = phase;
    work.estimate = expected_campaign_time(request_, work);
    list.push_back(std::move(work));
    return true;
  }

  void note(const std::string& what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    constexpr std::size_t shown = 3;
    out_.notes.push_back(fmt::format("{}, left out: {}", what, some_of(names, shown)));
  }

  const PlanRequest& request_;
  std::vector<int> chosen_;
  PhaseContext context_;
  std::set<std::string> seen_;
  CandidateSet out_;
};

}  // namespace

Expected<CandidateSet> candidates_of(const PlanRequest& request) {
  TRY(auto chosen, chosen_phases(request));
  return Collector(request, std::move(chosen)).run();
}

}  // namespace stepcast::calibrate
