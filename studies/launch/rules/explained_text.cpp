// The page of stepcast explain --megatron: what shapes the step, what touches it, what does not, and what does not go
// together.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "model/base/utf8.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/rules/explain.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::launch {
namespace {

struct LaunchPage {
  const ExplainedLaunch& explained;
  Paint paint;

  [[nodiscard]] std::string heading(std::string_view text, std::string_view beside) const {
    return fmt::format("\n{}{}{}\n", paint.bold(text), beside.empty() ? "" : "  ", paint.dim(beside));
  }
};

constexpr std::string_view body_indent = "      ";

std::string releases_text(const ExplainedLaunch& explained) {
  const auto releases = explained.launch->framework->table().releases();
  if (releases.empty()) return {};
  if (explained.first_release.empty()) return "no release knows all of its arguments";
  const auto unknown = std::count_if(explained.arguments.begin(), explained.arguments.end(),
      [](const ExplainedArgument& argument) { return argument.fact == nullptr; });
  const std::string all =
      unknown == 0 ? "all of its arguments" : fmt::format("all of its arguments but {}, which nobody knows", unknown);
  if (explained.first_release == explained.last_release)
    return fmt::format("release {} alone knows {}", explained.first_release, all);
  if (explained.last_release != releases.back().id)
    return fmt::format("releases {} to {} know {}", explained.first_release, explained.last_release, all);
  if (explained.first_release == releases.front().id) return fmt::format("every release knows {}", all);
  return fmt::format("releases from {} on know {}", explained.first_release, all);
}

std::string launch_ranks(const Launch& launch) {
  if (launch.gpus == 0) return "GPUs not said";
  return launch.gpus_per_node == 0 ? fmt::format("{} GPUs", launch.gpus)
                                   : fmt::format("{} GPUs, {} per node", launch.gpus, launch.gpus_per_node);
}

std::string launch_head(const LaunchPage& page) {
  const ExplainedLaunch& explained = page.explained;
  const Launch& launch = *explained.launch;
  std::vector<std::string> parts;
  if (!launch.release.empty()) parts.push_back(fmt::format("read as release {}", launch.release));
  if (const std::string known = releases_text(explained); !known.empty()) parts.push_back(known);
  parts.push_back(explained.scenario ? fmt::format("{} GPUs", explained.scenario->plan.gpus) : launch_ranks(launch));
  return page.paint.bold(fmt::format("{} launch in {}", launch.framework->name, launch.where)) + "\n" +
         wrapped(parts, "; ", "", page_columns);
}

std::string refusal_text(const LaunchPage& page) {
  if (!page.explained.refusal) return {};
  const char* kind = page.explained.prediction ? "predict refuses it: " : "no forecast: ";
  return paragraph(to_text(*page.explained.refusal), page.paint.bad(kind), "  ", page_columns - 13);
}

std::string forecast_text(const LaunchPage& page) {
  const ExplainedLaunch& explained = page.explained;
  if (!explained.scenario || !explained.prediction) return {};
  const Scenario& scenario = *explained.scenario;
  const StepReport& step = explained.prediction->step;
  const std::string fits = step.memory.fits ? "" : page.paint.bad(", does NOT fit");
  return wrapped({fmt::format("{} on {}", scenario.network.row.name, scenario.machine.row.name), in_words(scenario),
                     fmt::format("{} micro-batches of {} x {}", scenario.micro_batches, scenario.plan.micro_batch,
                         scenario.plan.sequence),
                     to_text(scenario.plan.precision)},
             "; ", "", page_columns) +
         paragraph(fmt::format("forecast: {} a step ({} to {}), MFU {}, {} of {} on the fullest rank{}",
                       page.paint.bold(format_seconds(step.step_time)), format_seconds(step.p10),
                       format_seconds(step.p90), format_percent(explained.prediction->mfu),
                       format_bytes(step.memory.peak), format_bytes(step.memory.capacity), fits),
             "", "  ", page_columns);
}

/// Values as long as paths are cut in the middle.
std::string typed_text(const GivenArgument& given, std::size_t most) {
  const std::string name = spelled_argument(given);
  const bool flag = given.value.empty() || given.value == "true";
  std::string value = flag ? "" : given.value;
  std::replace_if(
      value.begin(), value.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  const std::size_t room = most > name.size() + 13 ? most - name.size() - 1 : 12;
  if (value.size() > room)
    value = fmt::format("{}...{}", utf8_head(value, room / 2 - 2), utf8_tail(value, room / 2 - 1));
  return flag ? name : name + " " + value;
}

/// Rounding of sums in other orders is no change.
template <typename Q> bool same_figure(Q one, Q other) {
  return std::abs((one - other).value()) <= 1e-9 * std::max(std::abs(one.value()), std::abs(other.value()));
}

template <typename Q, typename Format> std::string change_text(const char* what, Q with, Q without, Format format) {
  if (same_figure(with, without)) return {};
  const bool more = with > without;
  return fmt::format("{} {}{}", what, more ? "+" : "-", format(more ? with - without : without - with));
}

std::string effect_text(const ArgumentEffect& effect) {
  std::vector<std::string> parts;
  for (std::string part : {change_text("step", effect.with_time, effect.without_time, format_seconds),
           change_text("memory", effect.with_memory, effect.without_memory, format_bytes),
           change_text("received", effect.with_moved, effect.without_moved, format_bytes_decimal)})
    if (!part.empty()) parts.push_back(std::move(part));
  return parts.empty() ? "changes nothing here" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string step_argument(const LaunchPage& page, const ExplainedArgument& argument) {
  std::string text = fmt::format("  {}\n", page.paint.bold(typed_text(argument.given, page_columns - 4)));
  const auto add = [&](const std::string& label, const std::string& body) {
    if (body.empty()) return;
    text +=
        paragraph(label.empty() ? body : page.paint.dim(label) + " " + body, body_indent, body_indent, page_columns);
  };
  add("", argument.meaning);
  for (const std::string& line : argument.mapping)
    text += std::string(body_indent) + (line.starts_with('+') ? page.paint.good(line) : page.paint.warm(line)) + "\n";
  if (argument.effect && argument.effect->why_not.empty()) add("with it:", effect_text(*argument.effect));
  if (argument.effect) add("without it there is no run:", argument.effect->why_not);
  for (const std::string& said : argument.said) add("note:", said);
  if (argument.fact != nullptr) add("pitfall:", argument.fact->trap);
  return text;
}

std::string step_arguments(const LaunchPage& page) {
  std::string text;
  for (const ExplainedArgument& argument : page.explained.arguments)
    if (argument.reach == Reach::step) text += step_argument(page, argument);
  if (text.empty()) return {};
  return page.heading("What shapes the step", "each against the run without it: step, fullest rank, bytes per rank") +
         text;
}

/// One line each where it fits; of no reach: those that no table knows.
std::string listed_arguments(
    const LaunchPage& page, std::optional<Reach> reach, const char* title, const char* beside) {
  constexpr std::size_t name_columns = 38;
  std::string text;
  for (const ExplainedArgument& argument : page.explained.arguments) {
    if ((argument.fact == nullptr) == reach.has_value() || (reach && argument.reach != *reach)) continue;
    std::vector<std::string> parts;
    if (!argument.meaning.empty()) parts.push_back(argument.meaning);
    for (const std::string& said : argument.said) parts.push_back(fmt::format("({})", said));
    if (reach && *reach == Reach::uncovered && argument.fact != nullptr && !argument.fact->trap.empty())
      parts.push_back("Pitfall: " + argument.fact->trap);
    const std::string first = fmt::format("  {:<{}}  ", typed_text(argument.given, name_columns), name_columns);
    const std::string indent(name_columns + 4, ' ');
    const std::string body = parts.empty() ? "not known" : fmt::format("{}", fmt::join(parts, " "));
    const bool beside_it = first.size() <= indent.size();
    if (!beside_it) text += first.substr(0, first.size() - 2) + "\n";
    text += paragraph(body, beside_it ? first : indent, indent, page_columns);
  }
  return text.empty() ? text : page.heading(title, beside) + text;
}

std::string interactions_text(const LaunchPage& page) {
  std::string text;
  for (const bool wrong : {true, false})
    for (const Interaction& interaction : page.explained.interactions) {
      if (interaction.wrong != wrong) continue;
      const std::string first = wrong ? "  " + page.paint.bad("wrong: ") : "  " + page.paint.warm("mind:  ");
      text += paragraph(interaction.text, first, "         ", page_columns - 2);
    }
  return text.empty() ? text : page.heading("What does not go together", "and what is likely a mistake") + text;
}

std::string launch_notes(const LaunchPage& page) {
  std::string text;
  for (const std::string& note : page.explained.notes) text += paragraph(note, "  ", "    ", page_columns);
  return text.empty() ? text : page.heading("Notes", "what was assumed or left out in reading") + text;
}

}  // namespace

std::string explained_text(const ExplainedLaunch& explained, const Console& console) {
  const LaunchPage page{explained, Paint(console)};
  return launch_head(page) + refusal_text(page) + forecast_text(page) + interactions_text(page) + step_arguments(page) +
         listed_arguments(page, std::nullopt, "Not known",
             "a slip of the pen, of another program, or somebody's own: not part of the forecast") +
         listed_arguments(page, Reach::uncovered, "What touches the step and is not forecast", "") +
         listed_arguments(
             page, Reach::beside, "Beside the step", "checkpoints, evaluation, profiling: not part of the forecast") +
         listed_arguments(page, Reach::nothing, "Without effect on the step", "") + launch_notes(page);
}

}  // namespace stepcast::launch
