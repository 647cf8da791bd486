// Timeloop's mappings: one directive per storage level and kind, factors and permutations as short strings.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "dataflow/notation/lexer.h"
#include "dataflow/translate/timeloop/timeloop.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

constexpr std::array<std::string_view, 7> directive_keys{
    "target", "type", "factors", "permutation", "split", "keep", "bypass"};

bool is_number_digit(char c) { return c >= '0' && c <= '9'; }

class MappingReader {
 public:
  MappingReader(const TimeloopArch& arch, const TimeloopProblem& problem, ImportLog& log)
      : arch_(arch), problem_(problem), log_(log), levels_(arch.storage.size()) {
    for (TimeloopDirectives& level : levels_) level.keep.assign(problem.spaces.size(), true);  // Timeloop's default
  }

  std::vector<TimeloopDirectives> run(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::list)
      log_.refuse(node.position, "a mapping that is no list of directives",
          "- target: DRAM, type: temporal, factors: M4, permutation: MNK");
    for (const YamlNode& directive : node.items)
      if (!log_.failed()) read(directive);
    for (TimeloopDirectives& level : levels_)
      for (TimeloopLoops* loops : {&level.temporal, &level.spatial}) complete(*loops);
    if (!log_.failed()) fill_rests(node);
    if (!log_.failed()) check_residuals();
    return std::move(levels_);
  }

 private:
  void read(const YamlNode& directive) {
    for (const YamlNode& value : directive.entries)
      if (!contains(directive_keys, value.key))
        return log_.refuse(value.position, fmt::format("'{}' of a directive has no word in the notation", value.key),
            name_hint(value.key, std::vector<std::string>(directive_keys.begin(), directive_keys.end())));
    const YamlNode *target = directive.find("target"), *type = directive.find("type");
    if (!target || !type)
      return log_.refuse(directive.position, "a directive without target and type", "target: NAME, type: temporal");
    const auto level = find_level(*target);
    if (!level) return;
    if (type->text == "datatype" || type->text == "bypass") return read_keep(directive, levels_[*level]);
    if (type->text == "temporal") return read_loops(directive, levels_[*level].temporal);
    if (type->text == "spatial") return read_loops(directive, levels_[*level].spatial);
    log_.refuse(type->position, fmt::format("directives of type '{}' have no word in the notation", type->text),
        "temporal, spatial, datatype or bypass");
  }

  /// By name, or by number from the innermost storage level.
  std::optional<std::size_t> find_level(const YamlNode& target) {
    std::vector<std::string> names;
    for (std::size_t l = 0; l < arch_.storage.size(); ++l) {
      if (arch_.storage[l].name == target.text) return l;
      names.push_back(arch_.storage[l].name);
    }
    const auto number = whole_number(target.text);
    if (number && *number < static_cast<std::int64_t>(names.size()))
      return names.size() - 1 - static_cast<std::size_t>(*number);
    log_.refuse(target.position, fmt::format("the architecture has no storage level '{}'", target.text),
        name_hint(target.text, names));
    return {};
  }

  void read_keep(const YamlNode& directive, TimeloopDirectives& level) {
    for (const auto& [key, kept] : {std::pair{"keep", true}, std::pair{"bypass", false}}) {
      const YamlNode* list = directive.find(key);
      if (!list || list->kind == YamlNode::Kind::null) continue;
      for (const std::string& name : timeloop_words(*list, key, log_)) {
        std::vector<std::string> names;
        for (const auto& space : problem_.spaces) names.push_back(space.name);
        const auto found = std::ranges::find(names, name);
        if (found == names.end())
          return log_.refuse(
              list->position, fmt::format("the problem has no data space '{}'", name), name_hint(name, names));
        level.keep[found - names.begin()] = kept;
      }
    }
  }

  void read_loops(const YamlNode& directive, TimeloopLoops& loops) {
    if (loops.written)
      return log_.refuse(directive.position, "a second directive for this target and type", "keep one");
    loops.written = true;
    loops.position = directive.position;
    loops.split = static_cast<std::int64_t>(problem_.dims.size());  // all on X
    if (const YamlNode* order = directive.find("permutation")) read_permutation(*order, loops);
    complete(loops);
    if (const YamlNode* factors = directive.find("factors")) read_factors(*factors, loops);
    if (const YamlNode* split = directive.find("split")) loops.split = timeloop_whole(*split, 0, "split", log_);
  }

  /// "MNK", "M N K" or [M, N, K], inner to outer.
  void read_permutation(const YamlNode& node, TimeloopLoops& loops) {
    for (const std::string& text : timeloop_words(node, "permutation", log_))
      for (std::size_t at = 0; at < text.size() && !log_.failed();) {
        if (text[at] == ' ' || text[at] == ',') {
          ++at;
          continue;
        }
        const std::size_t end =
            std::find_if(text.begin() + at, text.end(), [](char c) { return c == ' ' || c == ','; }) - text.begin();
        const auto dim = longest_dim(text.substr(at, end - at));
        if (!dim) return refuse_dim(node, text.substr(at, end - at));
        for (const TimeloopFactor& other : loops.inner_to_outer)
          if (other.dim == *dim)
            return log_.refuse(node.position,
                fmt::format("permutation '{}' has {} twice", text, problem_.dims[*dim].name), "each dimension once");
        loops.inner_to_outer.push_back({*dim, 1, 1});
        at += problem_.dims[*dim].name.size();
      }
  }

  /// Timeloop adds the dims that a permutation leaves out behind it, in the shape's order.
  void complete(TimeloopLoops& loops) const {
    for (int d = 0; d < static_cast<int>(problem_.dims.size()); ++d)
      if (std::ranges::none_of(loops.inner_to_outer, [&](const TimeloopFactor& f) { return f.dim == d; }))
        loops.inner_to_outer.push_back({d, 1, 1});
  }

  /// "C4 M32 R=3,2": rounds, and after a comma those of the last time. 0 = what is left.
  void read_factors(const YamlNode& node, TimeloopLoops& loops) {
    for (std::string text : timeloop_words(node, "factors", log_)) {
      text.resize(std::min(text.find('#'), text.size()));
      std::vector<int> seen;
      for (std::size_t at = skip(text, 0); at < text.size() && !log_.failed(); at = skip(text, at)) {
        const std::size_t start = at;
        while (at < text.size() && is_letter(text[at])) ++at;
        const auto dim = exact_dim(text.substr(start, at - start));
        if (!dim) return refuse_dim(node, text.substr(start, std::max<std::size_t>(at - start, 1)));
        if (contains(seen, *dim))
          return log_.refuse(node.position, fmt::format("factors '{}' have {} twice", text, problem_.dims[*dim].name),
              "each dimension once");
        seen.push_back(*dim);
        while (at < text.size() && (text[at] == ' ' || text[at] == '=')) ++at;
        TimeloopFactor& factor = *std::ranges::find(loops.inner_to_outer, *dim, &TimeloopFactor::dim);
        factor.end = factor.residual = read_count(node, text, at, 0);
        if (at + 1 < text.size() && text[at] == ',' && is_number_digit(text[at + 1]))
          factor.residual = read_count(node, text, ++at, 1);
      }
    }
  }

  std::int64_t read_count(const YamlNode& node, const std::string& text, std::size_t& at, std::int64_t least) {
    const std::size_t start = at;
    while (at < text.size() && is_number_digit(text[at])) ++at;
    const auto value = whole_number(std::string_view(text).substr(start, at - start));
    if (value && *value >= least) return *value;
    log_.refuse(node.position, fmt::format("factors '{}' lack a whole number at character {}", text, start + 1),
        "M4 N8 K1, or M=4,N=8,K=1");
    return 1;
  }

  static std::size_t skip(const std::string& text, std::size_t at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == ',' || text[at] == ';' || text[at] == '\t')) ++at;
    return at;
  }

  std::optional<int> exact_dim(std::string_view name) const {
    for (int d = 0; d < static_cast<int>(problem_.dims.size()); ++d)
      if (problem_.dims[d].name == name) return d;
    return {};
  }
  /// The longest dim that `text` begins with: "MNK" has no spaces.
  std::optional<int> longest_dim(std::string_view text) const {
    std::optional<int> best;
    for (int d = 0; d < static_cast<int>(problem_.dims.size()); ++d)
      if (text.starts_with(problem_.dims[d].name) &&
          (!best || problem_.dims[d].name.size() > problem_.dims[*best].name.size()))
        best = d;
    return best;
  }
  void refuse_dim(const YamlNode& node, const std::string& text) {
    log_.refuse(node.position, fmt::format("the problem has no dimension '{}' (in '{}')", text, node.text),
        name_hint(text, names_of(problem_.dims, &Dim::name)));
  }

  template <typename Visit> void each_factor(int dim, const Visit& visit) {  // outer to inner
    for (TimeloopDirectives& level : levels_)
      for (TimeloopLoops* loops : {&level.temporal, &level.spatial})
        for (TimeloopFactor& factor : loops->inner_to_outer)
          if (factor.dim == dim) visit(factor);
  }

  void fill_rests(const YamlNode& node) {
    for (int d = 0; d < static_cast<int>(problem_.dims.size()); ++d) {
      std::int64_t product = 1, rests = 0;
      each_factor(d, [&](const TimeloopFactor& f) {
        rests += f.end == 0;
        if (f.end > 1) product = capped_product(product, f.end);
      });
      if (rests == 0) continue;
      const Dim& dim = problem_.dims[d];
      if (rests > 1 || dim.extent % product != 0)
        return log_.refuse(node.position,
            fmt::format("{}0: {} is left {} times beside a product of {}", dim.name, dim.extent, rests, product),
            "one factor of 0 per dimension, the others dividing it");
      each_factor(d, [&](TimeloopFactor& f) {
        if (f.end == 0) f.end = f.residual = dim.extent / product;
      });
    }
  }

  /// The last index of a dim has, at each loop, its residual's last value: the residuals must give the extent.
  void check_residuals() {
    for (int d = 0; d < static_cast<int>(problem_.dims.size()); ++d) {
      std::int64_t last = 0;
      bool imperfect = false;
      each_factor(d, [&](const TimeloopFactor& f) {
        imperfect = imperfect || f.residual != f.end;
        last = capped_product(last, f.end) + f.residual - 1;
        if (f.residual > f.end)
          log_.refuse(problem_.position,
              fmt::format("{}{},{}: the last rounds exceed the others", problem_.dims[d].name, f.end, f.residual),
              "last rounds of at most the others");
      });
      if (imperfect && last + 1 != problem_.dims[d].extent)
        log_.refuse(problem_.position,
            fmt::format("the factors of {} with their last rounds give {}, its extent is {}", problem_.dims[d].name,
                last + 1, problem_.dims[d].extent),
            "factors that give the extent");
    }
  }

  const TimeloopArch& arch_;
  const TimeloopProblem& problem_;
  ImportLog& log_;
  std::vector<TimeloopDirectives> levels_;
};

}  // namespace

std::vector<TimeloopDirectives> timeloop_mapping(
    const YamlNode& node, const TimeloopArch& arch, const TimeloopProblem& problem, ImportLog& log) {
  return MappingReader(arch, problem, log).run(node);
}

}  // namespace stepcast::dataflow
