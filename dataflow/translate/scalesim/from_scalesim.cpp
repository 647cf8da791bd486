// SCALE-Sim's config and topology as a program: an array of R x C units fed by one SRAM level, one operator per layer.
// Formats and lowering: SCALE-Sim v3 (scalesim-project/SCALE-Sim, 1d62b68). A convolution becomes the product that its
// im2col makes: M output positions, K values under the filter, N filters; (H - R) / stride rounds up, plus one.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "dataflow/translate/foreign.h"
#include "dataflow/translate/import_log.h"
#include "dataflow/translate/scalesim/scalesim.h"
#include "model/base/comma_list.h"
#include "model/base/contains.h"
#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

constexpr double word_bits = 8;  // SCALE-Sim counts words and takes one byte for each

/// key : value lines under [section]; keys in lower case. Python's configparser: ':' or '=', '#' or ';' begin comments.
struct ConfigValue {
  std::string text;
  Position position;
};
using Config = std::map<std::string, ConfigValue>;

template <typename Visit> void each_line(const SourceFile& file, const Visit& visit) {
  int number = 0;
  for (std::size_t at = 0; at < file.text.size();) {
    const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
    visit(std::string_view(file.text).substr(at, end - at), Position{file.name, ++number, 1});
    at = end + 1;
  }
}

Config read_config(const SourceFile& file, ImportLog& log) {
  Config config;
  each_line(file, [&](std::string_view text, const Position& where) {
    const std::string_view line = stripped(text);
    if (line.empty() || line.front() == '#' || line.front() == ';' || line.front() == '[') return;
    const std::size_t sign = line.find_first_of(":=");
    if (sign == std::string_view::npos)
      return log.refuse(where, fmt::format("'{:.80}' is no 'key: value' line", line), "ArrayHeight: 32");
    const std::string key = lower_case(stripped(line.substr(0, sign)));
    if (!config.emplace(key, ConfigValue{std::string(stripped(line.substr(sign + 1))), where}).second)
      log.refuse(where, fmt::format("'{}' stands twice", key), "keep one");
  });
  return config;
}

struct ScalesimArray {
  std::int64_t rows = 0, cols = 0;
  const ScalesimDataflow* dataflow = nullptr;
  Position position;
};

/// Keys that say nothing about counts in the array, the SRAM and the cycles of compute.
constexpr std::array<std::string_view, 12> unused_keys{"run_name", "ifmapsramszkb", "filtersramszkb", "ofmapsramszkb",
    "ifmapoffset", "filteroffset", "ofmapoffset", "bandwidth", "interfacebandwidth", "memorybanks", "readrequestbuffer",
    "writerequestbuffer"};
/// Features that would change them.
constexpr std::array<std::string_view, 4> switched_off{
    "sparsitysupport", "ifmapcustomlayout", "filtercustomlayout", "optimizedmapping"};
constexpr std::array<std::string_view, 3> used_keys{"arrayheight", "arraywidth", "dataflow"};

template <typename List> bool listed(const List& list, std::string_view word) { return contains(list, word); }

std::int64_t array_side(const Config& config, const SourceFile& file, const std::string& key, ImportLog& log) {
  const auto found = config.find(key);
  if (found == config.end())
    return log.refuse(
               {file.name, 0, 0}, fmt::format("no {} in the config", key), "[architecture_presets] ArrayHeight: 32"),
           1;
  const auto value = whole_number(found->second.text);
  if (value && *value > 0) return *value;
  log.refuse(
      found->second.position, fmt::format("{} is '{}'", key, found->second.text), "a whole number of at least 1");
  return 1;
}

ScalesimArray read_array(const SourceFile& file, ImportLog& log) {
  const Config config = read_config(file, log);
  ScalesimArray array{array_side(config, file, "arrayheight", log), array_side(config, file, "arraywidth", log),
      nullptr, {file.name, 1, 1}};
  const auto dataflow = config.find("dataflow");
  if (dataflow == config.end()) log.refuse({file.name, 0, 0}, "no Dataflow in the config", "Dataflow: ws, os or is");
  else {
    array.dataflow = scalesim_dataflow(lower_case(dataflow->second.text));
    array.position = dataflow->second.position;
    if (!array.dataflow)
      log.refuse(array.position, fmt::format("unknown dataflow '{}'", dataflow->second.text), "ws, os or is");
  }
  std::string left_out;
  for (const auto& [key, value] : config) {
    if (listed(used_keys, key)) continue;
    const bool off = value.text.empty() || lower_case(value.text) == "false";
    if (listed(switched_off, key) && !off)
      log.refuse(value.position, fmt::format("{} is {}", key, value.text),
          "counts are of dense tensors in plain layouts: switch it off");
    const std::string near = listed(unused_keys, key) || listed(switched_off, key)
                                 ? ""
                                 : nearest_name(key, std::vector<std::string>(used_keys.begin(), used_keys.end()));
    if (!near.empty())
      log.refuse(value.position, fmt::format("unknown key '{}'", key), fmt::format("did you mean '{}'?", near));
    left_out += (left_out.empty() ? "" : ", ") + key;
  }
  if (!left_out.empty())
    log.note({file.name, 1, 1},
        fmt::format("{} left out: SRAM holds the whole layer here, so that its counts and the cycles of compute "
                    "are SCALE-Sim's; its DRAM traffic and stalls are not modelled",
            left_out));
  return array;
}

struct ScalesimLayer {
  std::string name;
  std::int64_t m = 0, n = 0, k = 0;
  Position position;
};

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields = comma_list(line);
  while (!fields.empty() && fields.back().empty()) fields.pop_back();
  return fields;
}

/// Positions of one side of the image under the filter.
std::int64_t output_side(std::int64_t image, std::int64_t filter, std::int64_t stride) {
  return (image - filter + stride - 1) / stride + 1;
}

ScalesimLayer lowered(const std::vector<std::string>& fields, const Position& where, ImportLog& log) {
  constexpr std::size_t product_fields = 4, convolution_fields = 8;
  ScalesimLayer layer{fields.front(), 0, 0, 0, where};
  std::vector<std::string> numbers(fields.begin() + 1, fields.end());
  if ((fields.size() == product_fields + 1 || fields.size() == convolution_fields + 1) &&
      numbers.back().find(':') != std::string::npos) {
    const std::size_t colon = numbers.back().find(':');
    if (stripped(std::string_view(numbers.back()).substr(0, colon)) !=
        stripped(std::string_view(numbers.back()).substr(colon + 1)))
      return log.refuse(where, fmt::format("layer {} is sparse ({})", layer.name, numbers.back()),
                 "counts are of dense tensors: 1:1"),
             layer;
    numbers.pop_back();
  }
  std::vector<std::int64_t> values;
  for (const std::string& number : numbers) {
    const auto value = whole_number(number);
    if (!value || *value < 1)
      return log.refuse(
                 where, fmt::format("layer {} has '{}' for a size", layer.name, number), "whole numbers of at least 1"),
             layer;
    values.push_back(*value);
  }
  if (values.size() + 1 == product_fields) {
    layer.m = values[0], layer.n = values[1], layer.k = values[2];
    return layer;
  }
  if (values.size() + 1 != convolution_fields)
    return log.refuse(where, fmt::format("layer {} has {} sizes", layer.name, values.size()),
               "3 (M, N, K), or 7 (image height and width, filter height and width, channels, filters, stride)"),
           layer;
  const std::int64_t stride = values[6];
  if (values[2] > values[0] || values[3] > values[1])
    return log.refuse(where, fmt::format("layer {}: the filter is larger than the image", layer.name),
               "a filter that fits into the image"),
           layer;
  layer.m = capped_product(output_side(values[0], values[2], stride), output_side(values[1], values[3], stride));
  layer.k = capped_product(capped_product(values[2], values[3]), values[4]);
  layer.n = values[5];
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  if (layer.m > largest || layer.k > largest)
    log.refuse(where, fmt::format("layer {}: its product has a side of more than 2^40", layer.name), "smaller sizes");
  return layer;
}

/// The first line is a header and is passed over, as SCALE-Sim does.
std::vector<ScalesimLayer> read_layers(const SourceFile& file, ImportLog& log) {
  std::vector<ScalesimLayer> layers;
  bool header = true;
  each_line(file, [&](std::string_view text, const Position& where) {
    const std::vector<std::string> fields = fields_of(stripped(text));
    if (fields.empty() || log.failed()) return;
    const bool numbers = fields.size() > 1 && whole_number(fields[1]).has_value();
    if (header && numbers)
      log.refuse(where, "the first line is a layer",
          "SCALE-Sim passes the first line over: put a header there, such as 'Layer, M, N, K,'");
    if (!header) layers.push_back(lowered(fields, where, log));
    header = false;
  });
  if (layers.empty())
    log.refuse({file.name, 0, 0}, "no layer in the topology", "a header line, then one line per layer");
  return layers;
}

class ScalesimProgram {
 public:
  ScalesimProgram(const ScalesimArray& array, std::size_t layers, ImportLog& log)
      : array_(array), several_(layers > 1), log_(log) {
    WrittenArch& arch = program_.archs.emplace_back();
    arch.position = array.position;
    for (const char* name : {"dram", "sram", "pe"}) {
      ArchLevel& level = arch.levels.emplace_back();
      level.name = name;
      level.position = array.position;
      level.properties.push_back(arch_property("word", word_bits));
    }
    arch.levels.back().axes = {{"x", array.rows}, {"y", array.cols}};
    arch.levels.back().fabric.name = "systolic";
  }

  void add(const ScalesimLayer& layer) {
    const std::string suffix = several_ ? std::to_string(program_.operators.size() + 1) : "";
    const std::array<std::int64_t, 3> extents{layer.m, layer.n, layer.k};
    std::array<std::string, 3> names;
    for (std::size_t d = 0; d < names.size(); ++d) {
      names[d] = scalesim_loops[d] + suffix;
      program_.dims.push_back({names[d], extents[d]});
    }
    WrittenOperator op;
    op.name = operator_name(layer);
    op.tags = {op.name};
    op.position = layer.position;
    op.output = plain_access("ofmap", {names[0], names[1]});
    op.inputs = {plain_access("ifmap", {names[0], names[2]}), plain_access("filter", {names[2], names[1]})};
    add_lines(op.name, names, extents, layer.position);
    program_.operators.push_back(std::move(op));
  }
  MappingProgram take() { return std::move(program_); }

 private:
  std::string operator_name(const ScalesimLayer& layer) {
    std::string name = notation_name(layer.name, layer.position, log_);
    const auto taken = [&](const std::string& n) {
      return std::ranges::any_of(program_.operators, [&](const WrittenOperator& o) { return o.name == n; });
    };
    if (!taken(name)) return name;
    for (int i = 2;; ++i)
      if (const std::string next = fmt::format("{}_{}", name, i); !taken(next)) {
        log_.note(layer.position, fmt::format("a second layer {} is called {} here", layer.name, next));
        return next;
      }
  }

  /// Folds in time at the SRAM, one fold's rows and columns in space; the last fold may be short.
  void add_lines(const std::string& op, const std::array<std::string, 3>& names,
      const std::array<std::int64_t, 3>& extents, const Position& where) {
    const ScalesimDataflow& flow = *array_.dataflow;
    const std::array<std::int64_t, 3> parts{
        part_of(0, flow, extents), part_of(1, flow, extents), part_of(2, flow, extents)};
    std::vector<LevelItem> time, space;
    for (const int d : flow.order) {
      const std::int64_t rounds = (extents[d] + parts[d] - 1) / parts[d];
      if (rounds > 1) time.emplace_back(ForStatement{names[d], rounds, false});
    }
    for (const auto& [d, axis] : {std::pair{flow.rows, "x"}, std::pair{flow.cols, "y"}})
      if (parts[d] > 1) space.emplace_back(ChipPar{names[d], axis, parts[d], extents[d] % parts[d] != 0});
    time.emplace_back(Keep{{"ifmap", "filter", "ofmap"}});
    space.emplace_back(Keep{{flow.stays}});
    const std::string scope = several_ ? op : "";
    program_.body.emplace_back(level_line("dram", {Keep{{"ifmap", "filter", "ofmap"}}}, where, scope));
    program_.body.emplace_back(level_line("sram", std::move(time), where, scope));
    program_.body.emplace_back(level_line("pe", std::move(space), where, scope));
  }

  std::int64_t part_of(int d, const ScalesimDataflow& flow, const std::array<std::int64_t, 3>& extents) const {
    if (d == flow.rows) return std::min(array_.rows, extents[d]);
    if (d == flow.cols) return std::min(array_.cols, extents[d]);
    return 1;
  }

  const ScalesimArray& array_;
  bool several_;
  ImportLog& log_;
  MappingProgram program_;
};

}  // namespace

Expected<Imported> from_scalesim(std::span<const SourceFile> files) {
  if (files.size() != 2)
    return fail("scalesim", fmt::format("{} files", files.size()), "the config (.cfg), then the topology (.csv)");
  ImportLog log;
  const ScalesimArray array = read_array(files[0], log);
  if (log.failed()) return tl::unexpected(log.error());
  const std::vector<ScalesimLayer> layers = read_layers(files[1], log);
  if (log.failed()) return tl::unexpected(log.error());
  ScalesimProgram program(array, layers.size(), log);
  for (const ScalesimLayer& layer : layers) program.add(layer);
  if (log.failed()) return tl::unexpected(log.error());
  return Imported{program.take(), log.notes(), Windows::exact};
}

}  // namespace stepcast::dataflow
