#include "calibrate/import/scripts/launch_arguments.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "calibrate/import/scripts/launchers.h"
#include "calibrate/import/shell/reader.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

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

/// "+model.x=4" and "train.y=1", but no paths or URLs with a query.
bool is_hydra(std::string_view word) {
  const std::size_t start = word.find_first_not_of("+~");
  if (start == word.npos || start > 2 || word.starts_with('-')) return false;
  const std::size_t equals = word.find('=');
  if (equals == word.npos || equals <= start) return false;
  return std::all_of(word.begin() + static_cast<std::ptrdiff_t>(start),
      word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) { return is_argument_letter(c); });
}

/// "${@:2}": part of the script's own arguments, where nobody gives any.
bool hands_on(const ShellWord& word) {
  return word.bare && (word.text.starts_with("${@:") || word.text.starts_with("${*:"));
}

bool is_program(std::string_view word) {
  return word.ends_with(".py") || last_of_path(word) == "run_train.sh" || last_of_path(word) == "nemo";
}

/// torchtune's `tune run` takes torchrun's options and the name of a recipe (torchtune/_recipe_registry.py).
constexpr std::string_view recipe_ends[] = {"_distributed", "_single_device"};
bool is_recipe(std::string_view word) {
  return std::any_of(std::begin(recipe_ends), std::end(recipe_ends),
      [&](std::string_view end) { return word.ends_with(end) && !is_option(word); });
}

/// "swift sft": what such a program does is its first word.
bool starts_command(std::span<const ShellWord> words) {
  constexpr std::string_view doing[] = {"sft", "pt", "train", "rlhf", "dpo", "grpo", "kto", "reward", "infer", "eval",
      "export", "deploy", "rollout", "sample", "chat", "api", "webchat", "preprocess", "merge-lora", "inference"};
  return words.size() > 1 && is_command_program(words[0].text) &&
         std::find(std::begin(doing), std::end(doing), words[1].text) != std::end(doing);
}

/// "worker-0:0,1@worker-1:0,1" of deepspeed's --include: nodes and GPUs of each; nothing where a node names none.
bool included(std::string_view text, LaunchLine& out) {
  std::int64_t nodes = 0, gpus = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('@', at), text.size());
    const std::string_view node = text.substr(at, end - at);
    const std::size_t colon = node.find(':');
    if (colon == node.npos || colon + 1 == node.size()) return false;
    const auto here = 1 + std::count(node.begin() + static_cast<std::ptrdiff_t>(colon), node.end(), ',');
    if (nodes > 0 && here != gpus) return false;
    ++nodes, gpus = here, at = end + 1;
  }
  out.nodes = nodes, out.gpus_per_node = gpus;
  return true;
}

/// "mi250" of mi250:8 and gpu:mi250:8; "" where only a number or "gpu" is asked for.
std::string kind_of_gpus(std::string_view value) {
  if (value.starts_with("gpu:")) value.remove_prefix(4);
  const std::size_t colon = value.find(':');
  return colon == value.npos || launch_count(value.substr(0, colon)) > 0 ? "" : std::string(value.substr(0, colon));
}

/// Goes through the words: launchers with their options up to the program, then the program's arguments.
class LaunchReader {
 public:
  /// `scripts`: one that is not at hand counts as a program.
  explicit LaunchReader(const ShellCommand& command, bool scripts = false) : words_(command.words), scripts_(scripts) {
    out_.line = command.line;
    out_.environment = command.environment;
    out_.exported = command.exported;
    out_.notes = command.notes;
  }

  /// Nothing where no program is run.
  std::optional<LaunchLine> read(const LaunchLine& batch) {
    if (!to_program()) return std::nullopt;
    arguments();
    out_.gpu_kind = batch.gpu_kind;
    if (out_.nodes <= 0 && batch.nodes != 0) out_.nodes = batch.nodes;
    const bool sized = out_.gpus_per_node != 0 || out_.ranks != 0;
    if (!sized) out_.gpus_per_node = batch.gpus_per_node, out_.ranks = batch.ranks;
    for (const ArgumentMap* names : {&out_.environment, &out_.exported})
      if (const auto gpus = names->find("NGPU"); !sized && out_.gpus_per_node == 0 && gpus != names->end())
        out_.gpus_per_node = launch_count(gpus->second);
    if (!sized && by_environment_) take_environment();
    if (!sized && out_.nodes == 0 && out_.gpus_per_node == 0 && out_.ranks == 0) take_visible();
    if (out_.wrapped) {
      out_.ranks = LaunchLine::unknown_count;
      out_.unknown.push_back(wrapper_ + ", which may start it on several nodes");
    }
    return std::move(out_);
  }

  /// Of programs that start their ranks themselves, as many as these say.
  void take_environment() {
    const std::pair<const char*, std::int64_t LaunchLine::*> counts[] = {
        {"NPROC_PER_NODE", &LaunchLine::gpus_per_node}, {"NNODES", &LaunchLine::nodes}};
    for (const ArgumentMap* names : {&out_.exported, &out_.environment})
      for (const auto& [name, field] : counts)
        if (const auto found = names->find(name); found != names->end()) {
          out_.*field = launch_count(found->second);
          if (out_.*field == 0)
            out_.*field = LaunchLine::unknown_count, out_.unknown.push_back(found->first + "=" + found->second);
        }
  }

  /// Without a launcher: the GPUs that it sees, where it starts a rank for each or sees one.
  void take_visible() {
    const bool alone = launcher_.empty() || launcher_ == "python" || launcher_ == "python3";
    for (const ArgumentMap* names : {&out_.environment, &out_.exported}) {
      const auto found = names->find("CUDA_VISIBLE_DEVICES");
      if (!alone || found == names->end()) continue;
      const std::int64_t devices = visible_devices(found->second);
      if (devices == 0 || (devices > 1 && !each_device_)) continue;
      out_.gpus_per_node = devices;
      out_.notes.push_back(
          fmt::format("CUDA_VISIBLE_DEVICES={}: {} GPU{}", found->second, devices, devices > 1 ? "s" : ""));
      return;
    }
  }

  /// Only what a program is told.
  LaunchLine read_arguments() {
    arguments();
    return std::move(out_);
  }

  /// What #SBATCH lines add up to.
  static void add_batch(const ShellCommand& command, LaunchLine& batch) {
    LaunchReader reader(command);
    reader.launcher_ = "srun";
    for (reader.at_ = 1; reader.at_ < command.words.size();) reader.launcher_option();
    for (const auto field : {&LaunchLine::nodes, &LaunchLine::ranks, &LaunchLine::gpus_per_node})
      if (reader.out_.*field != 0) batch.*field = reader.out_.*field;
    for (const GivenArgument& given : reader.out_.launcher_given)
      if (given.name == "gres" || given.name == "gpus_per_node" || given.name == "gpus" || given.name == "G")
        if (std::string kind = kind_of_gpus(given.value); !kind.empty()) batch.gpu_kind = std::move(kind);
  }

 private:
  [[nodiscard]] const std::string& text() const { return words_[at_].text; }
  [[nodiscard]] std::span<const ShellWord> words_from(std::size_t at) const { return std::span(words_).subspan(at); }

  bool to_program() {
    while (at_ < words_.size()) {
      const std::string& word = text();
      const bool module = (word == "-m" || word == "--module") && names_module(launcher_);
      if (module) {
        if (++at_ >= words_.size()) return false;
        if (launcher_kind(text()) == text()) return take_program();
        enter(words_[at_++].text);
      } else if (starts_command(words_from(at_))) {
        by_environment_ = starts_ranks_by_environment(word), each_device_ = takes_each_device(word);
        take_program();
        out_.program += " " + words_[at_++].text;
        return true;
      } else if (starts_program(word)) {
        if (const std::size_t behind = wrapped_launch(); behind > 0) {
          wrapper_ = std::string(last_of_path(word)), out_.wrapped = true, launcher_.clear(), at_ = behind;
          out_.nodes = out_.ranks = out_.gpus_per_node = 0, out_.launcher_given.clear();
          continue;
        }
        return take_program();
      } else if (scripts_ && is_script_name(word) && !program_behind()) {
        return out_.script = take_program();
      } else if (is_launcher(word)) {
        enter(word), ++at_;
      } else {
        launcher_option();
      }
    }
    return false;
  }

  /// A word that is none of a launcher's: its file, or the name that torchtune has for it.
  [[nodiscard]] bool starts_program(std::string_view word) const {
    return is_program(word) || (launcher_ == "tune" && is_recipe(word));
  }

  /// "mason.py --gpus 8 -- accelerate launch ...": where the launch begins that a program starts; 0 where there is
  /// none.
  [[nodiscard]] std::size_t wrapped_launch() const {
    for (std::size_t at = at_ + 1; at + 1 < words_.size(); ++at)
      if (words_[at].text == "--") return is_launcher(words_[at + 1].text) ? at + 1 : 0;
    return 0;
  }

  /// "numactl.sh python train.py": the script starts what stands behind it.
  [[nodiscard]] bool program_behind() const {
    return std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, words_.end(),
        [](const ShellWord& word) { return is_program(word.text) || word.text == "-m"; });
  }

  void leave() {
    if (launcher_ == "bcprun" && out_.nodes == 0) {
      out_.nodes = LaunchLine::unknown_count;
      out_.unknown.emplace_back("--nnodes of bcprun, which takes all nodes of the job without it");
    }
    if (launcher_ != "jsrun" || sets_ != 0 || sets_of_node_ == 0) return;
    out_.ranks = out_.nodes = out_.gpus_per_node = LaunchLine::unknown_count;
    out_.unknown.emplace_back("-n of jsrun, which takes all nodes of the job without it");
  }

  bool take_program() {
    leave();
    out_.program = std::string(last_of_path(words_[at_++].text));
    out_.launcher = launcher_;
    if (launcher_ == "tune" && out_.program.ends_with("_single_device")) out_.nodes = out_.gpus_per_node = 1;
    return true;
  }

  /// What an outer launcher said of ranks counts launchers, once an inner one starts the ranks.
  void enter(std::string_view word) {
    leave();
    launcher_ = launcher_kind(word);
    out_.launcher_given.clear();
    const LaunchOption* row = find_launch_option(launcher_, "");
    if (row != nullptr && row->innermost) out_.ranks = out_.gpus_per_node = 0;
  }

  void launcher_option() {
    const ShellWord& word = words_[at_++];
    if (!is_option(word.text)) return;
    const std::size_t glued = glued_value(word.text), equals = glued > 0 ? glued : word.text.find('=');
    GivenArgument given{
        argument_name(word.text.substr(0, equals)), word.text.substr(0, equals), {}, word.line, word.unset};
    const LaunchOption* row = find_launch_option(launcher_, given.name);
    const bool wanted = row != nullptr;
    const bool takes = at_ < words_.size() && !is_option(text()) && !starts_program(text()) && !is_launcher(text()) &&
                       !is_script_name(text());
    if (equals != word.text.npos) given.value = word.text.substr(equals + (glued > 0 ? 0 : 1));
    else if (wanted ? at_ < words_.size() : takes) given.unset = words_[at_].unset, given.value = words_[at_++].text;
    if (wanted) take_count(*row, given);
    if (launcher_ == "jsrun") take_sets(given);
    if (launcher_ == "deepspeed" && given.name == "include") included(given.value, out_);
    if (hands_over(given.name)) take_variable(given.value);
    if (given.value.empty()) given.value = "true";
    out_.launcher_given.push_back(std::move(given));
  }

  /// "mpirun -x NAME=1", "bcprun --env NAME=1", "docker run -e NAME=1": a variable of the program.
  [[nodiscard]] bool hands_over(std::string_view name) const {
    if (launcher_ == "mpirun") return name == "x";
    return name == "env" || (name == "e" && (launcher_ == "docker" || launcher_ == "podman" || launcher_ == "bcprun"));
  }
  void take_variable(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals != text.npos && equals > 0) out_.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }

  void take_count(const LaunchOption& option, const GivenArgument& given) {
    out_.*option.field = launch_count(given.value);
    if (out_.*option.field > 0) return;
    out_.*option.field = LaunchLine::unknown_count;
    out_.unknown.push_back(given.name + "=" + given.value);
  }

  /// Resource sets of Summit's jsrun: -n of them with -a ranks each, -r on a node.
  void take_sets(const GivenArgument& given) {
    const std::int64_t count = launch_count(given.value) > 0 ? launch_count(given.value) : LaunchLine::unknown_count;
    if (given.name == "n" || given.name == "nrs") sets_ = count;
    if (given.name == "a" || given.name == "tasks_per_rs") of_set_ = count;
    if (given.name == "r" || given.name == "rs_per_host") sets_of_node_ = count;
    const bool known = sets_ >= 0 && of_set_ > 0 && sets_of_node_ >= 0;
    out_.ranks = known ? sets_ * of_set_ : LaunchLine::unknown_count;
    out_.gpus_per_node = known ? sets_of_node_ * of_set_ : LaunchLine::unknown_count;
    out_.nodes = known && sets_of_node_ > 0 ? (sets_ + sets_of_node_ - 1) / sets_of_node_ : 0;
    if (count < 0 && (sets_ < 0 || of_set_ < 0 || sets_of_node_ < 0))
      out_.unknown.push_back(given.name + "=" + given.value);
  }

  /// "--run_name lr=1e-5": the word behind an option is its value, unless the launch has overrides that stand alone:
  /// the reader does not know yet which program takes overrides.
  [[nodiscard]] bool has_overrides() const {
    for (std::size_t at = at_; at < words_.size(); ++at) {
      const std::string& before = at > 0 ? words_[at - 1].text : "";
      if (is_hydra(words_[at].text) && (!is_option(before) || before.find('=') != before.npos)) return true;
    }
    return false;
  }

  void arguments() {
    overrides_ = has_overrides();
    while (at_ < words_.size()) {
      const ShellWord& word = words_[at_++];
      const std::size_t equals = word.text.find('=');
      if (word.text == "--" && hands_to_launcher()) return launcher_words();
      if (const std::size_t blank = word.text.find(' '); is_option(word.text) && blank < equals) keep_two(word, blank);
      else if (is_option(word.text) || is_hydra(word.text)) keep(word, equals);
      else if (word.bare) note_bare(word);
      else out_.positional.push_back({{}, word.text, word.text, word.line, word.unset});
    }
  }

  /// "axolotl train FILE --launcher torchrun -- --nnodes 2": the program starts a launcher, and hands on what stands
  /// behind the dashes.
  [[nodiscard]] bool hands_to_launcher() const {
    return !out_.given.empty() && out_.given.back().name == "launcher" && is_launcher(out_.given.back().value);
  }
  void launcher_words() {
    enter(out_.given.back().value);
    out_.launcher = launcher_, by_environment_ = false;
    out_.given.pop_back(), out_.arguments.erase("launcher");
    while (at_ < words_.size()) launcher_option();
  }

  /// "--name value" as one word.
  void keep_two(const ShellWord& word, std::size_t blank) {
    const std::string name = word.text.substr(0, blank);
    out_.notes.push_back(
        fmt::format("'{:.60}' is one word in line {}: read as a name and its value", word.text, word.line));
    keep({argument_name(name), name, word.text.substr(blank + 1), word.line, word.unset});
  }

  void keep(const ShellWord& word, std::size_t equals) {
    GivenArgument given{
        argument_name(word.text.substr(0, equals)), word.text.substr(0, equals), {}, word.line, word.unset};
    if (equals != word.text.npos) given.value = word.text.substr(equals + 1);
    else take_values(given);
    keep(std::move(given));
  }

  /// The words up to the next option, as argparse's lists take them. A variable behind them that nothing sets is taken
  /// for further arguments.
  void take_values(GivenArgument& given) {
    std::size_t end = at_;
    const auto ends = [](const std::string& word) { return word == "--" || is_option(word) || is_hydra(word); };
    if (!overrides_ && end < words_.size() && is_hydra(words_[end].text)) ++end;
    while (end < words_.size() && !ends(words_[end].text)) ++end;
    std::size_t last = end;
    while (last > at_ && words_[last - 1].bare && (last > at_ + 1 || hands_on(words_[last - 1]))) --last;
    if (std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(at_),
            words_.begin() + static_cast<std::ptrdiff_t>(last),
            [](const ShellWord& word) { return !word.unset.empty(); }))
      last = end;
    for (; at_ < last; ++at_) {
      given.value += (given.value.empty() ? "" : " ") + text();
      given.unset.insert(given.unset.end(), words_[at_].unset.begin(), words_[at_].unset.end());
    }
    for (; at_ < end; ++at_) note_bare(words_[at_]);
    if (given.value.empty()) given.value = "true";
  }

  void note_bare(const ShellWord& word) {
    if (hands_on(word))
      return out_.unfollowed.push_back(fmt::format(
          "line {} hands on {} of the script's own arguments, which --define 1=VALUE, 2=VALUE, ... would tell",
          word.line, word.text));
    out_.unknown.push_back(word.text);
    out_.notes.push_back(fmt::format("{} in line {} is not set: arguments in it are not known", word.text, word.line));
  }

  void keep(GivenArgument given) {
    if (given.name.empty()) return;
    if (given.unset.empty() && given.value.find('$') == std::string::npos) out_.arguments[given.name] = given.value;
    else out_.unknown.push_back(given.name + "=" + given.value);
    out_.given.push_back(std::move(given));
  }

  const std::vector<ShellWord>& words_;
  bool scripts_;
  bool overrides_ = false;       ///< NAME=VALUE stands alone somewhere
  bool by_environment_ = false;  ///< NPROC_PER_NODE and NNODES say the ranks
  bool each_device_ = false;     ///< a rank for each GPU
  std::string wrapper_;          ///< the program that starts it, where one does
  std::size_t at_ = 0;
  std::int64_t sets_ = 0, of_set_ = 1, sets_of_node_ = 0;
  std::string launcher_;
  LaunchLine out_;
};

/// Of the variables whose quotes do not close, those that it asks for.
void add_unclosed(LaunchLine& launch, const std::map<std::string, std::size_t>& unclosed) {
  for (const auto& [name, line] : unclosed) {
    const auto asks = [&, &name = name](const GivenArgument& given) {
      return std::find(given.unset.begin(), given.unset.end(), name) != given.unset.end();
    };
    const bool bare = std::any_of(launch.unknown.begin(), launch.unknown.end(),
        [&, &name = name](const std::string& text) { return text.find(name) != text.npos; });
    if (bare || std::any_of(launch.given.begin(), launch.given.end(), asks)) launch.unclosed.emplace(name, line);
  }
}

}  // namespace

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

bool is_argument_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

std::string argument_name(std::string_view written) {
  written.remove_prefix(std::min(written.find_first_not_of("-+~"), written.size()));
  std::string name(written);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Expected<std::vector<LaunchLine>> find_launches(std::string_view text, const std::string& where,
    const ArgumentMap& defined, const SourcedText& sourced, const std::set<std::string>* empty) {
  TRY(const auto script,
      read_shell(
          text, where, [](std::string_view word) { return is_launcher(word) || is_command_program(word); }, defined,
          sourced, empty));
  LaunchLine batch;
  std::vector<LaunchLine> launches;
  for (const ShellCommand& command : script.commands) {
    if (command.words.front().text == "#SBATCH") LaunchReader::add_batch(command, batch);
    else if (auto launch = LaunchReader(command, bool(sourced)).read(batch)) launches.push_back(std::move(*launch));
  }
  // Each launch has all files; of thousands of launches, as logs may show, the first ones.
  constexpr std::size_t most_file_bytes = 64 * 1024 * 1024;
  std::size_t bytes = 0;
  for (LaunchLine& launch : launches) {
    add_unclosed(launch, script.unclosed);
    if (!script.sourced.empty()) launch.sourced = script.sourced;
    launch.unfollowed.insert(launch.unfollowed.begin(), script.unfollowed.begin(), script.unfollowed.end());
    launch.changed = script.changed, launch.open = script.open;
    for (const ShellFile& file : script.files) {
      bytes += file.text.size() + sizeof(LaunchFile);
      if (bytes > most_file_bytes) break;
      launch.files.push_back({file.name, file.text, file.line, file.unset});
    }
  }
  return launches;
}

LaunchLine launch_of_words(const std::vector<std::string>& words) {
  ShellCommand command{1, {}, {}, {}, {}};
  for (const std::string& word : words) command.words.push_back({word, 1, {}, false});
  if (auto launch = LaunchReader(command).read({})) return std::move(*launch);
  return LaunchReader(command).read_arguments();
}

}  // namespace stepcast::calibrate
