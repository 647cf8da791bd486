// The grammar of one cell: <stage><KIND>[<micro-batch>] or (<action>;<action>)OVERLAP_F_B. PyTorch's own reader matches
// a prefix and lets anything follow; here a cell is read to its end.
#include <cctype>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "model/base/text.h"
#include "sim/schedule/files/pytorch_cells.h"

namespace stepcast::sim::pytorch {
namespace {

struct VerbName {
  const char* name;
  Verb verb;
  bool of_micro_batch;
};

constexpr VerbName verb_names[] = {
    {"F", Verb::forward, true},
    {"I", Verb::input_grad, true},
    {"B", Verb::backward, true},
    {"BW", Verb::backward_weight, true},
    {"W", Verb::weight_grad, true},
    {"SEND_F", Verb::send_forward, true},
    {"RECV_F", Verb::receive_forward, true},
    {"SEND_B", Verb::send_backward, true},
    {"RECV_B", Verb::receive_backward, true},
    {"UNSHARD", Verb::unshard, false},
    {"RESHARD", Verb::reshard, false},
    {"REDUCE_GRAD", Verb::reduce_grad, false},
};

// Larger numbers are typing mistakes: no pipeline has a million stages or micro-batches.
constexpr std::size_t most_digits = 6;

constexpr const char* pair_end = ")OVERLAP_F_B";

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && std::isdigit(static_cast<unsigned char>(text[n])) != 0) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

std::string_view take_word(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && (std::isalpha(static_cast<unsigned char>(text[n])) != 0 || text[n] == '_')) ++n;
  const std::string_view word = text.substr(0, n);
  text.remove_prefix(n);
  return word;
}

int number_of(std::string_view digits) {
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// Where and in which cell, for every refusal of this file.
struct Cell {
  std::string where;
  std::string_view text;

  [[nodiscard]] tl::unexpected<Error> refuse(const std::string& what, std::string hint) const {
    return fail(where, fmt::format("cell '{}' {}", text, what), std::move(hint));
  }
};

Expected<VerbName> verb_of(const Cell& cell, std::string_view word) {
  std::vector<std::string> names;
  for (const VerbName& row : verb_names) {
    if (word == row.name) return row;
    names.emplace_back(row.name);
  }
  names.emplace_back("OVERLAP_F_B");
  if (word.empty()) return cell.refuse("is no action", "stage, kind and micro-batch, as in 2F0");
  return cell.refuse(fmt::format("has the unknown kind '{}'", word), name_hint(word, names));
}

Expected<CellStep> single_action(const Cell& cell, std::string_view text, CellStep step) {
  const std::string_view stage = take_digits(text);
  if (stage.empty()) return cell.refuse("does not begin with a stage", "stage, kind and micro-batch, as in 2F0");
  TRY(const auto verb, verb_of(cell, take_word(text)));
  const std::string_view micro_batch = take_digits(text);
  if (stage.size() > most_digits || micro_batch.size() > most_digits)
    return cell.refuse("has a number that is too large", fmt::format("at most {} digits", most_digits));
  if (!text.empty()) return cell.refuse(fmt::format("goes on after the action with '{}'", text), "one action per cell");
  if (micro_batch.empty() && verb.of_micro_batch)
    return cell.refuse(fmt::format("has no micro-batch after {}", verb.name),
        fmt::format("{}{}0, for micro-batch 0", stage, verb.name));
  step.verb = verb.verb;
  step.stage = number_of(stage);
  step.micro_batch = micro_batch.empty() ? -1 : number_of(micro_batch);
  return step;
}

Expected<void> pair_of_actions(const Cell& cell, CellStep step, std::vector<CellStep>& out) {
  const char* const hint = "a forward and a backward, as in (1F4;0B0)OVERLAP_F_B";
  const std::size_t middle = cell.text.find(';');
  if (!cell.text.ends_with(pair_end) || middle == std::string_view::npos) return cell.refuse("is no fused pair", hint);
  const std::size_t end = cell.text.size() - std::string_view(pair_end).size();
  if (middle > end) return cell.refuse("is no fused pair", hint);
  const std::string_view parts[] = {cell.text.substr(1, middle - 1), cell.text.substr(middle + 1, end - middle - 1)};
  for (int i = 0; i < 2; ++i) {
    step.with_next = i == 0;
    TRY(const auto action, single_action(cell, stripped(parts[i]), step));
    if (!computes(action.verb)) return cell.refuse("pairs an action that does not compute", hint);
    out.push_back(action);
  }
  return {};
}

}  // namespace

std::string text_of(const CellStep& step) {
  for (const VerbName& row : verb_names) {
    if (row.verb != step.verb) continue;
    return step.micro_batch < 0 ? fmt::format("{}{}", step.stage, row.name)
                                : fmt::format("{}{}{}", step.stage, row.name, step.micro_batch);
  }
  return "?";
}

Expected<void> read_action(std::string_view text, const std::string& where, CellStep at, std::vector<CellStep>& out) {
  const Cell cell{where, text};
  if (text.starts_with('(')) return pair_of_actions(cell, at, out);
  TRY(const auto action, single_action(cell, text, at));
  out.push_back(action);
  return {};
}

}  // namespace stepcast::sim::pytorch
