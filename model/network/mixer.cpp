#include "model/network/mixer.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/row_text.h"
#include "model/network/embedded_mixers.h"

namespace stepcast {
namespace {

using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

constexpr IntegerRange size_range{1, 10'000'000};
/// Takes the first word off a text; "" where there is none.
std::string_view take_word(std::string_view& text) {
  constexpr std::string_view spaces = " \t\n\v\f\r";
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(spaces)));
  const std::string_view word = text.substr(0, text.find_first_of(spaces));
  text.remove_prefix(word.size());
  return word;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) words.emplace_back(word);
  return words;
}

/// What stands between a mixer's products and scans.
constexpr const char* mixer_functions[] = {"conv", "square", "rmsnorm", "layernorm", "swiglu", "geglu", "gelu", "relu",
    "squared_relu", "sigmoid_gate", "multiply", "add", "bias", "scale"};

/// Named by the network itself.
constexpr std::array network_dims{"b", "s", "h"};

std::int64_t value_in(const Sizes& sizes, std::string_view name) {
  const auto row = std::ranges::find(sizes, name, &Sizes::value_type::first);
  return row == sizes.end() ? 0 : row->second;
}

/// "heads * head_dim / groups" from left to right; 0 where a quotient leaves a rest.
std::int64_t value_of(std::string_view formula, const Sizes& sizes) {
  std::int64_t value = 1;
  char joint = '*';
  for (std::string_view word = take_word(formula); !word.empty(); word = take_word(formula)) {
    if (word == "*" || word == "/") {
      joint = word.front();
      continue;
    }
    const std::int64_t number = std::max<std::int64_t>(1, value_in(sizes, word));
    if (joint == '/' && value % number != 0) return 0;
    value = joint == '/' ? value / number : value * number;
  }
  return value;
}

/// Why the formula cannot be worked out; "": it can.
std::string fault_of(const std::string& formula, const std::vector<std::string>& sizes) {
  bool name_wanted = true;
  for (const std::string& word : split_words(formula)) {
    const bool joint = word == "*" || word == "/";
    if (joint == name_wanted) return fmt::format("'{:.60}' is no product or quotient of sizes", formula);
    if (!joint && !contains(sizes, word)) return fmt::format("'{:.40}' is none of the sizes", word);
    name_wanted = joint;
  }
  return name_wanted ? fmt::format("'{:.60}' ends too early", formula) : "";
}

/// Operators of a form, read in the order of the data: what was made so far, and by which dims.
class FormReader {
 public:
  FormReader(JsonObject& file, MixerForm& form) : file_(file), form_(form) { made_.push_back({"x", {"b", "s", "h"}}); }

  void read() {
    sizes_and_dims();
    for (JsonObject& row : file_.objects("operators")) read_operator(row);
    if (file_.failed()) return;
    for (const std::string& part : form_.recompute)
      file_.require(std::ranges::find(form_.operators, part, &MixerOperator::part) != form_.operators.end(),
          "recompute", fmt::format("no operator has the part '{:.40}'", part), "a part of operators");
    for (const MixerTensor& tensor : made_) {
      const auto reads = [&](const MixerOperator& op) {
        return std::ranges::any_of(op.inputs, [&](const MixerTensor& input) { return input.name == tensor.name; });
      };
      file_.require(tensor.name == "y" || std::ranges::any_of(form_.operators, reads), "operators",
          fmt::format("nobody reads {:.40}", tensor.name), "an operator that reads it, or none that makes it");
    }
    file_.require(contains_made("y"), "operators", "no operator makes y", "the last one adds to y, of dims b s h");
  }

 private:
  void sizes_and_dims() {
    file_.read("sizes", form_.sizes);
    JsonObject dims = file_.object("dims");
    for (const std::string& name : dims.keys()) {
      std::string formula;
      dims.read(name, formula);
      const std::string fault = fault_of(formula, form_.sizes);
      dims.require(
          fault.empty(), name, fault, fmt::format("a product or quotient of: {}", fmt::join(form_.sizes, ", ")));
      dims.require(!taken(name), name, fmt::format("dim '{:.20}' is the network's", name), "u, m, p, n, w are free");
      form_.dims.emplace_back(name, formula);
    }
    file_.optional("chunk", form_.chunk);
    file_.require(form_.chunk.empty() || contains(form_.sizes, form_.chunk), "chunk",
        fmt::format("'{:.40}' is none of the sizes", form_.chunk), fmt::format("{}", fmt::join(form_.sizes, ", ")));
    file_.optional("recompute", form_.recompute);
    file_.require(has_dim("u"), "dims", "no dim u, the groups of heads that ranks share out",
        "\"u\": \"heads\", or what else may be split over tp");
  }

  /// Dims of transformers (model/network/blocks/transformer_dims.cpp) that a mixer's layer stands beside.
  static bool taken(const std::string& name) {
    static constexpr std::array names{"b", "s", "t", "h", "g", "r", "d", "f", "v", "e", "c", "k", "j", "fs", "lq", "lk",
        "dn", "dr", "dv", "z", "h2", "le"};
    return std::ranges::find(names, name) != names.end();
  }
  [[nodiscard]] bool has_dim(const std::string& name) const {
    return std::ranges::find(network_dims, name) != network_dims.end() ||
           std::ranges::any_of(form_.dims, [&](const auto& dim) { return dim.first == name; });
  }
  [[nodiscard]] bool contains_made(const std::string& name) const {
    return std::ranges::any_of(made_, [&](const MixerTensor& tensor) { return tensor.name == name; });
  }

  MixerTensor tensor(JsonObject& row, const char* key, const std::string& text) {
    const std::vector<std::string> words = split_words(text);
    MixerTensor tensor;
    row.require(!words.empty(), key, "a tensor without a name", "a name, and its dims: \"Z b s u m p\"");
    if (words.empty()) return tensor;
    tensor.name = words.front();
    tensor.dims.assign(words.begin() + 1, words.end());
    const auto stated = [&](const std::string& dim) { return has_dim(dim); };
    if (const auto dim = std::ranges::find_if_not(tensor.dims, stated); dim != tensor.dims.end())
      row.require(false, key, fmt::format("{:.40} has a dim '{:.20}' that nobody states", tensor.name, *dim),
          "b, s, h, or a row of dims");
    return tensor;
  }

  void read_operator(JsonObject& row) {
    MixerOperator made;
    std::string output;
    std::vector<std::string> inputs;
    row.read("make", output);
    row.read("by", made.function);
    row.read("from", inputs);
    row.read("part", made.part);
    row.optional("whole", made.whole);
    if (row.failed()) return;
    made.output = tensor(row, "make", output);
    row.require(made.output.name != "y" || made.output.dims.empty() ||
                    made.output.dims == std::vector<std::string>{"b", "s", "h"},
        "make", "y has dims b s h", "\"y\"");
    if (made.output.name == "y") made.output.dims = {"b", "s", "h"};
    for (const std::string& input : inputs) made.inputs.push_back(tensor(row, "from", input));
    row.require(!inputs.empty(), "from", "an operator that reads nothing", "tensors made before, and weights");
    // The nearest name is looked for only where one is wrong: built-in forms are read at every start.
    static const std::vector<std::string> known = function_names();
    if (made.function != "product" && !contains(known, made.function))
      row.require(false, "by", fmt::format("the function '{:.40}' is not known", made.function),
          name_hint(made.function, known));
    row.require(made.function != "product" || inputs.size() == 2, "from", "a product has two operands", "two");
    row.require(made.function == "product" || contains_word(mixer_functions, made.function) ||
                    find_scan(made.function) != nullptr,
        "by", fmt::format("the function '{:.40}' has no place in a mixer", made.function),
        fmt::format("product, a scan, or one of: {}", fmt::join(mixer_functions, ", ")));
    for (const std::string& dim : made.whole)
      row.require(has_dim(dim), "whole", fmt::format("'{:.20}' is no dim", dim), "a dim of its tensors");
    for (MixerTensor& input : made.inputs) {
      const auto before = std::ranges::find(made_, input.name, &MixerTensor::name);
      row.require(before != made_.end() || !input.dims.empty(), "from",
          fmt::format("{:.40} is not made before", input.name), "its dims behind its name, if it is a weight");
      if (before != made_.end()) input.dims = before->dims;
    }
    if (row.failed()) return;
    check_dims(row, made);
    if (find_scan(made.function) != nullptr) check_scan(row, made);
    row.require(made.output.name == "y" || !contains_made(made.output.name), "make",
        fmt::format("{:.40} is made twice", made.output.name), "y alone is a sum of several");
    if (!contains_made(made.output.name)) made_.push_back(made.output);
    form_.operators.push_back(std::move(made));
  }

  static bool contains_word(std::span<const char* const> words, const std::string& word) {
    return std::ranges::find(words, word) != words.end();
  }

  /// A weight has one shape and no positions; what is made has no dim that nobody reads, and a product's weight meets
  /// its other operand and its result.
  void check_dims(JsonObject& row, const MixerOperator& op) {
    for (const MixerTensor& input : op.inputs) {
      if (contains_made(input.name)) continue;
      row.require(!contains(input.dims, "b") && !contains(input.dims, "s"), "from",
          fmt::format("the weight {:.40} has sequences or positions", input.name), "dims h, and those of the form");
      const auto before = std::ranges::find(weights_, input.name, &MixerTensor::name);
      row.require(before == weights_.end() || before->dims == input.dims, "from",
          fmt::format("the weight {:.40} has two shapes", input.name), "a name for each weight");
      if (before == weights_.end()) weights_.push_back(input);
    }
    for (const std::string& dim : op.output.dims)
      row.require(std::ranges::any_of(op.inputs, [&](const MixerTensor& input) { return contains(input.dims, dim); }),
          "make", fmt::format("{:.40} has a dim '{:.20}' that no operand has", op.output.name, dim),
          "an operand of that dim");
    // Only products, sums of squares and taps go over dims that their result lacks; a scan over its keys'.
    if (op.function == "product" || op.function == "square" || op.function == "conv" ||
        find_scan(op.function) != nullptr)
      return;
    for (const MixerTensor& input : op.inputs)
      for (const std::string& dim : input.dims)
        row.require(contains(op.output.dims, dim), "from",
            fmt::format("{:.40} has a dim '{:.20}' that {:.40} lacks", input.name, dim, op.output.name),
            "pointwise functions take operands of their result's dims");
  }

  /// Values, keys and queries, made before, and what decays the state; the result is shaped like the values.
  void check_scan(JsonObject& row, const MixerOperator& op) {
    row.require(op.inputs.size() >= 3, "from", fmt::format("a scan of {} operands", op.inputs.size()),
        "values, keys and queries, then what decays the state");
    if (row.failed()) return;
    for (std::size_t i = 0; i < 3; ++i)
      row.require(contains_made(op.inputs[i].name), "from",
          fmt::format("{:.40} is a weight; a scan goes over values, keys and queries", op.inputs[i].name),
          "tensors that operators made");
    row.require(op.output.dims == op.inputs[0].dims, "make", "a scan's result is shaped like its values",
        "the first operand's dims");
    row.require(op.inputs[1].dims == op.inputs[2].dims, "from", "keys and queries of a scan have the same dims",
        "values, keys, queries, in this order");
    row.require(op.output.dims.size() > 2 && op.output.dims[0] == "b" && op.output.dims[1] == "s" &&
                    op.inputs[1].dims.size() > 2 && contains(op.whole, "s"),
        "whole", "a scan goes along positions, which stay whole", "dims b s ..., and \"whole\": [\"s\", ...]");
  }

  JsonObject& file_;
  MixerForm& form_;
  std::vector<MixerTensor> made_, weights_;
};

}  // namespace

std::int64_t Mixer::size(const std::string& name) const { return value_in(sizes, name); }

std::int64_t Mixer::extent(const std::string& dim) const {
  if (!form) return 0;
  for (const auto& [name, formula] : form->dims)
    if (name == dim) return value_of(formula, sizes);
  return 0;
}

std::int64_t Mixer::chunk() const { return form && !form->chunk.empty() ? size(form->chunk) : 0; }

std::shared_ptr<const MixerForm> read_mixer_form(JsonObject& file) {
  auto form = std::make_shared<MixerForm>();
  read_row_id(file, form->id);
  form->name = form->id;
  file.optional("name", form->name);
  file.optional("source", form->source);
  FormReader(file, *form).read();
  return form;
}

namespace {

/// Those that ship with the program; a fault in one is a fault of the program and found by a test.
const std::vector<std::shared_ptr<const MixerForm>>& shipped_forms() {
  static const auto forms = [] {
    std::vector<std::shared_ptr<const MixerForm>> all;
    for (const EmbeddedFile& file : embedded_mixers()) {
      JsonObject object(file.text, std::string(file.name));
      all.push_back(read_mixer_form(object));
    }
    return all;
  }();
  return forms;
}

}  // namespace

std::vector<std::string> mixer_form_ids() {
  std::vector<std::string> ids;
  for (const auto& form : shipped_forms()) ids.push_back(form->id);
  return ids;
}

Expected<std::shared_ptr<const MixerForm>> find_mixer_form(const std::string& id, const std::string& where) {
  for (const auto& form : shipped_forms())
    if (form->id == id) return form;
  return fail(where, fmt::format("the mixer '{:.40}' is not known", id), name_hint(id, mixer_form_ids()));
}

Mixer read_mixer(JsonObject& file) {
  Mixer mixer;
  if (auto own = file.optional_object("form")) {
    mixer.form = read_mixer_form(*own);
    mixer.own = true;
  } else {
    std::string kind;
    file.read("kind", kind);
    if (file.failed() || kind.empty()) return mixer;
    auto form = find_mixer_form(kind, file.where("kind"));
    file.require(form.has_value(), "kind", form ? "" : form.error().what, form ? "" : form.error().hint);
    if (form) mixer.form = *form;
  }
  if (file.failed() || !mixer.form) return mixer;
  for (const std::string& name : mixer.form->sizes) {
    std::int64_t value = 0;
    file.read(name, value, size_range);
    mixer.sizes.emplace_back(name, value);
  }
  if (file.failed()) return mixer;
  for (const auto& [dim, formula] : mixer.form->dims)
    file.require(mixer.extent(dim) > 0, split_words(formula).front(), fmt::format("{} does not come out even", formula),
        fmt::format("sizes of which {} is whole", formula));
  return mixer;
}

namespace {

std::string text_of(const MixerTensor& tensor) {
  std::string text = tensor.name;
  for (const std::string& dim : tensor.dims) text += " " + dim;
  return text;
}

void write_form(JsonWriter& json, const MixerForm& form) {
  json.open("form");
  json.fields("id", form.id, "name", form.name, "source", form.source);
  json.field("sizes", form.sizes);
  json.open("dims");
  for (const auto& [name, formula] : form.dims) json.field(name, formula);
  json.close();
  if (!form.chunk.empty()) json.field("chunk", form.chunk);
  if (!form.recompute.empty()) json.field("recompute", form.recompute);
  json.list("operators", form.operators, [&](const MixerOperator& op) {
    std::vector<std::string> from;
    for (const MixerTensor& input : op.inputs) from.push_back(text_of(input));
    json.field("make", op.output.name == "y" ? "y" : text_of(op.output));
    json.field("by", op.function);
    json.field("from", from);
    if (!op.whole.empty()) json.field("whole", op.whole);
    json.field("part", op.part);
  });
  json.close();
}

}  // namespace

void write_mixer(JsonWriter& json, const Mixer& mixer) {
  json.open("mixer");
  if (mixer.own) write_form(json, *mixer.form);
  else json.field("kind", mixer.form->id);
  for (const auto& [name, value] : mixer.sizes) json.field(name, value);
  json.close();
}

Mixer make_mixer(const std::string& id, Sizes sizes) {
  auto form = find_mixer_form(id, "");
  return form ? Mixer{*form, std::move(sizes), false} : Mixer{};
}

MixerCounts count_mixer(const Mixer& mixer, std::int64_t hidden) {
  MixerCounts counts;
  if (!mixer) return counts;
  // One sequence of one token: the extents of b and s are 1.
  const auto extent = [&](const std::string& dim) {
    return dim == "b" || dim == "s" ? 1 : dim == "h" ? hidden : mixer.extent(dim);
  };
  const auto elements = [&](const std::vector<std::string>& dims) {
    std::int64_t product = 1;
    for (const std::string& dim : dims) product *= extent(dim);
    return product;
  };
  std::vector<std::string> made{"x"};
  for (const MixerOperator& op : mixer.form->operators) {
    std::vector<std::string> loops = op.output.dims;
    for (const MixerTensor& input : op.inputs) {
      if (!contains(made, input.name)) {
        counts.parameters += elements(input.dims);
        made.push_back(input.name);
      }
      for (const std::string& dim : input.dims)
        if (!contains(loops, dim)) loops.push_back(dim);
    }
    made.push_back(op.output.name);
    if (op.function == "product" || op.function == "conv")
      counts.flops_per_token += 2.0 * static_cast<double>(elements(loops));
    if (const ScanFunction* scan = find_scan(op.function)) {
      const auto last = [&](std::size_t i) { return static_cast<double>(extent(op.inputs[i].dims.back())); };
      const auto all = [&](std::size_t i) { return static_cast<double>(elements(op.inputs[i].dims)); };
      counts.flops_per_token +=
          scan_flops(*scan, {all(0), all(1), last(0), last(1), static_cast<double>(mixer.chunk())});
    }
  }
  return counts;
}

}  // namespace stepcast
