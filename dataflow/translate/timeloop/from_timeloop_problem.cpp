// Timeloop's problems: a shape (dims, data spaces, projections) and an instance (extents, coefficients).
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "dataflow/translate/timeloop/timeloop.h"

namespace stepcast::dataflow {
namespace {

/// Shapes that problems call by name (Timeloop's problem-shapes folder).
struct NamedShape {
  std::string_view name;  // as shape_key() makes it
  const char* yaml;
};
constexpr std::array named_shapes{NamedShape{"cnn_layer", R"(
name: cnn_layer
dimensions: [R, S, P, Q, C, K, N]
coefficients:
- {name: Wstride, default: 1}
- {name: Hstride, default: 1}
- {name: Wdilation, default: 1}
- {name: Hdilation, default: 1}
data-spaces:
- {name: Weights, projection: [[[C]], [[K]], [[R]], [[S]]]}
- {name: Inputs, projection: [[[N]], [[C]], [[R, Wdilation], [P, Wstride]], [[S, Hdilation], [Q, Hstride]]]}
- {name: Outputs, projection: [[[N]], [[K]], [[Q]], [[P]]], read-write: true}
)"},
    NamedShape{"gemm_abz", R"(
name: gemm_ABZ
dimensions: [M, N, K]
data-spaces:
- {name: A, projection: [[[M]], [[K]]]}
- {name: B, projection: [[[N]], [[K]]]}
- {name: Z, projection: [[[M]], [[N]]], read-write: true}
)"}};

std::string shape_key(std::string name) {
  if (const std::size_t dot = name.find('.'); dot != std::string::npos) name.resize(dot);
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return name;
}

class ProblemReader {
 public:
  ProblemReader(const YamlNode& node, ImportLog& log) : node_(node), log_(log) {}

  TimeloopProblem run() {
    problem_.position = node_.position;
    const YamlNode* shape = node_.find("shape");
    if (!shape) log_.note(node_.position, "no shape is given; cnn-layer is taken, as Timeloop does");
    const std::string name = !shape ? "cnn-layer" : shape->text;
    if (shape && shape->kind == YamlNode::Kind::map) read_all(*shape);
    else if (const auto known = named_shape(name, shape)) read_all(*known);
    return problem_;
  }

 private:
  std::optional<YamlNode> named_shape(const std::string& name, const YamlNode* where) {
    std::vector<std::string> names;
    for (const NamedShape& row : named_shapes) {
      if (row.name == shape_key(name)) return read_yaml(row.yaml, fmt::format("shape {}", name))->front();
      names.emplace_back(row.name);
    }
    log_.refuse(where->position, fmt::format("unknown shape '{}'", name),
        name_hint(shape_key(name), names) + ", or write the shape out");
    return {};
  }

  void read_all(const YamlNode& shape) {
    for (const YamlNode& value : shape.entries) {
      const std::string name = timeloop_key(value.key);
      if (name == "name") problem_.name = value.text;
      else if (name == "dimensions") read_dims(value);
      else if (name == "coefficients") read_coefficients(value);
      else if (name == "flatten")
        return log_.refuse(value.position, "flattened dimensions", "map the dimensions themselves");
      else if (name != "data_spaces" && name != "version")
        return refuse_key(value.key, value, {"name", "dimensions", "coefficients", "data_spaces"});
    }
    if (problem_.name.empty()) problem_.name = "op";
    if (problem_.dims.empty()) log_.refuse(shape.position, "a shape without dimensions", "add 'dimensions: [M, N, K]'");
    if (!log_.failed()) read_instance();
    if (!log_.failed()) read_spaces(shape);
  }

  void read_dims(const YamlNode& list) {
    for (const std::string& name : timeloop_words(list, "dimensions", log_)) {
      if (dim_index(name))
        return log_.refuse(list.position, fmt::format("dimension {} stands twice", name), "each dimension once");
      if (notation_name(name, list.position, log_) != name)
        return log_.refuse(list.position, fmt::format("dimension '{}'", name), "letters, digits and '_'");
      problem_.dims.push_back({name, 0});
    }
  }

  void read_coefficients(const YamlNode& list) {
    for (const YamlNode& item : list.items) {
      const YamlNode *name = item.find("name"), *value = item.find("default");
      if (!name || name->text.empty())
        return log_.refuse(item.position, "a coefficient without a name", "name: Wstride, default: 1");
      coefficients_.push_back({name->text, value ? timeloop_whole(*value, 1, "default", log_) : 0});
    }
  }

  /// Extents may stand under `instance`, or right beside the shape as in old files.
  void read_instance() {
    const YamlNode* instance = node_.find("instance");
    const YamlNode& source = instance ? *instance : node_;
    for (const YamlNode& value : source.entries) {
      if (const auto dim = dim_index(value.key)) problem_.dims[*dim].extent = timeloop_whole(value, 1, value.key, log_);
      else if (std::int64_t* coefficient = coefficient_value(value.key))
        *coefficient = timeloop_whole(value, 1, value.key, log_);
      else if (value.key == "densities" || value.key == "commonDensity")
        log_.note(value.position, fmt::format("{} left out: tensors are counted dense", value.key));
      else if (instance || (value.key != "shape" && value.key != "version"))
        return refuse_key(value.key, value, bound_names());
    }
    for (const Dim& dim : problem_.dims)
      if (dim.extent == 0)
        return log_.refuse(source.position, fmt::format("dimension {} has no extent", dim.name),
            fmt::format("add '{}: 1' to the instance", dim.name));
    for (const auto& [name, value] : coefficients_)
      if (value == 0)
        return log_.refuse(source.position, fmt::format("coefficient {} has neither a default nor a value", name),
            fmt::format("add '{}: 1' to the instance", name));
  }

  void read_spaces(const YamlNode& shape) {
    for (const YamlNode& list : shape.entries)
      if (timeloop_key(list.key) == "data_spaces")
        for (const YamlNode& item : list.items) read_space(item);
    const auto written = std::ranges::count_if(problem_.spaces, [](const auto& s) { return s.read_write; });
    if (!log_.failed() && (written != 1 || problem_.spaces.size() < 2))
      log_.refuse(shape.position, fmt::format("{} data spaces, {} of them read-write", problem_.spaces.size(), written),
          "one result (read-write: true) and at least one operand");
  }

  void read_space(const YamlNode& item) {
    TimeloopProblem::Space space;
    const YamlNode* projection = nullptr;
    for (const YamlNode& value : item.entries) {
      const std::string name = timeloop_key(value.key);
      if (name == "name") space.name = value.text;
      else if (name == "projection") projection = &value;
      else if (name == "read_write")
        space.read_write = value.text == "true" || value.text == "True" || value.text == "TRUE";
      else return refuse_key(value.key, value, {"name", "projection", "read_write"});
    }
    if (space.name.empty() || !projection)
      return log_.refuse(
          item.position, "a data space without name and projection", "- name: A, projection: [ [[M]], [[K]] ]");
    for (const auto& other : problem_.spaces)
      if (other.name == space.name)
        return log_.refuse(
            item.position, fmt::format("data space {} stands twice", space.name), "each data space once");
    if (projection->kind != YamlNode::Kind::list)
      return log_.refuse(projection->position, "a projection that is no list",
          "[ [[M]], [[K]] ]: one list of terms per dimension of the tensor");
    for (const YamlNode& index : projection->items) space.indices.push_back(read_index(index));
    problem_.spaces.push_back(std::move(space));
  }

  /// [[R, Wdilation], [P, Wstride]] is a sum of terms; a bare word is one dim.
  WrittenIndex read_index(const YamlNode& index) {
    WrittenIndex out;
    if (index.kind == YamlNode::Kind::scalar) return {{read_term({index.text}, index)}};
    for (const YamlNode& term : index.items)
      out.terms.push_back(read_term(timeloop_words(term, "a term of a projection", log_), term));
    if (out.terms.empty()) log_.refuse(index.position, "an index without terms", "[[M]], or [[R], [P, 2]]");
    return out;
  }

  WrittenIndex::Term read_term(const std::vector<std::string>& words, const YamlNode& where) {
    if (words.empty() || words.size() > 2)
      return log_.refuse(
                 where.position, "a term is a dimension, or a dimension and its coefficient", "[P] or [P, Wstride]"),
             WrittenIndex::Term{};
    if (!dim_index(words[0])) {
      log_.refuse(where.position, fmt::format("unknown dimension '{}'", words[0]), name_hint(words[0], dim_names()));
      return {};
    }
    if (words.size() == 1) return {words[0], 1};
    if (const auto number = whole_number(words[1]); number && *number > 0) return {words[0], *number};
    if (const std::int64_t* value = coefficient_value(words[1])) return {words[0], *value};
    log_.refuse(where.position, fmt::format("unknown coefficient '{}'", words[1]), "declare it under coefficients");
    return {};
  }

  void refuse_key(const std::string& key, const YamlNode& value, const std::vector<std::string>& known) {
    log_.refuse(value.position, fmt::format("unknown key '{}'", key), name_hint(timeloop_key(key), known));
  }

  std::optional<std::size_t> dim_index(const std::string& name) const {
    for (std::size_t d = 0; d < problem_.dims.size(); ++d)
      if (problem_.dims[d].name == name) return d;
    return {};
  }
  std::int64_t* coefficient_value(const std::string& name) {
    for (auto& [known, value] : coefficients_)
      if (known == name) return &value;
    return nullptr;
  }
  std::vector<std::string> dim_names() const { return names_of(problem_.dims, &Dim::name); }
  std::vector<std::string> bound_names() const {
    std::vector<std::string> names = dim_names();
    for (const auto& coefficient : coefficients_) names.push_back(coefficient.first);
    return names;
  }

  const YamlNode& node_;
  ImportLog& log_;
  TimeloopProblem problem_;
  std::vector<std::pair<std::string, std::int64_t>> coefficients_;
};

}  // namespace

TimeloopProblem timeloop_problem(const YamlNode& node, ImportLog& log) { return ProblemReader(node, log).run(); }

std::string timeloop_key(const std::string& key) {
  std::string out = key;
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

std::int64_t timeloop_whole(const YamlNode& node, std::int64_t least, const std::string& what, ImportLog& log) {
  if (const auto value = whole_number(node.text); value && *value >= least) return *value;
  log.refuse(
      node.position, fmt::format("{} is '{}'", what, node.text), fmt::format("a whole number from {} to 2^40", least));
  return least;
}

double timeloop_number(const YamlNode& node, double least, const std::string& what, ImportLog& log) {
  const std::optional<double> value = real_number(node.text);
  if (value && *value >= least) return *value;
  log.refuse(node.position, fmt::format("{} is '{}'", what, node.text), fmt::format("a number of at least {}", least));
  return least;
}

std::vector<std::string> timeloop_words(const YamlNode& node, const std::string& what, ImportLog& log) {
  if (node.kind == YamlNode::Kind::scalar) return {node.text};
  std::vector<std::string> words;
  if (node.kind == YamlNode::Kind::map)
    log.refuse(node.position, fmt::format("{} is no list of words", what), "[A, B]");
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::scalar)
      log.refuse(item.position, fmt::format("{} is no list of words", what), "[A, B]");
    words.push_back(item.text);
  }
  return words;
}

}  // namespace stepcast::dataflow
