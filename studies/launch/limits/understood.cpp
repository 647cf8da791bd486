#include "studies/launch/limits/understood.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {
namespace {

/// Parts of a program's name that tell what else it does: Megatron-LM's pretrain_bert.py, pretrain_t5.py,
/// pretrain_vision_dino.py, generate_samples_gpt.py, run_text_generation_server.py, tools/checkpoint/convert.py and
/// their kin.
struct ProgramWord {
  std::string_view part;
  bool trains;
};
constexpr ProgramWord program_words[] = {{"bert", true}, {"_t5", true}, {"vision", true}, {"biencoder", true},
    {"_ict", true}, {"realm", true}, {"retro", true}, {"mamba", true}, {"hybrid", true}, {"multimodal", true},
    {"_vlm", true}, {"generate", false}, {"generation", false}, {"inference", false}, {"evaluate", false},
    {"preprocess", false}, {"convert", false}, {"merge_mp", false}, {"checkpoint", false}};

/// Of programs that train no decoder, or do not train; "" of all others.
std::string program_doubt(std::string_view program) {
  const auto row = std::find_if(std::begin(program_words), std::end(program_words),
      [&](const ProgramWord& word) { return program.find(word.part) != program.npos; });
  if (row == std::end(program_words)) return {};
  return fmt::format("{} {}", program, row->trains ? "trains another kind of network" : "does not train");
}

/// Does it ask for what its row calls not forecast?
bool is_refused(const Launch& launch, const ArgumentFact& fact, const GivenArgument& given) {
  const bool off = says_none(given.value) || (is_off(given.value) && given.value != "1");  // 1 is a switch too
  if (fact.refused.empty() || !launch.counts(given) || off) return false;
  const std::string value = lower_case(given.value);
  return value != lower_case(launch.framework->table().default_of(fact, launch.release)) &&
         !contains(fact.plain, value);
}

std::vector<std::string> refused_arguments(const Launch& launch) {
  std::vector<std::string> refused;
  for (const GivenArgument& given : launch.arguments)
    if (const ArgumentFact* fact = launch.framework->table().find(given.name);
        fact != nullptr && is_refused(launch, *fact, given))
      refused.push_back(fmt::format("{} {:.40} ({})", place_of(launch, given), given.value, fact->refused));
  return refused;
}

}  // namespace

std::vector<std::string> unknown_arguments(const Launch& launch) {
  std::vector<std::string> unknown;
  for (const GivenArgument& given : launch.arguments)
    if (launch.framework->table().find(given.name) == nullptr)
      unknown.push_back(fmt::format("{} ({})", place_of(launch, given), unknown_argument(launch, given)));
  return unknown;
}

Expected<std::vector<std::string>> understood(const Launch& launch, bool lenient) {
  std::vector<std::string> warnings, doubts;
  for (const std::string& file : launch.unread)
    warnings.push_back(
        fmt::format("{:.80} is named in {} and not there: what it says is not known", file, launch.where));
  if (const auto refused = refused_arguments(launch); !refused.empty())
    return fail(launch.where, fmt::format("what is trained is not forecast: {}", fmt::join(refused, "; ")),
        "without such arguments it is the forecast of another run");
  if (std::string doubt = program_doubt(launch.program); !doubt.empty()) doubts.push_back(std::move(doubt));
  if (const auto unknown = unknown_arguments(launch); !unknown.empty())
    doubts.push_back(fmt::format("{} argument{} may change the run and {} not known: {}", unknown.size(),
        unknown.size() == 1 ? "" : "s", unknown.size() == 1 ? "is" : "are", fmt::join(unknown, "; ")));
  if (!doubts.empty() && !lenient)
    return fail(launch.where, fmt::format("{}", fmt::join(doubts, "; ")),
        "a copy of the launch with the right names, or --lenient for a forecast without what is not known");
  warnings.insert(warnings.begin(), doubts.begin(), doubts.end());
  return warnings;
}

}  // namespace stepcast::launch
