// Timeloop's architecture, problem and mapping as a program of the notation.
// A storage level becomes a level with the same loops in time; what a level spreads in space over the instances inside
// it becomes `par` of the next level inside, X and Y as axes x and y. Arithmetic with instances of its own is a level
// of units only.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dataflow/translate/foreign.h"
#include "dataflow/translate/timeloop/timeloop.h"

namespace stepcast::dataflow {
namespace {

constexpr double bits_per_byte = 8, unsaid_word_bits = 16;  // Timeloop's default word is also the notation's element

/// What each top-level key is for.
enum class TimeloopPart { architecture, problem, mapping, ignored };
struct PartRow {
  std::string_view key;
  TimeloopPart part;
};
constexpr PartRow part_rows[] = {{"architecture", TimeloopPart::architecture}, {"arch", TimeloopPart::architecture},
    {"problem", TimeloopPart::problem}, {"mapping", TimeloopPart::mapping}, {"mapper", TimeloopPart::ignored},
    {"mapspace", TimeloopPart::ignored}, {"mapspace_constraints", TimeloopPart::ignored},
    {"architecture_constraints", TimeloopPart::ignored}, {"constraints", TimeloopPart::ignored},
    {"model", TimeloopPart::ignored}, {"ERT", TimeloopPart::ignored}, {"ART", TimeloopPart::ignored},
    {"ERT_summary", TimeloopPart::ignored}, {"ART_summary", TimeloopPart::ignored},
    {"energy_reference_table", TimeloopPart::ignored}, {"compound_components", TimeloopPart::ignored},
    {"sparse_optimizations", TimeloopPart::ignored}, {"verbose", TimeloopPart::ignored},
    {"output-dir", TimeloopPart::ignored}};

struct Parts {
  std::array<YamlNode, 3> node;  ///< by TimeloopPart
  std::array<bool, 3> found{};
};

void sort_entry(const std::string& key, const YamlNode& value, Parts& parts, ImportLog& log) {
  const auto row = std::ranges::find(part_rows, key, &PartRow::key);
  if (row == std::end(part_rows))
    return log.refuse(value.position, fmt::format("unknown top-level key '{}'", key),
        name_hint(key, names_of(part_rows, &PartRow::key)));
  if (row->part == TimeloopPart::ignored)
    return log.note(value.position, fmt::format("{} left out: the mapping says all that is counted", key));
  const auto slot = static_cast<std::size_t>(row->part);
  if (parts.found[slot])
    return log.refuse(value.position, fmt::format("a second '{}'", key),
        fmt::format("the first stands in {}", parts.node[slot].position.file));
  parts.found[slot] = true;
  parts.node[slot] = value;
}

Parts sort_files(std::span<const SourceFile> files, ImportLog& log) {
  Parts parts;
  for (const SourceFile& file : files) {
    const auto documents = read_yaml(file.text, file.name);
    if (!documents) {
      const Error error = documents.error().error();
      log.refuse({error.where, 0, 0}, error.what, error.hint);
      return parts;
    }
    for (const YamlNode& document : *documents) {
      if (document.kind != YamlNode::Kind::map)
        log.refuse(document.position, "no 'key: value' pairs", "architecture, problem or mapping");
      for (const YamlNode& value : document.entries) sort_entry(value.key, value, parts, log);
    }
  }
  const std::string names = files.empty() ? "timeloop" : files.back().name;
  constexpr std::array<std::string_view, 3> wanted{"architecture", "problem", "mapping"};
  for (std::size_t p = 0; p < wanted.size(); ++p)
    if (!parts.found[p])
      log.refuse({names, 0, 0}, fmt::format("no {} in these files", wanted[p]),
          p == 2 ? "Timeloop's mapper writes one: timeloop-mapper.map.yaml" : "give all files of the run");
  return parts;
}

class TimeloopProgram {
 public:
  TimeloopProgram(const TimeloopArch& arch, const TimeloopProblem& problem,
      const std::vector<TimeloopDirectives>& levels, ImportLog& log)
      : arch_(arch), problem_(problem), directives_(levels), log_(log) {}

  MappingProgram run() {
    program_.dims = problem_.dims;
    for (const auto& space : problem_.spaces) tensors_.push_back(notation_name(space.name, problem_.position, log_));
    program_.operators.push_back(einsum());
    program_.archs.emplace_back();
    program_.archs.front().position = arch_.storage.front().position;
    if (arch_.storage.front().instances != 1)
      log_.refuse(arch_.storage.front().position,
          fmt::format(
              "the outermost level {} has {} instances", arch_.storage.front().name, arch_.storage.front().instances),
          "one instance, with the parallel part inside");
    for (std::size_t l = 0; l < arch_.storage.size() && !log_.failed(); ++l) add_storage(l);
    if (!log_.failed()) add_arithmetic();
    return std::move(program_);
  }

 private:
  WrittenOperator einsum() {
    WrittenOperator op;
    op.name = notation_name(problem_.name, problem_.position, log_);
    op.tags = {op.name};
    op.position = problem_.position;
    for (std::size_t s = 0; s < problem_.spaces.size(); ++s) {
      WrittenAccess access{tensors_[s], problem_.spaces[s].indices};
      if (problem_.spaces[s].read_write) op.output = std::move(access);
      else op.inputs.push_back(std::move(access));
    }
    return op;
  }

  /// Axes from how often the instances outside fit into these, as Timeloop derives its fan-outs.
  std::vector<ArchLevel::Axis> axes_inside(const TimeloopLevel* outer, const TimeloopLevel& level) {
    if (!outer) return {};
    if (level.mesh_x % outer->mesh_x != 0 || level.mesh_y % outer->mesh_y != 0)
      log_.refuse(level.position,
          fmt::format("{} on a mesh of {} x {} inside {} on {} x {}", level.name, level.mesh_x, level.mesh_y,
              outer->name, outer->mesh_x, outer->mesh_y),
          "both sides must be multiples");
    std::vector<ArchLevel::Axis> axes;
    if (level.mesh_x > outer->mesh_x) axes.push_back({"x", level.mesh_x / outer->mesh_x});
    if (level.mesh_y > outer->mesh_y) axes.push_back({"y", level.mesh_y / outer->mesh_y});
    return axes;
  }

  ArchLevel& add_level(const TimeloopLevel* outer, const TimeloopLevel& level) {
    ArchLevel out;
    out.name = notation_name(level.name, level.position, log_);
    out.axes = axes_inside(outer, level);
    out.position = level.position;
    return program_.archs.front().levels.emplace_back(std::move(out));
  }

  void add_storage(std::size_t l) {
    const TimeloopLevel& level = arch_.storage[l];
    ArchLevel& out = add_level(l == 0 ? nullptr : &arch_.storage[l - 1], level);
    const double word_bytes = (level.word_bits > 0 ? level.word_bits : unsaid_word_bits) / bits_per_byte;
    if (level.entries > 0) out.properties.push_back(arch_property("cap", level.entries * word_bytes));
    if (level.words_per_cycle > 0)
      out.properties.push_back(arch_property("bw", level.words_per_cycle * word_bytes, true));
    if (level.word_bits > 0) out.properties.push_back(arch_property("word", level.word_bits));
    if (level.buffers > 1) out.properties.push_back(arch_property("buffers", static_cast<double>(level.buffers)));

    std::vector<LevelItem> items;
    if (l > 0) add_space(directives_[l - 1].spatial, out, items);
    add_time(directives_[l].temporal, items);
    Keep keep;
    for (std::size_t s = 0; s < tensors_.size(); ++s)
      if (directives_[l].keep[s]) keep.tensors.push_back(tensors_[s]);
    items.emplace_back(std::move(keep));
    program_.body.emplace_back(level_line(out.name, std::move(items),
        directives_[l].temporal.written ? directives_[l].temporal.position : level.position));
  }

  void add_arithmetic() {
    const TimeloopLoops& spatial = directives_.back().spatial;
    const ArchLevel out = add_level(&arch_.storage.back(), arch_.arithmetic);
    std::vector<LevelItem> items;
    add_space(spatial, out, items);
    if (out.axes.empty())
      return program_.archs.front().levels.pop_back();  // one unit per instance of the innermost storage
    items.emplace_back(Keep{});
    program_.body.emplace_back(
        level_line(out.name, std::move(items), spatial.written ? spatial.position : arch_.arithmetic.position));
  }

  /// Outer to inner: what lies on Y, then what lies on X, each against the permutation.
  void add_space(const TimeloopLoops& loops, const ArchLevel& level, std::vector<LevelItem>& items) {
    for (std::size_t i = loops.inner_to_outer.size(); i-- > 0;) {
      const TimeloopFactor& factor = loops.inner_to_outer[i];
      if (factor.end == 1) continue;
      const std::string axis = static_cast<std::int64_t>(i) < loops.split ? "x" : "y";
      if (std::ranges::none_of(level.axes, [&](const ArchLevel::Axis& a) { return a.name == axis; }))
        return log_.refuse(loops.position,
            fmt::format("{}{} in space on {}, where {} has one unit", problem_.dims[factor.dim].name, factor.end,
                axis == "x" ? "X" : "Y", level.name),
            "look at split, and at meshX and instances of the level inside");
      items.emplace_back(ChipPar{problem_.dims[factor.dim].name, axis, factor.end, factor.residual != factor.end});
    }
  }

  void add_time(const TimeloopLoops& loops, std::vector<LevelItem>& items) const {
    for (std::size_t i = loops.inner_to_outer.size(); i-- > 0;) {
      const TimeloopFactor& factor = loops.inner_to_outer[i];
      if (factor.end > 1)
        items.emplace_back(ForStatement{problem_.dims[factor.dim].name, factor.end, factor.residual != factor.end});
    }
  }

  const TimeloopArch& arch_;
  const TimeloopProblem& problem_;
  const std::vector<TimeloopDirectives>& directives_;
  ImportLog& log_;
  std::vector<std::string> tensors_;
  MappingProgram program_;
};

}  // namespace

Expected<Imported> from_timeloop(std::span<const SourceFile> files) {
  ImportLog log;
  const auto refused = [&] { return tl::unexpected(log.error()); };
  const Parts parts = sort_files(files, log);
  if (log.failed()) return refused();
  const TimeloopArch arch = timeloop_arch(parts.node[0], log);
  if (log.failed()) return refused();
  const TimeloopProblem problem = timeloop_problem(parts.node[1], log);
  if (log.failed()) return refused();
  const std::vector<TimeloopDirectives> mapping = timeloop_mapping(parts.node[2], arch, problem, log);
  if (log.failed()) return refused();
  Imported imported{TimeloopProgram(arch, problem, mapping, log).run(), {}, Windows::timeloop};
  if (log.failed()) return refused();
  imported.notes = log.notes();
  return imported;
}

}  // namespace stepcast::dataflow
