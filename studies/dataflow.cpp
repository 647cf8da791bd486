// stepcast dataflow: a program of the notation, counted on its architecture and placed on its mesh.
#include "studies/dataflow.h"

#include "model/json_reader.h"
#include "studies/commands.h"
#include "studies/report/dataflow_report.h"

namespace stepcast {

std::string flag_value(const Arguments& arguments, std::string_view name) {
  const auto found = arguments.flags.find(name);
  return found == arguments.flags.end() ? std::string() : found->second;
}

Expected<Imported> read_program(const Arguments& arguments) {
  const std::string& file = arguments.words.front();
  const auto text = read_text_file(file);
  if (!text) return tl::unexpected(text.error());
  auto program = parse(*text, file);
  if (!program) return tl::unexpected(program.error());
  Imported read;
  read.program = std::move(*program);
  return read;
}

Expected<void> dataflow_command(const Arguments& arguments, Console& console) {
  const auto read = read_program(arguments);
  if (!read) return tl::unexpected(read.error());
  const DataflowOptions options{flag_value(arguments, "--op"), read->windows, read->notes};
  const auto report = dataflow_report(read->program, options, arguments.words.front());
  if (!report) return tl::unexpected(report.error());
  console.out << (arguments.has("--json") ? dataflow_json(*report) : dataflow_text(*report));
  return {};
}

}  // namespace stepcast
