#include "calibrate/import/scripts/launch_words.h"

#include <algorithm>
#include <cctype>

#include "calibrate/import/scripts/launchers.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

/// Of recipes of torchtune (torchtune/_recipe_registry.py).
constexpr std::string_view recipe_ends[] = {"_distributed", "_single_device"};

}  // namespace

bool is_argument_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

std::string argument_name(std::string_view written) {
  written.remove_prefix(std::min(written.find_first_not_of("-+~"), written.size()));
  std::string name(written);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::int64_t visible_devices(std::string_view names) {
  if (names.find_first_not_of("0123456789, ") != names.npos) return 0;
  std::int64_t devices = 0;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    if (names.substr(0, comma).find_first_not_of(' ') == names.npos) return 0;
    ++devices, names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return devices;
}

std::int64_t launch_count(std::string_view text) {
  constexpr std::int64_t most = 10'000'000;
  const std::int64_t value = parsed_number<std::int64_t>(text).value_or(0);
  return value > 0 && value <= most ? value : 0;
}

bool is_option(std::string_view word) {
  const std::size_t dashes = word.find_first_not_of('-');
  return word.starts_with('-') && dashes != word.npos && std::isdigit(static_cast<unsigned char>(word[dashes])) == 0 &&
         word[dashes] != '.';
}

bool is_override(std::string_view word) {
  const std::size_t start = word.find_first_not_of("+~");
  if (start == word.npos || start > 2 || word.starts_with('-')) return false;
  const std::size_t equals = word.find('=');
  if (equals == word.npos || equals <= start) return false;
  return std::all_of(word.begin() + static_cast<std::ptrdiff_t>(start),
      word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) { return is_argument_letter(c); });
}

bool hands_on(const ShellWord& word) {
  return word.bare && (word.text.starts_with("${@:") || word.text.starts_with("${*:"));
}

bool is_program(std::string_view word) {
  return word.ends_with(".py") || last_of_path(word) == "run_train.sh" || last_of_path(word) == "nemo";
}

bool is_recipe(std::string_view word) {
  return std::any_of(std::begin(recipe_ends), std::end(recipe_ends),
      [&](std::string_view end) { return word.ends_with(end) && !is_option(word); });
}

bool starts_command(std::span<const ShellWord> words) {
  constexpr std::string_view doing[] = {"sft", "pt", "train", "rlhf", "dpo", "grpo", "kto", "reward", "infer", "eval",
      "export", "deploy", "rollout", "sample", "chat", "api", "webchat", "preprocess", "merge-lora", "inference",
      "pretrain", "finetune", "finetune_full", "finetune_lora", "finetune_adapter", "finetune_adapter_v2", "generate",
      "evaluate", "serve", "distributed"};
  return words.size() > 1 && is_command_program(words[0].text) &&
         std::find(std::begin(doing), std::end(doing), words[1].text) != std::end(doing);
}

}  // namespace stepcast::calibrate
