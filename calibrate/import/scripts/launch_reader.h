// Goes through the words of one command: launchers with their options up to the program, then the program's
// arguments. launch_reader.cpp walks, launch_counts.cpp reads how many ranks there are, launch_values.cpp what the
// program is told. Callers need find_launches() alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/scripts/launch_line.h"
#include "calibrate/import/scripts/launchers.h"
#include "calibrate/import/shell/words.h"

namespace stepcast::calibrate {

class LaunchReader {
 public:
  /// `scripts`: one that is not at hand counts as a program.
  explicit LaunchReader(const ShellCommand& command, bool scripts = false);
  /// Nothing where no program is run.
  std::optional<LaunchLine> read(const LaunchLine& batch);
  /// Only what a program is told.
  LaunchLine read_arguments();
  /// What #SBATCH lines add up to.
  static void add_batch(const ShellCommand& command, LaunchLine& batch);

 private:
  [[nodiscard]] const std::string& text() const { return words_[at_].text; }
  [[nodiscard]] std::span<const ShellWord> words_from(std::size_t at) const { return std::span(words_).subspan(at); }

  // the walk: launch_reader.cpp
  bool to_program();
  [[nodiscard]] bool starts_program(std::string_view word) const;
  [[nodiscard]] std::size_t wrapped_launch() const;
  [[nodiscard]] bool program_behind() const;
  void leave();
  bool take_program();
  void enter(std::string_view word);
  void launcher_option();
  [[nodiscard]] bool hands_over(std::string_view name) const;
  void take_variable(const std::string& text);

  // how many ranks there are: launch_counts.cpp
  void take_environment();
  [[nodiscard]] bool starts_its_ranks() const;
  void take_starts();
  void take_visible();
  bool take_included(std::string_view text);
  void take_count(const LaunchOption& option, const GivenArgument& given);
  void take_sets(const GivenArgument& given);
  void take_node_gpus(const GivenArgument& given);
  [[nodiscard]] bool has_parts() const;
  void take_step();
  [[nodiscard]] std::int64_t starts_of_step(const LaunchLine& batch) const;
  [[nodiscard]] std::int64_t set_count(std::string_view name) const;
  [[nodiscard]] std::string contradicted_variable(const LaunchLine& batch) const;
  void hold_against_job(const LaunchLine& batch);

  // what the program is told: launch_values.cpp
  [[nodiscard]] bool has_overrides() const;
  void arguments();
  [[nodiscard]] bool hands_to_launcher() const;
  void launcher_words();
  void keep_two(const ShellWord& word, std::size_t blank);
  void keep(const ShellWord& word, std::size_t equals);
  void take_values(GivenArgument& given);
  void note_bare(const ShellWord& word);
  void keep(GivenArgument given);

  const std::vector<ShellWord>& words_;
  bool scripts_;
  bool overrides_ = false;       ///< NAME=VALUE stands alone somewhere
  bool by_environment_ = false;  ///< NPROC_PER_NODE and NNODES say the ranks
  bool each_device_ = false;     ///< a rank for each GPU
  bool module_ahead_ = false;    ///< torchrun's -m stood in front of further options: a module's name follows them
  std::string wrapper_;          ///< the program that starts it, where one does
  std::size_t at_ = 0;
  std::int64_t sets_ = 0, of_set_ = 1, sets_of_node_ = 0;
  std::string launcher_;
  bool in_step_ = false;  ///< srun starts what is inside
  std::int64_t step_nodes_ = 0, step_tasks_ = 0, step_node_tasks_ = 0;
  std::int64_t told_nodes_ = 0;  ///< of the launcher that starts the ranks, by itself
  std::string nodes_range_;      ///< "2:4" of an elastic one
  LaunchLine out_;
};

}  // namespace stepcast::calibrate
