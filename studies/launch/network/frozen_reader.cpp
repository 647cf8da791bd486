// Parts of a network with images that a launch does not train.
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/launch/facts/step_words.h"
#include "studies/launch/read/launch_request.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

/// ms-swift's switches (swift/arguments/tuner_args.py, swift/megatron/arguments/megatron_args.py at 3602360a56), the
/// part of ours that each freezes, and whether it does unless told.
struct FreezeSwitch {
  std::string_view name, part;
  bool usual;
};
constexpr FreezeSwitch freeze_switches[] = {
    {"freeze_vit", "encoder", true}, {"freeze_aligner", "projector", true}, {"freeze_llm", "language", false}};

bool is_frozen(const Launch& launch, const FreezeSwitch& row) {
  const GivenArgument* given = launch.find(row.name);
  return given == nullptr || says_none(given->value) ? row.usual : !is_switched_off(given->value);
}

}  // namespace

Expected<void> read_frozen(const LaunchSubject& subject) {
  const NetworkSpec& network = subject.out.network;
  const bool swift = subject.framework.id == "ms-swift" || subject.framework.id == "megatron-swift";
  if (!swift || network.encoders.empty() || network.encoders.front().projectors.empty()) return {};
  const FreezeSwitch& language = freeze_switches[2];
  const bool sees = subject.hints.told.contains(FieldId::images);
  if (!sees && is_frozen(subject.launch, language))
    return fail(place_of(subject.launch, *subject.launch.find(language.name)),
        "with text alone nothing is trained where the language model is frozen", "--images 1, or as many as it sees");
  if (!sees || subject.hints.told.contains(FieldId::freeze)) return {};
  std::vector<std::string_view> parts;
  for (const FreezeSwitch& row : freeze_switches)
    if (is_frozen(subject.launch, row)) parts.push_back(row.part);
  if (parts.empty()) return {};
  subject.out.frozen = fmt::format("{}", fmt::join(parts, ","));
  subject.note(fmt::format("frozen: {}, by freeze_vit, freeze_aligner and freeze_llm of {}, of which the first two are "
                           "on unless told",
      subject.out.frozen, subject.framework.name));
  return {};
}

}  // namespace stepcast::launch
