// "auto" in DeepSpeed's files: whoever starts the training fills it in (Hugging Face's Trainer, accelerate).
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "studies/launch/read/launch_request.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

/// What may be left open, what tells it in its place, and the flag that does.
struct OpenQuestion {
  std::vector<Asked> asked, answers;
  FieldId field;
  const char* how;
};

std::vector<OpenQuestion> open_questions() {
  return {{{Asked::bf16, Asked::fp16, Asked::precision}, {Asked::precision, Asked::plain_precision, Asked::bf16},
              FieldId::precision, "--precision bf16 (the Trainer's --bf16)"},
      {{Asked::micro_batch}, {Asked::micro_batch}, FieldId::micro_batch,
          "--micro-batch N (its --per_device_train_batch_size)"},
      {{Asked::global_batch, Asked::accumulation}, {Asked::global_batch, Asked::accumulation}, FieldId::global_batch,
          "--global-batch N (its --gradient_accumulation_steps)"}};
}

std::vector<const GivenArgument*> left_to_others(const Launch& launch, const std::vector<Asked>& asked) {
  std::vector<const GivenArgument*> open;
  for (const GivenArgument& given : launch.arguments) {
    const ArgumentFact* fact = launch.framework->table().find(given.name);
    const bool asks =
        fact != nullptr && fact->asks && std::find(asked.begin(), asked.end(), *fact->asks) != asked.end();
    if (asks && launch.counts(given) && lower_case(given.value) == "auto") open.push_back(&given);
  }
  return open;
}

}  // namespace

Expected<void> check_left_open(const Launch& launch, const LaunchHints& hints, LaunchAnswers& answers) {
  std::vector<std::string> open, how;
  for (const OpenQuestion& question : open_questions()) {
    const auto left = left_to_others(launch, question.asked);
    const bool told = hints.told.count(question.field) > 0 ||
                      (question.field == FieldId::precision && answers.flag(Asked::fp16, false)) ||
                      (question.field == FieldId::micro_batch && hints.micro_batch > 0);
    if (left.empty() || told) continue;
    if (std::any_of(question.answers.begin(), question.answers.end(),
            [&](Asked asked) { return answers.answering(asked) != nullptr; }))
      continue;
    for (const GivenArgument* given : left) open.push_back(given->name);
    how.emplace_back(question.how);
  }
  if (open.empty()) return {};
  return fail(launch.where, fmt::format("\"auto\" is left to whoever starts the training: {}", fmt::join(open, ", ")),
      fmt::format("{}", fmt::join(how, ", ")));
}

}  // namespace stepcast::launch
