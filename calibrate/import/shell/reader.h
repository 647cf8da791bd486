// Walks through a shell script: reader.cpp reads commands and variables; statements.cpp reads branches, functions and
// files that the script writes. Callers need read_shell() alone.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/import/shell/blocks.h"
#include "calibrate/import/shell/expand.h"
#include "calibrate/import/shell/heredoc.h"
#include "calibrate/import/shell/sourced_text.h"
#include "calibrate/import/shell/words.h"

namespace stepcast::calibrate {

/// The commands whose first word `wanted` accepts, in order, behind `then`, `exec`, `nohup`, "+ " (set -x) or "cmd = "
/// (DeepSpeed) as well. Other lines are passed over: logs hold anything. `#SBATCH --nodes=4` becomes a command of the
/// words "#SBATCH", "--nodes=4" and sets SLURM_NNODES, and where a job of its own begins or ends stands "#JOB" with the
/// number of that whose commands follow; behind the first command it becomes a note. Branches whose
/// condition is known (strings and numbers) are taken or left out; of others all are read, what they set last counts
/// and a note says so; `empty` are names of variables that conditions take for empty where nothing sets them. Fails
/// where a wanted command is cut off inside a quote.
Expected<ShellScript> read_shell(std::string_view text, const std::string& where,
    bool (*wanted)(std::string_view first_word), const std::map<std::string, std::string>& defined,
    const SourcedText& sourced = {}, const std::set<std::string>* empty = nullptr);

/// "train.sh": a shell script by its name, and none that prepares a shell.
bool is_script_name(std::string_view word);
/// Virtual environments, modules, compilers, a user's own settings: they set no size of a run.
bool prepares_shell(std::string_view name);

class ShellReader {
 public:
  ShellReader(const std::string& where, bool (*wanted)(std::string_view),
      const std::map<std::string, std::string>& defined, const SourcedText& sourced,
      const std::set<std::string>* empty);
  Expected<ShellScript> read(std::string_view text);

 private:
  struct Place {
    ShellSource source;
    int depth = 0;
    LineCounter counter = {};
    std::size_t at = 0, line_end = 0;
    bool line_known = false;

    [[nodiscard]] std::string_view rest() const { return source.text.substr(at, line_end - at); }
    [[nodiscard]] std::size_t line() { return counter.line(source, at); }
  };
  using Settings = std::vector<std::pair<std::string, ShellValue>>;

  Expected<void> take_text(const ShellSource& source, int depth);
  Expected<void> take_next(Place& place);
  static Expected<void> to_next_line(Place& place);
  static std::size_t shown_prefix(std::string_view plain);
  void take_header(std::string_view plain, std::size_t line);
  void take_batch(std::string_view plain, std::size_t line);
  void take_chunks(std::string_view plain, std::size_t line);
  std::string nodes_of_slots(std::string_view plain);
  void set_batch_variables(std::vector<ShellWord>& words, std::size_t end, std::size_t line);
  void set_plain(std::string_view name, std::string_view text, std::size_t line);
  Expected<void> take_command(Place& place);
  [[nodiscard]] bool may_begin(std::string_view first) const;
  /// A launcher, or a script where other scripts are looked for.
  [[nodiscard]] bool wants(std::string_view word) const { return wanted_(word) || (sourced_ && is_script_name(word)); }
  [[nodiscard]] static bool is_behind_arrow(const Place& place);
  [[nodiscard]] std::size_t window(const Place& place) const;
  Expected<void> pass_over_command(Place& place, std::string_view token);
  static Expected<void> pass_over(Place& place);
  static Expected<void> step_over(Place& place, std::size_t count);
  Expected<void> take_words(Place& place);
  Expected<void> take_unclosed(Place& place, const ShellCommand& command, std::size_t line);
  std::pair<std::string, ShellValue> assigned(
      const ShellWords& words, std::size_t name_length, std::size_t line, const Settings& earlier);
  static std::pair<std::string, ShellValue> assigned_by_words(
      const ShellText& word, std::size_t name_length, std::size_t line);
  [[nodiscard]] ShellValue referred(const ShellValue& value) const;
  void apply(Settings set, bool alone);
  Expected<void> keep(ShellCommand command, std::vector<ShellText> texts, Settings set, const ShellWords& words,
      bool evaluating, int depth);
  Expected<void> take_doubted(ShellText text, const std::set<std::string>& doubts, int depth);
  Expected<void> take_inner(ShellText text, int depth);
  static std::size_t shell_word(const std::vector<ShellWord>& words);
  static std::size_t inner_shell(const std::vector<ShellWord>& words);

  // statements
  bool take_heredoc(Place& place);
  void keep_body(ShellText text, const Heredoc& here, std::size_t line, int depth);
  void keep_file(const std::string& name, ShellText text, std::size_t line, bool appends);
  Expected<void> read_unrun();
  Expected<void> take_job(ShellText text, bool job, int depth);
  void enter_job(std::size_t job);
  void drop_outer_sizes();
  bool take_block_word(Place& place, std::string_view token);
  bool take_subshell(Place& place);
  ShellTruth truth_of(const ShellSource& condition);
  ShellSource condition_of(Place& place, std::size_t skipped) const;
  void open_case(Place& place);
  void take_label(Place& place);
  bool take_function(Place& place);
  static std::size_t function_end(std::string_view text, std::size_t open, const Place& place);
  /// By value: a script that the body runs has functions of its own.
  Expected<void> call(Place& place, const std::string& name, ShellSource body);
  Expected<void> take_echo(Place& place, ShellWords& words);
  // loops, also over the script's own arguments: loops.cpp
  struct Loop {
    ShellSource condition, body;
    std::size_t line = 0, end = 0;
  };
  bool take_loop(Place& place);
  bool take_own_for(Place& place, const std::string& name);
  bool take_while(Place& place, std::string_view token);
  std::optional<Loop> loop_here(Place& place, std::size_t keyword);
  bool passes_own(Place& place, const Loop& loop);
  ShellTruth loop_holds(const Loop& loop, bool until);
  bool take_turn(const Loop& loop, int depth);
  bool take_leave(Place& place, std::string_view token);
  ShellTruth next_option(const ShellSource& condition);
  static std::size_t loop_end(std::string_view text, std::size_t open);
  void end_loop();
  // the script's own arguments: own_arguments.cpp
  Expected<void> take_shift(Place& place);
  Expected<void> take_set(Place& place);
  // one-line conditions and sums: guards.cpp
  bool take_guard(Place& place, std::string_view token);
  bool take_sum(Place& place, std::string_view inside, std::size_t length);
  void set_by_sum(std::string_view sum, std::size_t line);
  Expected<void> take_let(Place& place);
  Expected<void> take_read(Place& place);
  bool reads_behind(Place& place, std::string_view token);
  // other scripts, that it reads or runs, and files that it changes: other_scripts.cpp
  Expected<void> take_source(Place& place);
  std::optional<std::string> text_at_hand(const std::string& name);
  void note_change(const std::string& name);
  Expected<void> take_unset(Place& place);
  [[nodiscard]] std::size_t script_word(const std::vector<ShellWord>& words) const;
  Expected<void> run_script(ShellText text, const ShellCommand& command, const std::vector<ShellText>& texts,
      std::size_t script, const Settings& set, int depth);
  void keep_exported(const ShellCommand& command, std::size_t script, const Settings& set);
  Expected<void> take_change(Place& place);
  Expected<void> take_rewritten(Place& place);
  struct WordsHere {
    std::vector<ShellText> words;
    std::size_t length = 0;  ///< of the text that they stand in
    bool cut = false;        ///< it ends inside a quote or a bracket
    std::set<std::string> doubts = {};
  };
  WordsHere words_here(Place& place);

  const std::string& where_;
  bool (*wanted_)(std::string_view);
  const SourcedText& sourced_;
  const std::map<std::string, std::string>& defined_;
  const std::set<std::string>* empty_;
  ShellVariables variables_;
  ShellBlocks blocks_;
  std::map<std::string, ShellSource, std::less<>> functions_;
  std::set<std::string> called_, exported_, assumed_;
  std::set<std::string> outer_doubts_;  ///< of the text that is read as a command
  std::deque<ShellText> texts_;         ///< of inner shells; functions may stand in them
  struct WrittenFile {
    std::string name;  ///< without its folder
    ShellText text;
    bool run = false;
  };
  std::vector<WrittenFile> written_;  ///< by the script itself, in their order
  std::vector<ShellWord> prefix_;
  std::map<std::string, std::string> prefix_environment_;
  Expected<void> inner_;
  int unclosed_ = 0, missing_ends_ = 0, calls_ = 0, read_scripts_ = 0;
  std::string loops_;           ///< the open ones from outside in, by their first letter: for, while, until
  std::size_t loop_shift_ = 0;  ///< line of a shift in the loop that is open
  std::size_t own_loop_ = 0;    ///< of a loop that is read turn by turn: loops around it, and itself; 0 = none is
  enum class Leaves : std::uint8_t { none, turn, loop };
  Leaves leaves_ = Leaves::none;  ///< break or continue stood in it
  bool exports_all_ = false;      ///< behind set -a
  /// Of the script itself, or of one that sbatch is handed: its first command ends it.
  enum class Header : std::uint8_t { none, open, passed };
  Header heads_job_ = Header::open;
  std::int64_t slots_ = 0, node_slots_ = 0;  ///< of LSF's job: of all nodes, and of each
  std::size_t job_ = 0, jobs_ = 0;           ///< the one that is read, and how many there are beside the text's own
  ShellScript out_;
};

/// Letters of a variable's name, "=" or "+=" at the front of a word, and how long that is; 0 where it is no assignment.
std::size_t assignment_length(std::string_view word);
/// Does a batch system read a header of that text?
bool has_header(std::string_view text);
/// Up to the first blank or semicolon.
std::string_view first_token(std::string_view rest);
/// `bare`: outside quotes.
ShellWord plain_word(const ShellText& text, bool bare);
/// export, local, declare, ...: what follows are assignments.
bool is_setting_keyword(std::string_view word);
// Scripts that run each other would go on without end.
constexpr int most_read_scripts = 64;
// Logs hold lines that open quotes and brackets; once that many have not closed, only the line itself is looked
// through.
constexpr int most_unclosed = 200;

}  // namespace stepcast::calibrate
