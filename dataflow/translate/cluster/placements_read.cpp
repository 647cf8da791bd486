// read_placements(): from where tensors lie to the loop that each axis splits. A loop that indexes a tensor makes it
// Shard there, one that does not Replicate (an input) or Partial (the output); so the placements of one operator
// name at most one loop, and a set that no loop gives is a mistake.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/notation/parser.h"
#include "dataflow/translate/cluster/placements.h"
#include "dataflow/notation/written.h"
#include "model/base/contains.h"
#include "model/errors/error_context.h"
#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

struct PlacementLine {
  std::string tensor, stored, used;  ///< of an output `stored` is what the operator makes, `used` where it is kept
  bool arrow = false;
  Position position;
};

/// One operator with the slots that its lines give, by access: inputs in order, the output last.
struct ReadOperand {
  Access access;
  std::string tensor;
  bool output = false, home_said = false;
  std::vector<Slot> used, home;
  Position position;
};

std::string slot_text(Slot slot) {
  return slot == replicated ? "Replicate" : slot == partial_sum ? "Partial" : fmt::format("Shard({})", slot);
}

bool is_placement_name(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

class PlacementReader {
 public:
  PlacementReader(const std::string& text, const std::string& file, const PlacementSyntax& syntax)
      : text_(text), file_(file), syntax_(syntax) {}

  Expected<MappingProgram> run() {
    read_lines();
    TRY(program_, parse(notation_, file_));
    if (program_.meshes.empty())
      return fail(file_, "the file has no mesh line", "start with one, such as 'mesh x:4 y:2'");
    if (!program_.body.empty())
      return fail(file_, "the file has statements of the notation", "placements say all of it");
    TRY(network_, network_of(program_));
    for (std::size_t o = 0; o < program_.operators.size(); ++o) TRY(read_operator(o));
    for (auto& statement : homes_) program_.body.emplace_back(std::move(statement));
    // Parts that do not divide, a Partial where it must not be: the placer's own errors.
    TRY(placement_view(program_));
    return std::move(program_);
  }

 private:
  /// Sorts lines: placements are kept with the operator before them, everything else goes to the notation's parser at
  /// the same line number.
  void read_lines() {
    int number = 0;
    std::size_t at = 0;
    while (at <= text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      const std::string whole = text_.substr(at, end - at);
      const std::string line(stripped(whole.substr(0, whole.find(syntax_.comment))));
      at = end + 1;
      ++number;
      const Position position{file_, number, static_cast<int>(whole.find_first_not_of(" \t\r") + 1)};
      if (add_placement(line, position)) {
        notation_ += "\n";
      } else if (std::string ours = own_form(line); !ours.empty()) {
        notation_ += ours + "\n";
      } else {
        if (is_operator(line)) lines_.emplace_back();
        notation_ += whole.substr(0, whole.find(syntax_.comment)) + "\n";
      }
    }
  }

  static bool is_operator(const std::string& line) {
    const std::size_t colon = line.find(':');
    return colon != std::string::npos && is_placement_name(std::string(stripped(line.substr(0, colon))));
  }

  std::string own_form(const std::string& line) {
    if (std::string mesh = syntax_.mesh(line); !mesh.empty()) return mesh;
    std::string rule = syntax_.rule(line);
    if (!rule.empty()) lines_.emplace_back();
    return rule;
  }

  bool add_placement(const std::string& line, const Position& position) {
    const std::size_t equal = line.find('=');
    if (equal == std::string::npos || lines_.empty()) return false;
    PlacementLine read{std::string(stripped(line.substr(0, equal))), {}, {}, false, position};
    if (!is_placement_name(read.tensor) || !syntax_.rule(line).empty() || !syntax_.mesh(line).empty()) return false;
    const std::string value = line.substr(equal + 1);
    const std::size_t arrow = value.find("->");
    read.arrow = arrow != std::string::npos;
    read.stored = std::string(stripped(value.substr(0, arrow)));
    if (read.arrow) read.used = std::string(stripped(value.substr(arrow + 2)));
    lines_.back().push_back(std::move(read));
    return true;
  }

  /// The n-th line of a tensor is for its n-th access; a single line is for all of them.
  Expected<const PlacementLine*> line_of(std::size_t op, const std::string& tensor, std::size_t nth) const {
    const PlacementLine* found = nullptr;
    std::size_t seen = 0;
    for (const PlacementLine& line : lines_[op])
      if (line.tensor == tensor && (seen++ == nth || found == nullptr)) found = &line;
    if (found != nullptr) return found;
    const WrittenOperator& written = program_.operators[op];
    return fail(to_text(written.position),
        fmt::format("operator {} has no placement for its tensor {}", written.name, tensor),
        fmt::format("add a line '{} = ...' behind the operator", tensor));
  }

  Expected<void> check_tensors(std::size_t op) const {
    const Operator& o = network_.blocks.front().operators[op];
    std::vector<std::string> names{network_.tensors[o.output.tensor].name};
    for (const Access& input : o.inputs) names.push_back(network_.tensors[input.tensor].name);
    for (const PlacementLine& line : lines_[op])
      if (!contains(names, line.tensor))
        return fail(to_text(line.position), fmt::format("operator {} has no tensor '{}'", o.name, line.tensor),
            name_hint(line.tensor, names));
    return {};
  }

  Expected<ReadOperand> read_operand(std::size_t op, const Access& access, std::size_t nth, bool output) const {
    const Tensor& tensor = network_.tensors[access.tensor];
    TRY(auto line, line_of(op, tensor.name, nth));
    ReadOperand row{access, tensor.name, output, line->arrow, {}, {}, line->position};
    const Monoid monoid = output ? network_.blocks.front().operators[op].monoid : Monoid::sum;
    const auto slots = [&](const std::string& text) {
      return syntax_.place(text, program_.meshes.front(), access.loops.size(), monoid).map_error([&](Error error) {
        if (error.where.empty()) error = error_at(to_text(line->position), std::move(error));
        return error_about(fmt::format("{} '{}'", tensor.name, text), std::move(error));
      });
    };
    TRY(auto first, slots(line->stored));
    row.used = row.home = first;
    if (!line->arrow) return row;
    TRY(auto second, slots(line->used));
    (output ? row.home : row.used) = second;
    return row;
  }

  Expected<void> read_operator(std::size_t op) {
    if (op >= lines_.size()) lines_.resize(op + 1);
    TRY(check_tensors(op));
    const Operator& o = network_.blocks.front().operators[op];
    std::vector<ReadOperand> rows;
    std::map<int, std::size_t> uses;
    for (std::size_t i = 0; i <= o.inputs.size(); ++i) {
      const bool output = i == o.inputs.size();
      const Access& access = output ? o.output : o.inputs[i];
      TRY(auto row, read_operand(op, access, output ? uses[access.tensor] : uses[access.tensor]++, output));
      rows.push_back(std::move(row));
    }
    const MeshLine& mesh = program_.meshes.front();
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) TRY(split_axis(o, mesh.axes[a].name, a, rows));
    for (const ReadOperand& row : rows) TRY(state_home(row));
    return {};
  }

  /// What `loop` makes of the access there; -1 = the operator is not split.
  static Slot expected_slot(const ReadOperand& row, int loop) {
    if (loop < 0) return replicated;
    const auto found = std::ranges::find(row.access.loops, loop);
    if (found != row.access.loops.end()) return static_cast<Slot>(found - row.access.loops.begin());
    const std::vector<int>& rows = row.access.row_loops;  // routed rows lie where their tokens do
    if (contains(rows, loop)) return static_cast<Slot>(row.access.row_dim);
    return row.output ? partial_sum : replicated;
  }

  Expected<void> split_axis(
      const Operator& op, const std::string& axis, std::size_t a, std::vector<ReadOperand>& rows) {
    const auto agrees = [&](int loop) {
      return std::ranges::all_of(rows, [&](const ReadOperand& row) { return row.used[a] == expected_slot(row, loop); });
    };
    if (agrees(-1)) return {};
    for (const int loop : loops_of(op))
      if (agrees(loop)) {
        Statement par{{}, ParStatement{{network_.dims[loop].name}, {axis}, {}}, rows.back().position, {}};
        if (program_.operators.size() > 1) par.scope = {op.name};
        program_.body.emplace_back(std::move(par));
        return {};
      }
    if (passes_partial(a, rows)) return {};
    return inconsistent(op, axis, a, rows);
  }

  /// A sum left unfinished goes through an operator that is not split there (linear in that operand).
  static bool passes_partial(std::size_t a, std::vector<ReadOperand>& rows) {
    const auto whole = [&](const ReadOperand& row) { return row.used[a] == replicated || row.used[a] == partial_sum; };
    if (rows.back().used[a] != partial_sum || !std::ranges::all_of(rows, whole)) return false;
    bool any = false;
    for (ReadOperand& row : rows)
      if (!row.output && row.used[a] == partial_sum) row.home_said = any = true;
    return any;
  }

  tl::unexpected<Error> inconsistent(
      const Operator& op, const std::string& axis, std::size_t a, const std::vector<ReadOperand>& rows) const {
    const auto listed = [&](const auto& slot_of) {
      std::vector<std::string> parts;
      for (const ReadOperand& row : rows) parts.push_back(fmt::format("{} {}", row.tensor, slot_text(slot_of(row))));
      return fmt::format("{}", fmt::join(parts, ", "));
    };
    std::vector<std::string> legal{
        "not split: " + listed([](const ReadOperand& row) { return expected_slot(row, -1); })};
    for (const int loop : loops_of(op))
      legal.push_back(fmt::format("{} split: {}", network_.dims[loop].name,
          listed([&](const ReadOperand& row) { return expected_slot(row, loop); })));
    return fail(to_text(rows.front().position),
        fmt::format("on axis {} no loop of operator {} gives {}", axis, op.name,
            listed([&](const ReadOperand& row) { return row.used[a]; })),
        fmt::format(
            "consistent are: {}. Where a tensor is kept otherwise write 'STORED -> USED'", fmt::join(legal, "; ")));
  }

  /// A home for every axis, once per tensor.
  Expected<void> state_home(const ReadOperand& row) {
    if (!row.home_said) return {};
    const auto [known, added] = stated_.try_emplace(row.tensor, row.home);
    if (!added) {
      if (known->second == row.home) return {};
      return fail(to_text(row.position), fmt::format("{} is stored in two ways", row.tensor),
          "a tensor has one home; operators read it from there");
    }
    HomeStatement home{row.tensor, {}};
    const std::vector<int>& dims =
        network_.tensors[row.access.tensor].dims;  // its own names: reads may walk them by others
    const MeshLine& mesh = program_.meshes.front();
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
      const Slot slot = row.home[a];
      const std::string what = slot == replicated    ? "full"
                               : slot == partial_sum ? "partial"
                                                     : network_.dims[dims[slot]].name;
      home.places.push_back({what, {mesh.axes[a].name}, {}});
    }
    homes_.push_back({{}, std::move(home), row.position, {}});
    return {};
  }

  const std::string& text_;
  const std::string& file_;
  const PlacementSyntax& syntax_;
  std::string notation_;
  std::vector<std::vector<PlacementLine>> lines_;  ///< by operator
  MappingProgram program_;
  Network network_;
  std::vector<Statement> homes_;
  std::map<std::string, std::vector<Slot>> stated_;
};

}  // namespace

Expected<void> cut_by_axes(
    const std::vector<std::string>& names, Slot slot, const MeshLine& mesh, std::vector<Slot>& slots) {
  std::vector<std::string> known;
  for (const MeshLine::Axis& axis : mesh.axes) known.push_back(axis.name);
  std::size_t before = known.size();
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) return fail("", fmt::format("unknown axis '{}'", name), name_hint(name, known));
    const auto index = static_cast<std::size_t>(found - known.begin());
    if (slots[index] != replicated)
      return fail("", fmt::format("axis '{}' stands twice", name), "an axis cuts one dim of a tensor");
    if (index > before && slot != partial_sum)
      return fail("", fmt::format("'{}' behind a faster axis", name),
          "of several axes on one dim the slower cuts first: write it first");
    before = index;
    slots[index] = slot;
  }
  return {};
}

Expected<MappingProgram> read_placements(
    const std::string& text, const std::string& file, const PlacementSyntax& syntax) {
  if (text.size() > (1U << 20U)) return fail(file, fmt::format("found {} bytes of text", text.size()), "at most 1 MiB");
  return PlacementReader(text, file, syntax).run();
}

}  // namespace stepcast::dataflow
