#include "studies/sweep/write/predict_line.h"

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/json_reader.h"
#include "model/untold_stack.h"
#include "studies/cli/shell_word.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/read/launch_line.h"
#include "studies/run/scenario_file.h"
#include "studies/run/usual_software.h"
#include "studies/sweep/space/space_words.h"

namespace stepcast::sweep {
namespace {

/// Of lines of the notation that the launch has the flag takes the place, so it is always said.
/// So are GPUs and micro-batch where the sweep was told them, as the launch alone may not tell, and a batch that
/// follows from them.
std::optional<Request::Said> typed_launch(const LaunchSource& source, const Arguments& arguments) {
  const auto request = read_launch_request(source, without_axes(arguments));
  if (!request) return std::nullopt;
  Request::Said said = request->said();
  for (const Request::Statement& statement : request->statements) said.erase(field(statement.instead_of).key);
  for (const auto& [flag, id] : {std::pair{"--gpus", FieldId::gpus}, std::pair{"--micro-batch", FieldId::micro_batch},
           // a launch that says the ranks of a group has as many copies as the GPUs make
           std::pair{"--gpus", FieldId::zero}, std::pair{"--gpus", FieldId::replicas}})
    if (arguments.has(flag)) said[field(id).key] = {"", flag};
  const std::string whole = source.file == "--" ? words_alone : source.file;
  if (const auto batch = said.find("global_batch"); batch != said.end() && batch->second.where == whole)
    batch->second.text.clear();
  return said;
}

/// A scenario file or a launch says the nouns and what else stays, so that only what was typed over it is repeated.
std::optional<Request::Said> typed_scenario(const Arguments& arguments) {
  if (const auto source = launch_source(arguments); source && *source) return typed_launch(**source, arguments);
  if (arguments.words.empty() || !names_a_file(arguments.words[0])) return std::nullopt;
  const auto text = read_text_file(arguments.words[0]);
  if (!text || !is_scenario(*text)) return std::nullopt;
  auto request = read_scenario(*text, arguments.words[0]);
  return request ? std::optional(request->said()) : std::nullopt;
}

/// The split itself is always shown.
constexpr AxisId shown_axes[] = {AxisId::gpus, AxisId::tp, AxisId::pp};

template <typename Row>
std::string noun_word(const std::optional<Chosen<Row>>& chosen, const std::string& typed, const char* in_full) {
  if (!typed.empty()) return typed;
  if (!chosen) return "";
  return chosen->id.empty() ? in_full : chosen->id;
}

std::string nouns_of(const Arguments& arguments, const Space& space, const std::string& default_machine) {
  const Request& request = space.request;
  const bool scenario = typed_scenario(arguments).has_value();
  const std::string word = arguments.words.empty() ? "" : arguments.words[0];
  const std::string launch = launch_words(arguments);
  std::string text = "stepcast predict";
  const bool launched = !launch.empty() || !arguments.rest.empty();
  if (!launched || !word.empty()) text += " " + shell_word(noun_word(request.network, word, "NETWORK.json"));
  if (!launch.empty()) text += " " + launch;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", flag, shell_word(value));
  };
  const auto add_noun = [&](const char* flag, const auto& chosen, const char* in_full) {
    const std::string typed = arguments.value(flag);
    if (!scenario || !typed.empty()) add(flag, noun_word(chosen, typed, in_full));
  };
  add("--as", arguments.value("--as"));
  if (!scenario && !request.machine && arguments.value("--machine").empty()) add("--machine", default_machine);
  else add_noun("--machine", request.machine, "MACHINE.json");
  const bool taken = request.stack && !request.stack->id.empty() && is_untold(request.stack->row) &&
                     arguments.value("--stack").empty();
  if (!taken) add_noun("--stack", request.stack, "STACK.json");
  add_noun("--profile", request.profile, "PROFILE.json");
  for (const auto& [key, value] : request.said()) {
    const RunField& said = *find_field(key);
    const bool on_axis = find_axis(key) != nullptr || said.id == FieldId::global_batch || said.id == FieldId::sequence;
    if (!on_axis && (!scenario || value.where.starts_with("--"))) add(said.flag, value.text);
  }
  return text;
}

}  // namespace

PredictLine::PredictLine(const Arguments& arguments, const Space& space, SpacePoints& points)
    : nouns_(nouns_of(arguments, space, points.setting(Digits{}).scenario.machine.id)),
      behind_(launch_words_behind(arguments)), space_(space), points_(points) {
  AxisContext context;
  context.machine = &points.setting(Digits{}).scenario.machine.row;
  precision_ = row_of(AxisId::precision).axis.usual(context).front();
  if (auto scenario = typed_scenario(arguments)) said_ = std::move(*scenario);
  const Scenario& any = points.setting(Digits{}).scenario;
  const bool said = any.stack.id.empty() || !is_untold(any.stack.row) || !arguments.value("--stack").empty();
  for (const bool sharded : {false, true})
    if (!said && named_row_of(any.stack.id) != usual_row(sharded))
      software_[sharded ? 1 : 0] = fmt::format(" --stack {}", shell_word(any.stack.id));
}

std::string PredictLine::usual_value(const AxisRow& axis, const SplitWishes& wishes) const {
  switch (axis.id) {
    case AxisId::precision: return precision_;
    case AxisId::schedule: return wishes.chunks > 1 && wishes.pp > 1 ? "interleaved-1f1b" : "1f1b";
    case AxisId::sp: return wishes.tp > 1 && sequence_divides(wishes) ? "on" : "";
    default: return std::string(axis.plain);
  }
}

void PredictLine::add(std::string& text, std::string_view flag, std::string_view key, const std::string& value,
    const std::string& usual) const {
  const auto said = said_.find(key);
  if (value != (said == said_.end() ? usual : said->second.text))
    text += fmt::format(" {} {}", flag, shell_word(value));
}

std::string PredictLine::of(std::uint64_t index) const {
  const Digits digits = space_.digits(index);
  const SplitWishes wishes = points_.wishes(digits);
  std::string text = nouns_ + software_[wishes.zero == 3 ? 1 : 0], batch = std::to_string(space_.global_batch),
              sequence = std::to_string(space_.sequence);
  add(text, "--global-batch", "global_batch", batch, "");
  const std::size_t before = text.size();
  add(text, "--seq", "sequence", sequence, std::to_string(points_.network().sequence));
  const bool told_sequence = text.size() > before || said_.contains("sequence");
  for (const AxisRow& axis : axis_rows()) {
    if (axis.flag.empty() || (space_.tiers && axis.id == AxisId::order)) continue;
    const std::string& value = space_.value(digits, axis.id);
    const bool shown = contains(shown_axes, axis.id);
    if (value != axis.axis.own_word) add(text, axis.flag, axis.key, value, shown ? "" : usual_value(axis, wishes));
  }
  if (space_.tiers) add(text, "--order", "order", to_text(points_.order(digits)), to_text(usual_order));
  // A sequence that predict is told must divide, unless it is told too that nothing is split along it.
  if (told_sequence && !wishes.sp && wishes.tp > 1 && !sequence_divides(wishes)) text += " --sp off";
  return text + behind_;
}

}  // namespace stepcast::sweep
