#include "calibrate/import/launch_arguments.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>

#include "calibrate/import/launch_words.h"
#include "calibrate/import/plain_words.h"

namespace stepcast {
namespace {

constexpr std::string_view launchers[] = {"torchrun",   "deepspeed",    "srun",    "mpirun", "mpiexec",
                                          "accelerate", "python",       "python3", "bash",   "sh",
                                          "numactl",    "run_train.sh", "nemo",    "#SBATCH"};

/// What launchers are told about the size of a job. `innermost`: it starts the ranks itself, whatever is around it.
struct LaunchOption {
  std::string_view launcher, name;
  std::int64_t LaunchLine::*field;
  bool innermost;
};
constexpr LaunchOption launch_options[] = {
    {"torchrun", "nproc_per_node", &LaunchLine::gpus_per_node, true},
    {"torchrun", "nnodes", &LaunchLine::nodes, true},
    {"deepspeed", "num_gpus", &LaunchLine::gpus_per_node, true},
    {"deepspeed", "num_nodes", &LaunchLine::nodes, true},
    {"accelerate", "num_processes", &LaunchLine::ranks, true},
    {"accelerate", "num_machines", &LaunchLine::nodes, true},
    {"srun", "N", &LaunchLine::nodes, false},
    {"srun", "nodes", &LaunchLine::nodes, false},
    {"srun", "n", &LaunchLine::ranks, false},
    {"srun", "ntasks", &LaunchLine::ranks, false},
    {"srun", "ntasks_per_node", &LaunchLine::gpus_per_node, false},
    {"mpirun", "np", &LaunchLine::ranks, false},
    {"mpirun", "n", &LaunchLine::ranks, false},
    {"mpirun", "npernode", &LaunchLine::gpus_per_node, false},
};

std::string_view launcher_kind(std::string_view word) {
  word = last_of_path(word);
  if (word == "mpiexec") return "mpirun";
  if (word == "#SBATCH") return "srun";
  if (word == "torch.distributed.run" || word == "torch.distributed.launch") return "torchrun";
  if (word == "deepspeed.launcher.launch" || word == "deepspeed.launcher.runner") return "deepspeed";
  return word;
}

bool is_launcher(std::string_view word) {
  word = last_of_path(word);
  if (word.starts_with("python3.")) return true;
  return std::find(std::begin(launchers), std::end(launchers), word) != std::end(launchers);
}

std::int64_t launch_count(std::string_view text) {
  std::int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::int64_t most = 10'000'000;
  return end.ec == std::errc() && end.ptr == text.data() + text.size() && value > 0 && value <= most ? value : 0;
}

bool is_option(std::string_view word) {
  const std::size_t dashes = word.find_first_not_of('-');
  return word.starts_with('-') && dashes != word.npos && std::isdigit(static_cast<unsigned char>(word[dashes])) == 0 &&
         word[dashes] != '.';
}

/// "+model.x=4" and "train.y=1", but no paths or URLs with a query.
bool is_hydra(std::string_view word) {
  const std::size_t start = word.find_first_not_of('+');
  if (start == word.npos || start > 2 || word.starts_with('-')) return false;
  const std::size_t equals = word.find('=');
  if (equals == word.npos || equals <= start) return false;
  return std::all_of(word.begin() + static_cast<std::ptrdiff_t>(start),
                     word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) { return is_argument_letter(c); });
}

bool is_program(std::string_view word) {
  return word.ends_with(".py") || last_of_path(word) == "run_train.sh" || last_of_path(word) == "nemo";
}

/// Goes through the words: launchers with their options up to the program, then the program's arguments.
class LaunchReader {
 public:
  explicit LaunchReader(const ShellCommand& command) : words_(command.words) {
    out_.line = command.line;
    out_.environment = command.environment;
  }

  /// Nothing where no program is run.
  std::optional<LaunchLine> read(const LaunchLine& batch) {
    if (!to_program()) return std::nullopt;
    arguments();
    if (out_.nodes <= 0 && batch.nodes != 0) out_.nodes = batch.nodes;
    const bool sized = out_.gpus_per_node != 0 || out_.ranks != 0;
    if (!sized) out_.gpus_per_node = batch.gpus_per_node, out_.ranks = batch.ranks;
    if (const auto gpus = out_.environment.find("NGPU"); !sized && gpus != out_.environment.end())
      out_.gpus_per_node = launch_count(gpus->second);
    return std::move(out_);
  }

  /// What #SBATCH lines add up to.
  static void add_batch(const ShellCommand& command, LaunchLine& batch) {
    LaunchReader reader(command);
    reader.launcher_ = "srun";
    for (reader.at_ = 1; reader.at_ < command.words.size();) reader.launcher_option();
    for (const auto field : {&LaunchLine::nodes, &LaunchLine::ranks, &LaunchLine::gpus_per_node})
      if (reader.out_.*field != 0) batch.*field = reader.out_.*field;
  }

 private:
  bool to_program() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_];
      if (word == "-m" || word == "--module") {
        if (++at_ >= words_.size()) return false;
        if (launcher_kind(words_[at_]) == words_[at_]) return take_program();
        enter(words_[at_++]);
      } else if (is_program(word)) {
        return take_program();
      } else if (is_launcher(word)) {
        enter(word), ++at_;
      } else {
        launcher_option();
      }
    }
    return false;
  }

  bool take_program() {
    out_.program = std::string(last_of_path(words_[at_++]));
    return true;
  }

  /// What an outer launcher said of ranks counts launchers, once an inner one starts the ranks.
  void enter(std::string_view word) {
    launcher_ = launcher_kind(word);
    const auto row = std::find_if(std::begin(launch_options), std::end(launch_options),
                                  [&](const LaunchOption& option) { return option.launcher == launcher_; });
    if (row != std::end(launch_options) && row->innermost) out_.ranks = out_.gpus_per_node = 0;
  }

  void launcher_option() {
    const std::string& word = words_[at_++];
    if (!is_option(word)) return;
    const std::size_t equals = word.find('=');
    const std::string name = argument_name(word.substr(0, equals));
    for (const LaunchOption& option : launch_options) {
      if (option.launcher != launcher_ || option.name != name) continue;
      const std::string value = equals != word.npos   ? word.substr(equals + 1)
                                : at_ < words_.size() ? words_[at_++]
                                                      : "";
      out_.*option.field = launch_count(value);
      if (out_.*option.field > 0) continue;
      out_.*option.field = LaunchLine::unknown_count;
      out_.unknown.push_back(name + "=" + value);
    }
  }

  void arguments() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      const std::size_t equals = word.find('=');
      if (is_option(word)) {
        if (equals != word.npos)
          keep(argument_name(word.substr(0, equals)), word.substr(equals + 1));
        else
          keep(argument_name(word), values());
      } else if (is_hydra(word)) {
        keep(argument_name(word.substr(0, equals)), word.substr(equals + 1));
      }
    }
  }

  /// The words up to the next option, as argparse's lists take them.
  std::string values() {
    std::string joined;
    while (at_ < words_.size() && !is_option(words_[at_]) && !is_hydra(words_[at_])) {
      joined += (joined.empty() ? "" : " ") + words_[at_++];
    }
    return joined.empty() ? "true" : joined;
  }

  void keep(const std::string& name, const std::string& value) {
    if (name.empty()) return;
    if (value.find('$') == value.npos)
      out_.arguments[name] = value;
    else
      out_.unknown.push_back(name + "=" + value);
  }

  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  std::string launcher_;
  LaunchLine out_;
};

}  // namespace

std::int64_t LaunchLine::gpus() const {
  if (ranks > 0) return ranks;
  if (nodes < 0 || gpus_per_node <= 0) return 0;
  return gpus_per_node * std::max<std::int64_t>(1, nodes);
}

bool is_argument_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

std::string argument_name(std::string_view written) {
  written.remove_prefix(std::min(written.find_first_not_of("-+"), written.size()));
  std::string name(written);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Expected<std::vector<LaunchLine>> find_launches(std::string_view text, const std::string& where) {
  auto commands = shell_commands(text, where, is_launcher);
  if (!commands) return tl::unexpected(commands.error());
  LaunchLine batch;
  std::vector<LaunchLine> launches;
  for (const ShellCommand& command : *commands) {
    if (command.words.front() == "#SBATCH")
      LaunchReader::add_batch(command, batch);
    else if (auto launch = LaunchReader(command).read(batch))
      launches.push_back(std::move(*launch));
  }
  return launches;
}

}  // namespace stepcast
