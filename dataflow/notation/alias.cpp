// Aliases: names for lists of statements. builtin_aliases() reads the shipped files, expand() writes every `use` out.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/notation/embedded_aliases.h"
#include "dataflow/notation/parser.h"
#include "model/errors/carried.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

/// Far above any plan. Without it a text of 1 MiB that uses one long alias again and again would fill the memory.
constexpr std::size_t most_statements = 10'000;

std::vector<Alias> read_builtin_aliases() {
  std::vector<Alias> all;
  for (const EmbeddedFile& file : embedded_aliases()) {
    MappingProgram program = carried(parse(std::string(file.text), fmt::format("aliases/{}", file.name)));
    for (Alias& alias : program.aliases) {
      for (Statement& statement : alias.statements) statement.alias = alias.name;
      all.push_back(std::move(alias));
    }
  }
  return all;
}

/// Writes one program's body out. Axes are looked up in its mesh lines.
class Expander {
 public:
  explicit Expander(const MappingProgram& program) : program_(program) {}

  Expected<std::vector<Statement>> run() {
    statements_.reserve(4 * program_.body.size());  // an alias has one to four statements as a rule
    for (const auto& item : program_.body) {
      const auto* use = std::get_if<Use>(&item);
      TRY(use != nullptr ? add_uses(*use) : add_own(std::get<Statement>(item)));
    }
    return std::move(statements_);
  }

 private:
  Expected<void> add_own(const Statement& statement) {
    statements_.push_back(statement);
    const std::string unknown = unknown_axis(statements_.back(), Absent::refused);
    if (unknown.empty()) return check_count(statement.position);
    return fail(to_text(statement.position), fmt::format("found axis '{}', which no mesh line has", unknown),
        axis_hint(unknown));
  }

  Expected<void> add_uses(const Use& use) {
    for (const std::string& name : use.names) {
      const Alias* alias = find_alias(name);
      if (alias == nullptr)
        return fail(
            to_text(use.position), fmt::format("found unknown alias '{}'", name), name_hint(name, alias_names()));
      TRY(add_alias(use, *alias));
    }
    return {};
  }

  Expected<void> add_alias(const Use& use, const Alias& alias) {
    for (const Statement& statement : alias.statements) {
      statements_.push_back(statement);
      Statement& copy = statements_.back();
      copy.alias = alias.name;
      const std::string unknown = unknown_axis(copy, Absent::dropped_from_products);
      if (!unknown.empty())
        return fail(to_text(use.position),
            fmt::format(
                "alias '{}' needs axis '{}', which no mesh line has, for '{}'", alias.name, unknown, print(statement)),
            axis_hint(unknown));
      TRY(check_count(use.position));
    }
    return {};
  }

  [[nodiscard]] Expected<void> check_count(const Position& where) const {
    if (statements_.size() <= most_statements) return {};
    return fail(to_text(where), fmt::format("the aliases expand to more than {} statements", most_statements),
        "fewer uses of aliases that use others");
  }

  enum class Absent { refused, dropped_from_products };

  /// The first axis that no mesh line has, or "". Inside an alias absent axes leave a product as long as one stays.
  std::string unknown_axis(Statement& statement, Absent absent) const {
    const auto in_product = [&](std::vector<std::string>& axes) {
      return absent == Absent::refused ? first_unknown(axes) : drop_unknown(axes);
    };
    if (auto* par = std::get_if<ParStatement>(&statement.body)) return in_product(par->axes);
    if (auto* stage = std::get_if<StageStatement>(&statement.body)) return known(stage->axis) ? "" : stage->axis;
    if (auto* move = std::get_if<MoveStatement>(&statement.body)) return known_or_unset(move->dedupe);
    if (auto* home = std::get_if<HomeStatement>(&statement.body)) {
      for (HomePlace& place : home->places) {
        if (std::string unknown = in_product(place.axes); !unknown.empty()) return unknown;
        if (std::string unknown = known_or_unset(place.skew); !unknown.empty()) return unknown;
      }
    }
    return {};
  }

  [[nodiscard]] std::string known_or_unset(const std::string& axis) const {
    return axis.empty() || known(axis) ? std::string{} : axis;
  }

  [[nodiscard]] std::string first_unknown(const std::vector<std::string>& axes) const {
    const auto unknown = std::ranges::find_if(axes, [&](const std::string& a) { return !known(a); });
    return unknown == axes.end() ? std::string{} : *unknown;
  }

  std::string drop_unknown(std::vector<std::string>& axes) const {
    const std::string unknown = first_unknown(axes);
    std::erase_if(axes, [&](const std::string& axis) { return !known(axis); });
    return axes.empty() ? unknown : std::string{};
  }

  [[nodiscard]] bool known(const std::string& name) const {
    for (const MeshLine& mesh : program_.meshes)
      for (const MeshLine::Axis& axis : mesh.axes)
        if (axis.name == name) return true;
    return false;
  }

  [[nodiscard]] std::string axis_hint(const std::string& unknown) const {
    std::vector<std::string> axes;
    for (const MeshLine& mesh : program_.meshes)
      for (const MeshLine::Axis& axis : mesh.axes)
        if (!contains(axes, axis.name)) axes.push_back(axis.name);
    if (axes.empty()) return fmt::format("the program has no mesh line; write one, such as 'mesh {}:8'", unknown);
    const std::string near = nearest_name(unknown, axes);
    return fmt::format("{}axes: {}; an axis of one rank is written {}:1",
        near.empty() ? "" : fmt::format("did you mean '{}'? ", near), fmt::join(axes, ", "), unknown);
  }

  [[nodiscard]] const Alias* find_alias(const std::string& name) const {
    for (const auto* aliases : {&program_.aliases, &builtin_aliases()})
      for (const Alias& alias : *aliases)
        if (alias.name == name) return &alias;
    return nullptr;
  }

  [[nodiscard]] std::vector<std::string> alias_names() const {
    std::vector<std::string> names;
    for (const auto* aliases : {&program_.aliases, &builtin_aliases()})
      for (const Alias& alias : *aliases) names.push_back(alias.name);
    return names;
  }

  const MappingProgram& program_;
  std::vector<Statement> statements_;
};

}  // namespace

const std::vector<Alias>& builtin_aliases() {
  static const std::vector<Alias> aliases = read_builtin_aliases();
  return aliases;
}

Expected<std::vector<Statement>> expand(const MappingProgram& program) { return Expander(program).run(); }

}  // namespace stepcast::dataflow
