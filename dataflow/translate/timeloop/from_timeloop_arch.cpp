// Timeloop's architectures: the tree of versions 0.2 and 0.3, and the flat list before it.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/translate/timeloop/timeloop.h"
#include "model/base/contains.h"
#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

constexpr double default_word_bits = 16;  // Timeloop's own
constexpr double bits_per_kilobyte = 8 * 1024;

enum class TimeloopClass { storage, compute, other };
struct ClassRow {
  std::string_view part;  // Timeloop looks for the word anywhere in the class
  TimeloopClass kind;
};
constexpr ClassRow class_rows[] = {{"DRAM", TimeloopClass::storage}, {"SRAM", TimeloopClass::storage},
    {"regfile", TimeloopClass::storage}, {"smartbuffer", TimeloopClass::storage}, {"storage", TimeloopClass::storage},
    {"mac", TimeloopClass::compute}, {"compute", TimeloopClass::compute}};

/// Attributes as timeloop_key() spells them. Names in a row mean the same.
constexpr std::array<std::string_view, 19> used_attributes{"instances", "meshX", "meshY", "entries", "depth",
    "memory_depth", "data_storage_depth", "sizeKB", "word_bits", "word_width", "datawidth", "width", "memory_width",
    "block_size", "n_words", "cluster_size", "shared_bandwidth", "multiple_buffering", "data_storage_width"};
constexpr std::array<std::string_view, 3> one_way_bandwidths{"read_bandwidth", "write_bandwidth", "bandwidth"};
constexpr std::array<std::string_view, 3> frame_keys{"name", "class", "attributes"};
/// Near a used name, but another thing.
constexpr std::array<std::string_view, 6> known_unused{
    "num_ports", "n_ports", "num_banks", "n_banks", "network_word_bits", "type"};

template <typename List> bool holds(const List& list, std::string_view word) { return contains(list, word); }

class ComponentReader {
 public:
  ComponentReader(const YamlNode& component, ImportLog& log) : component_(component), log_(log) {
    const YamlNode* inside = component.find("attributes");
    attributes_ = inside ? inside : &component;
    if (attributes_->kind != YamlNode::Kind::map && attributes_->kind != YamlNode::Kind::null)
      log.refuse(attributes_->position, "attributes are not 'name: value' pairs", "name: value");
  }

  /// `multiple`: instances that the names around the component stand for; 0 = it must say them.
  TimeloopLevel read(const std::string& name, std::int64_t multiple) {
    TimeloopLevel level;
    level.name = name;
    level.position = component_.position;
    read_mesh(level, multiple);
    read_size(level);
    read_rates(level);
    report_unused(level);
    return level;
  }

 private:
  const YamlNode* find(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names)
      for (const YamlNode& node : attributes_->entries)
        if (timeloop_key(node.key) == name) return &node;
    return nullptr;
  }
  double number(std::initializer_list<std::string_view> names, double otherwise) {
    const YamlNode* node = find(names);
    return node ? timeloop_number(*node, 0, std::string(*names.begin()), log_) : otherwise;
  }
  std::int64_t whole(std::initializer_list<std::string_view> names, std::int64_t otherwise) {
    const YamlNode* node = find(names);
    return node ? timeloop_whole(*node, 1, std::string(*names.begin()), log_) : otherwise;
  }

  void read_mesh(TimeloopLevel& level, std::int64_t multiple) {
    level.instances = whole({"instances"}, multiple);
    if (level.instances == 0)
      return log_.refuse(
          level.position, fmt::format("{} does not say its instances", level.name), "add 'instances: N'");
    const bool x_said = find({"meshX"}) != nullptr, y_said = find({"meshY"}) != nullptr;
    level.mesh_x = whole({"meshX"}, y_said ? level.instances / whole({"meshY"}, 1) : level.instances);
    level.mesh_y = whole({"meshY"}, x_said ? level.instances / level.mesh_x : 1);
    if (level.mesh_x < 1 || level.mesh_y != level.instances / level.mesh_x || level.instances % level.mesh_x != 0)
      log_.refuse(level.position,
          fmt::format(
              "{} has {} instances on a mesh of {} x {}", level.name, level.instances, level.mesh_x, level.mesh_y),
          "meshX times meshY must give the instances");
  }

  /// Timeloop: entries are words; a depth counts rows of block-size words; sizeKB counts bits over the word.
  void read_size(TimeloopLevel& level) {
    level.word_bits = number({"word_bits", "word_width", "datawidth"}, 0);
    const double word = level.word_bits > 0 ? level.word_bits : default_word_bits;
    double block = number({"block_size", "n_words"}, 1);
    const YamlNode* width = find({"width", "memory_width", "data_storage_width"});
    if (width && !find({"block_size", "n_words"})) {
      const double bits = timeloop_number(*width, 1, "width", log_);
      block = bits / word / number({"cluster_size"}, 1);
      if (block != std::floor(block) || block < 1)
        log_.refuse(width->position, fmt::format("a width of {} bits is no whole number of {}-bit words", bits, word),
            "make width a multiple of word-bits times cluster-size");
    }
    const YamlNode* depth = find({"depth", "memory_depth", "data_storage_depth"});
    const YamlNode* kilobytes = find({"sizeKB"});
    const YamlNode* entries = find({"entries"});
    if ((depth != nullptr) + (kilobytes != nullptr) + (entries != nullptr) > 1)
      return log_.refuse(level.position, fmt::format("{} says its size in several ways", level.name),
          "keep one of entries, depth and sizeKB");
    if (entries) level.entries = timeloop_number(*entries, 0, "entries", log_);
    if (depth) level.entries = timeloop_number(*depth, 0, "depth", log_) * block;
    if (kilobytes)
      level.entries = std::floor(timeloop_number(*kilobytes, 0, "sizeKB", log_) * bits_per_kilobyte / word);
  }

  void read_rates(TimeloopLevel& level) {
    level.words_per_cycle = number({"shared_bandwidth"}, 0);
    const double one_way = number({"read_bandwidth"}, 0) + number({"write_bandwidth"}, 0);
    const double halves = number({"bandwidth"}, 0);
    if (level.words_per_cycle == 0 && one_way + halves > 0) {
      level.words_per_cycle = one_way > 0 ? one_way : halves;
      log_.note(
          level.position, fmt::format("{}: bandwidths of reads and of writes are taken together, {} words per cycle",
                              level.name, level.words_per_cycle));
    }
    const YamlNode* buffering = find({"multiple_buffering"});
    if (!buffering) return;
    const double buffers = timeloop_number(*buffering, 1, "multiple-buffering", log_);
    if (buffers != std::floor(buffers))
      return log_.refuse(
          buffering->position, fmt::format("multiple-buffering of {}", buffers), "buffers are counted whole here");
    level.buffers = static_cast<std::int64_t>(buffers);
  }

  /// Timeloop reads attributes that it knows and lets Accelergy's pass; a near miss of a used name is an error here.
  void report_unused(const TimeloopLevel& level) {
    std::vector<std::string> unused;
    for (const YamlNode& node : attributes_->entries) {
      const std::string name = timeloop_key(node.key);
      if (holds(used_attributes, name) || holds(one_way_bandwidths, name) || holds(frame_keys, name)) continue;
      const std::vector<std::string> used(used_attributes.begin(), used_attributes.end());
      const std::string near = holds(known_unused, name) ? "" : nearest_name(name, used);
      if (!near.empty())
        return log_.refuse(node.position, fmt::format("{}: unknown attribute '{}'", level.name, node.key),
            fmt::format("did you mean '{}'?", near));
      unused.push_back(node.key);
    }
    if (!unused.empty())
      log_.note(
          level.position, fmt::format("{}: {} left out, no bearing on counts", level.name, fmt::join(unused, ", ")));
  }

  const YamlNode& component_;
  const YamlNode* attributes_ = nullptr;
  ImportLog& log_;
};

/// "PE[0..167]" -> PE, 168
struct ElementName {
  std::string name;
  std::int64_t count = 1;
};
ElementName element_name(const YamlNode& node, ImportLog& log) {
  const YamlNode* text = node.find("name");
  if (!text || text->text.empty())
    return log.refuse(node.position, "a component without a name", "add 'name: ...'"), ElementName{};
  const std::size_t open = text->text.find('[');
  if (open == std::string::npos) return {text->text, 1};
  const std::string range = text->text.substr(open + 1);
  const std::size_t dots = range.find(".."), close = range.find(']');
  if (dots != std::string::npos && close != std::string::npos && dots < close) {
    const auto first = whole_number(stripped(range.substr(0, dots)));
    const auto last = whole_number(stripped(range.substr(dots + 2, close - dots - 2)));
    if (first && last && *last >= *first) return {text->text.substr(0, open), *last - *first + 1};
  }
  log.refuse(text->position, fmt::format("'{}' is no range of components", text->text), "write name[0..15]");
  return {text->text.substr(0, open), 1};
}

class ArchReading {
 public:
  explicit ArchReading(ImportLog& log) : log_(log) {}

  TimeloopArch run(const YamlNode& node) {
    if (node.find("nodes"))
      log_.refuse(node.find("nodes")->position, "an architecture of version 0.4 (nodes)",
          "write it as version 0.3: subtree and local");
    else if (node.find("subtree")) tree(node, 1);
    else if (node.find("storage")) flat(node);
    else
      log_.refuse(node.position, "an architecture with neither subtree nor storage",
          "version 0.3 has 'subtree: - name: system ...'");
    if (log_.failed()) return arch_;
    if (!has_arithmetic_)
      log_.refuse(node.position, "an architecture without arithmetic", "add a component of class intmac or fpmac");
    if (arch_.storage.empty())
      log_.refuse(node.position, "an architecture without storage", "add a component of class DRAM, SRAM or regfile");
    return arch_;
  }

 private:
  void tree(const YamlNode& node, std::int64_t multiple) {
    for (const YamlNode& value : node.entries)
      if (value.key != "subtree" && value.key != "local" && value.key != "name" && value.key != "version")
        log_.note(value.position, fmt::format("{} left out, no bearing on counts", value.key));
    if (const YamlNode* local = node.find("local"))
      for (const YamlNode& component : local->items) local_component(component, multiple);
    const YamlNode* subtree = node.find("subtree");
    if (!subtree || log_.failed()) return;
    if (subtree->items.size() != 1)
      return log_.refuse(
          subtree->position, fmt::format("a subtree with {} branches", subtree->items.size()), "one branch per level");
    const YamlNode& inside = subtree->items.front();
    tree(inside, multiplied(multiple, element_name(inside, log_).count, inside.position));
  }

  void local_component(const YamlNode& component, std::int64_t multiple) {
    const ElementName element = element_name(component, log_);
    if (log_.failed()) return;
    const YamlNode* kind = component.find("class");
    const auto row = std::ranges::find_if(
        class_rows, [&](const ClassRow& r) { return kind && kind->text.find(r.part) != std::string::npos; });
    if (row == std::end(class_rows))
      return log_.note(component.position, fmt::format("{} left out: class {} is neither storage nor arithmetic",
                                               element.name, kind ? kind->text : "(none)"));
    const std::int64_t instances = multiplied(multiple, element.count, component.position);
    add(ComponentReader(component, log_).read(element.name, instances), row->kind);
  }

  /// The old form lists storage innermost first, and every component says its instances.
  void flat(const YamlNode& node) {
    for (const YamlNode& value : node.entries)
      if (value.key != "arithmetic" && value.key != "storage" && value.key != "version")
        log_.note(value.position, fmt::format("{} left out, no bearing on counts", value.key));
    const YamlNode& storage = *node.find("storage");
    for (auto component = storage.items.rbegin(); component != storage.items.rend(); ++component)
      add(ComponentReader(*component, log_).read(element_name(*component, log_).name, 0), TimeloopClass::storage);
    if (const YamlNode* arithmetic = node.find("arithmetic"))
      add(ComponentReader(*arithmetic, log_)
              .read(arithmetic->find("name") ? element_name(*arithmetic, log_).name : "MAC", 0),
          TimeloopClass::compute);
  }

  void add(TimeloopLevel level, TimeloopClass kind) {
    if (kind == TimeloopClass::compute) {
      if (has_arithmetic_)
        return log_.refuse(
            level.position, "a second arithmetic component", "one kind of multiply-add per architecture");
      has_arithmetic_ = true;
      arch_.arithmetic = std::move(level);
      return;
    }
    for (const TimeloopLevel& other : arch_.storage)
      if (other.name == level.name)
        return log_.refuse(
            level.position, fmt::format("a second storage level '{}'", level.name), "level names are distinct");
    arch_.storage.push_back(std::move(level));
  }

  std::int64_t multiplied(std::int64_t a, std::int64_t b, const Position& where) {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (b > most / a) return log_.refuse(where, "more than 2^40 instances", "fewer instances"), 1;
    return a * b;
  }

  ImportLog& log_;
  TimeloopArch arch_;
  bool has_arithmetic_ = false;
};

}  // namespace

TimeloopArch timeloop_arch(const YamlNode& node, ImportLog& log) { return ArchReading(log).run(node); }

}  // namespace stepcast::dataflow
