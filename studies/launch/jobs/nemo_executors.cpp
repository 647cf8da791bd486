// NVIDIA-NeMo/Run: nemo_run/core/execution/slurm.py and local.py.
#include "studies/launch/jobs/nemo_executors.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibrate/import/config/python_blocks.h"
#include "calibrate/import/config/python_text.h"
#include "model/base/text.h"

namespace stepcast::launch {
namespace {

using calibrate::handed_values, calibrate::is_python_letter, calibrate::python_parameters, calibrate::python_statements,
    calibrate::python_value, calibrate::PythonNames, calibrate::PythonParameter, calibrate::PythonStatement,
    calibrate::PythonValue;

/// "executor" of "run.run(recipe, executor=executor)": what the run is handed; "" where none is.
std::string_view handed_executor(std::string_view text) {
  constexpr std::string_view keywords[] = {"executor", "default_executor"};
  const bool runs =
      text.find("run(") != text.npos || text.find(".add(") != text.npos || text.find("main(") != text.npos;
  for (std::size_t at = text.find("executor="); runs && at != text.npos; at = text.find("executor=", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_python_letter(text[begin - 1])) --begin;
    const std::string_view value = text.substr(at + std::string_view("executor=").size());
    if (std::ranges::find(keywords, text.substr(begin, at + std::string_view("executor").size() - begin)) ==
        std::end(keywords))
      continue;
    std::size_t end = 0;
    for (int depth = 0; end < value.size(); ++end) {
      const char c = value[end];
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (depth < 0 || (depth == 0 && c == ',')) break;
    }
    return stripped(value.substr(0, end));
  }
  return {};
}

/// Keywords of the executor that a text makes, or that a name holds: set by its call, and later one by one.
class NemoExecutors {
 public:
  explicit NemoExecutors(const std::vector<PythonStatement>& statements) : statements_(statements) {}

  /// Before the statement at `end`. Empty where what makes it is not read.
  [[nodiscard]] PythonNames settings(std::string_view text, std::size_t begin, std::size_t end, int depth = 0) const {
    constexpr int deepest = 4;
    const PythonValue value = python_value(text, 0, {});
    if (depth > deepest) return {};
    if (value.kind != PythonValue::Kind::call) return held(text, begin, end, depth);
    if (value.text.ends_with("Executor")) return PythonNames(value.keywords.begin(), value.keywords.end());
    return given(value, depth);
  }

 private:
  PythonNames held(std::string_view name, std::size_t begin, std::size_t end, int depth) const {
    const auto target = [&](std::size_t i) {
      const std::string_view text = statements_[i].text;
      return stripped(text.substr(0, std::min(text.find('='), text.size())));
    };
    const auto value = [&](std::size_t i) {
      const std::string_view text = statements_[i].text;
      return stripped(text.substr(std::min(text.find('=') + 1, text.size())));
    };
    std::size_t made = end;
    while (made > begin && target(made - 1) != name) --made;
    if (made == begin) return {};
    PythonNames settings_of_name = settings(value(made - 1), begin, made - 1, depth + 1);
    for (std::size_t i = made; i < end; ++i)
      if (target(i).starts_with(name) && target(i)[name.size()] == '.')
        settings_of_name[std::string(target(i).substr(name.size() + 1))] = python_value(value(i), 0, {});
    return settings_of_name;
  }

  /// Of a function of the file: what it returns, with its parameters as the call hands them.
  PythonNames given(const PythonValue& call, int depth) const {
    const std::string def = "def " + call.text + "(";
    const auto start = std::ranges::find_if(
        statements_, [&](const PythonStatement& statement) { return statement.text.starts_with(def); });
    if (start == statements_.end()) return {};
    const auto parameters = python_parameters(start->text);
    const auto handed = handed_values(parameters, call);
    constexpr std::string_view returns = "return ";
    const auto begin = static_cast<std::size_t>(start - statements_.begin()) + 1;
    std::size_t end = begin, last = statements_.size();
    for (; end < statements_.size() && statements_[end].indent > start->indent; ++end)
      if (statements_[end].text.starts_with(returns)) last = end;
    if (last >= end) return {};
    const std::string_view returned = stripped(std::string_view(statements_[last].text).substr(returns.size()));
    PythonNames settings_of_call = settings(returned, begin, last, depth + 1);
    for (auto& [name, value] : settings_of_call)
      for (const PythonParameter& parameter : parameters)
        if (handed && value.kind == PythonValue::Kind::computed && value.text == parameter.name) {
          const auto told = handed->find(parameter.name);
          value = told != handed->end() ? told->second : python_value(parameter.fallback, 0, {});
          break;
        }
    return settings_of_call;
  }

  const std::vector<PythonStatement>& statements_;
};

}  // namespace

void take_nemo_executors(Launch& launch, std::string_view text) {
  const std::vector<PythonStatement> statements = python_statements(text);
  const NemoExecutors executors(statements);
  constexpr int most_runs = 64;
  int runs = 0;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const std::string_view handed = handed_executor(statements[i].text);
    if (handed.empty()) continue;
    if (++runs > most_runs)
      return launch.unfollowed.push_back(fmt::format("{}:{}: more than {} runs are started, and the rest is not read",
          launch.where, statements[i].line, most_runs));
    const PythonNames settings = executors.settings(handed, 0, i);
    const auto count = [&](std::string_view name) {
      const auto found = settings.find(name);
      std::int64_t value = 0;
      if (found == settings.end() || found->second.kind != PythonValue::Kind::literal) return value;
      const std::string& digits = found->second.text;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return error == std::errc() && end == digits.data() + digits.size() ? value : 0;
    };
    const std::int64_t tasks = count("ntasks_per_node"), gpus = count("gpus_per_node"),
                       started = count("torchrun_nproc_per_node");
    const bool single = tasks == 1 || !settings.contains("ntasks_per_node");
    const std::int64_t ranks = started > 0 ? started : single && gpus > 0 ? gpus : tasks;
    for (const auto& [name, value] : {std::pair("nodes", count("nodes")), std::pair("ranks", ranks)})
      if (value > 0)
        launch.arguments.push_back({fmt::format("{}{}", executor_front, name), std::string(handed),
            std::to_string(value), statements[i].line, {}});
  }
}

}  // namespace stepcast::launch
