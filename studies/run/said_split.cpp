#include "studies/run/said_split.h"

#include <fmt/format.h>

#include "sim/schedule/schedule_table.h"
#include "studies/run/split/split_plan.h"

namespace stepcast::run {
namespace {

class SplitTeller {
 public:
  SplitTeller(const Request& request, const SplitWishes& wishes, const Split& split, const NetworkSpec& network,
      const Stack& stack)
      : request_(request), wishes_(wishes), split_(split), network_(network), stack_(stack) {}

  SaidSplit tell() {
    if (split_.experts) tell_experts();
    assume_unsaid(FieldId::zero, std::to_string(wishes_.zero), "default");
    tell_sequence_split();
    assume_unsaid(FieldId::schedule, split_.schedule, "default");
    if (split_.chunks > wishes_.chunks)
      remark(fmt::format("{} runs {} chunks per stage", split_.schedule, split_.chunks));
    if (const auto kind = find_schedule(split_.schedule); kind && (*kind)->takes_slices)
      assume_unsaid(FieldId::seq_splits, "1", "default");
    assume_unsaid(FieldId::recompute, "none", "default");
    if (split_.cp > 1) assume_unsaid(FieldId::cp_kind, "ring", "default");
    if (split_.tp > 1 && !split_.vocabulary)
      remark(fmt::format("vocabulary {} does not divide by tp {}: embedding and LM head are whole on every rank",
          network_.vocab, split_.tp));
    if (split_.recompute.kind == Recompute::Kind::selective && stack_.attention == AttentionForm::fused)
      remark("selective recompute saves little here: the fused attention kernel keeps no scores");
    return std::move(said_);
  }

 private:
  void tell_experts() {
    assume_unsaid(FieldId::ep, "1", "default");
    assume_unsaid(FieldId::etp, "1", "default");
    remark(fmt::format("rows per expert: fullest rank {:.2f} x the mean{}", network_.experts.imbalance,
        network_.experts.imbalance == 1 ? " (balanced, assumed)" : ""));
  }

  void tell_sequence_split() {
    const bool divides = sequence_divides(wishes_) || request_.says(FieldId::sequence);
    const std::string why =
        divides ? "default"
                : fmt::format("sequence {} does not divide by tp {}",
                      wishes_.sequence % (wishes_.cp * wishes_.tp) == 0 ? wishes_.encoder_sequence : wishes_.sequence,
                      wishes_.tp);
    assume_unsaid(FieldId::sp, wishes_.tp > 1 && divides ? "on" : "off", why);
  }

  void assume_unsaid(FieldId id, std::string value, std::string why) {
    if (!request_.says(id)) said_.assumptions.push_back({flag_of(id), std::move(value), std::move(why)});
  }
  void remark(std::string text) { said_.remarks.push_back({std::move(text)}); }

  const Request& request_;
  const SplitWishes& wishes_;
  const Split& split_;
  const NetworkSpec& network_;
  const Stack& stack_;
  SaidSplit said_;
};

}  // namespace

SaidSplit said_of_split(const Request& request, const SplitWishes& wishes, const Split& split,
    const NetworkSpec& network, const Stack& stack) {
  return SplitTeller(request, wishes, split, network, stack).tell();
}

std::vector<Remark> idle_in_split(const Request& request, const Split& split, const NetworkSpec& network) {
  std::vector<Remark> remarks;
  for (const RunField& field : run_fields()) {
    const Request::Value* value = field.applies == nullptr ? nullptr : request.find(field.id);
    if (value == nullptr || value->text == field.plain) continue;
    if (field.applies(split, request.wishes(), network)) continue;
    const bool typed = value->where == field.flag;
    remarks.push_back({fmt::format("{}: {}", typed ? field.flag : field.flag.substr(2), field.why_not), typed});
  }
  return remarks;
}

}  // namespace stepcast::run
