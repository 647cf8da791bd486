#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/chip/resolve/resolve.h"
#include "dataflow/notation/parser.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

std::string spelled_loop(const ForStatement& loop) {
  return fmt::format(
      "for {}:{}{}", loop.dim, loop.count == 0 ? "*" : fmt::format("{}", loop.count), loop.ragged ? "?" : "");
}

bool uses_loop(const WrittenOperator& op, const std::string& loop) {
  const auto in = [&](const WrittenAccess& access) {
    return std::ranges::any_of(access.indices, [&](const WrittenIndex& index) {
      return std::ranges::any_of(index.terms, [&](const WrittenIndex::Term& t) { return t.loop == loop; });
    });
  };
  return in(op.output) || std::ranges::any_of(op.inputs, in);
}

bool uses_tensor(const WrittenOperator& op, const std::string& tensor) {
  return op.output.tensor == tensor ||
         std::ranges::any_of(op.inputs, [&](const WrittenAccess& a) { return a.tensor == tensor; });
}

/// Reads the level lines in text order. A dim or tensor that only another operator in the line's scope has is passed
/// by, as a cluster's `par` passes by the operators without its dim.
class LineReader {
 public:
  LineReader(const MappingProgram& program, ChipProgram& chip)
      : program_(program), op_(written_operator(program, chip.op)), chip_(chip), kept_(chip.levels.size()),
        timed_(chip.levels.size(), false) {}

  Expected<std::vector<LineLoop>> run(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      const auto* line = std::get_if<LevelStatement>(&statement.body);
      if (line == nullptr) continue;
      TRY(check_scope(statement));
      const int level = find_level(line->level);
      if (level < 0) return tl::unexpected(unknown_level(statement, line->level));
      statement_ = &statement;
      for (const auto& item : line->items) TRY(std::visit([&](const auto& i) { return add(level, i); }, item));
    }
    settle_stores();
    return std::move(loops_);
  }

 private:
  struct KeptList {
    bool written = false;
    std::vector<bool> tensors;
    Position position;
  };

  [[nodiscard]] std::string where() const { return to_text(statement_->position); }
  [[nodiscard]] bool applies() const { return holds_for(statement_->scope, op_); }

  Expected<void> check_scope(const Statement& statement) const {
    std::vector<std::string> tags;
    add_tags(program_.operators, tags);
    for (const std::string& tag : statement.scope)
      if (!is_common_tag(tag)) TRY(check_tag(tag, tags, to_text(statement.position), "no operator has"));
    return {};
  }

  [[nodiscard]] int find_level(const std::string& name) const {
    const auto found = std::ranges::find(chip_.levels, name, &ChipLevel::name);
    return found == chip_.levels.end() ? -1 : static_cast<int>(found - chip_.levels.begin());
  }

  [[nodiscard]] Error unknown_level(const Statement& statement, const std::string& name) const {
    return {to_text(statement.position), fmt::format("the arch has no level '{}'", name),
        name_hint(name, names_of(chip_.levels, &ChipLevel::name))};
  }

  /// -1: another operator's.
  Expected<int> find_dim(const std::string& name, const std::string& text) const {
    for (std::size_t d = 0; d < chip_.dims.size(); ++d)
      if (chip_.dims[d].name == name) return static_cast<int>(d);
    std::vector<std::string> names;
    for (const WrittenOperator& op : program_.operators) {
      if (!holds_for(statement_->scope, op)) continue;
      if (uses_loop(op, name)) return -1;
    }
    for (const ChipDim& dim : chip_.dims) names.push_back(dim.name);
    return fail(
        where(), fmt::format("'{}': operator {} has no loop '{}'", text, op_.name, name), name_hint(name, names));
  }

  Expected<void> add(int level, const ChipPar& par) {
    TRY(auto dim, find_dim(par.dim, spelled(par)));
    TRY(auto place, find_axis(program_, chip_, level, par, statement_->position));
    if (applies() && dim >= 0)
      loops_.push_back({dim, place.first, place.second, par.factor, par.ragged, chip_.levels[level].name, spelled(par),
          statement_->position});
    return {};
  }

  Expected<void> add(int level, const ForStatement& loop) {
    TRY(auto dim, find_dim(loop.dim, spelled_loop(loop)));
    if (!applies() || dim < 0) return {};
    timed_[level] = true;
    loops_.push_back(
        {dim, level, -1, loop.count, loop.ragged, chip_.levels[level].name, spelled_loop(loop), statement_->position});
    return {};
  }

  Expected<void> add(int level, const Keep& keep) {
    KeptList list{true, std::vector<bool>(chip_.tensors.size(), false), statement_->position};
    for (const std::string& name : keep.tensors) {
      bool known = false;
      for (const WrittenOperator& op : program_.operators)
        known = known || (holds_for(statement_->scope, op) && uses_tensor(op, name));
      std::vector<std::string> names;
      for (std::size_t t = 0; t < chip_.tensors.size(); ++t) {
        names.push_back(chip_.tensors[t].name);
        if (chip_.tensors[t].name == name) list.tensors[t] = true;
      }
      if (!known)
        return fail(where(),
            fmt::format(
                "level {} keeps '{}', which operator {} does not have", chip_.levels[level].name, name, op_.name),
            name_hint(name, names));
    }
    if (!applies()) return {};
    if (kept_[level].written)
      return fail(where(),
          fmt::format("level {} has a second list of kept tensors; the first stands at {}", chip_.levels[level].name,
              to_text(kept_[level].position)),
          "write one list with all that it keeps");
    kept_[level] = std::move(list);
    return {};
  }

  /// A level stores unless it is units only: axes, and neither a capacity, a list nor a loop in time.
  void settle_stores() {
    for (std::size_t l = 0; l < chip_.levels.size(); ++l) {
      ChipLevel& level = chip_.levels[l];
      const bool stores = level.axes.empty() || level.capacity_bytes > 0 || kept_[l].written || timed_[l];
      level.keeps = kept_[l].written ? kept_[l].tensors : std::vector<bool>(chip_.tensors.size(), stores);
      level.store = contains(level.keeps, true);
    }
  }

  const MappingProgram& program_;
  const WrittenOperator& op_;
  ChipProgram& chip_;
  std::vector<KeptList> kept_;
  std::vector<bool> timed_;
  std::vector<LineLoop> loops_;
  const Statement* statement_ = nullptr;
};

}  // namespace

Expected<std::vector<LineLoop>> resolve_lines(
    const MappingProgram& program, const std::vector<Statement>& statements, ChipProgram& chip) {
  return LineReader(program, chip).run(statements);
}

}  // namespace stepcast::dataflow
