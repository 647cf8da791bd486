// Reads MAESTRO's mapping files: blocks in braces, "key: value" pairs, directives that end in ';', // comments.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dataflow/translate/maestro/maestro.h"

namespace stepcast::dataflow {
namespace {

struct MaestroToken {
  std::string text;  // "" = the end of the file
  Position position;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '\'' ||
         c == '.' || c == '-';
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// A '-' joins words ("resnet-50") but stands alone between sizes ("Sz(S)-1", "8-1").
std::size_t word_end(const std::string& text, std::size_t at) {
  const bool number = text[at] >= '0' && text[at] <= '9';
  std::size_t end = at;
  while (end < text.size() && is_word(text[end]) && !(number && text[end] == '-')) ++end;
  return std::max(end, at + 1);
}

std::vector<MaestroToken> maestro_tokens(const SourceFile& file) {
  std::vector<MaestroToken> tokens;
  Position here{file.name, 1, 1};
  const std::string& text = file.text;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    const bool comment = text.compare(at, 2, "//") == 0;
    if (comment) end = std::min(text.find('\n', at), text.size());
    else if (is_word(text[at]) && text[at] != '-') end = word_end(text, at);
    if (!comment && !is_space(text[at])) tokens.push_back({text.substr(at, end - at), here});
    for (; at < end; ++at) {
      ++here.column;
      if (text[at] == '\n') ++here.line, here.column = 1;
    }
  }
  tokens.push_back({"", here});
  return tokens;
}

struct DirectiveWord {
  std::string_view word;
  MaestroDirective::Kind kind;
};
constexpr DirectiveWord directive_words[] = {{"TemporalMap", MaestroDirective::Kind::temporal},
    {"SpatialMap", MaestroDirective::Kind::spatial}, {"Cluster", MaestroDirective::Kind::cluster}};

class MaestroReader {
 public:
  MaestroReader(const SourceFile& file, ImportLog& log) : tokens_(maestro_tokens(file)), log_(log) {}

  std::vector<MaestroLayer> run() {
    while (!at_end()) {
      expect("Network");
      next();
      expect("{");
      while (!at_end() && !accept("}")) layer();
    }
    if (layers_.empty())
      log_.refuse(peek().position, "no layer in the mapping", "Network NAME { Layer NAME { Type: ... } }");
    return std::move(layers_);
  }

 private:
  [[nodiscard]] bool at_end() const { return log_.failed() || peek().text.empty(); }
  [[nodiscard]] const MaestroToken& peek() const { return tokens_[at_]; }
  const MaestroToken& next() {
    const MaestroToken& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool accept(std::string_view text) {
    if (peek().text != text) return false;
    next();
    return true;
  }
  void expect(std::string_view text) {
    if (accept(text)) return;
    log_.refuse(peek().position,
        fmt::format("found {}, expected '{}'",
            peek().text.empty() ? "the end of the file" : "'" + peek().text.substr(0, 80) + "'", text),
        "Network NAME { Layer NAME { ... } }");
  }
  std::int64_t number() {
    const MaestroToken& token = next();
    if (const auto value = whole_number(token.text); value && *value > 0) return *value;
    log_.refuse(
        token.position, fmt::format("found '{:.80}', expected a whole number of at least 1", token.text), "1 or more");
    return 1;
  }

  void layer() {
    expect("Layer");
    MaestroLayer layer;
    layer.position = peek().position;
    layer.name = next().text;
    expect("{");
    while (!at_end() && !accept("}")) entry(layer);
    layers_.push_back(std::move(layer));
  }

  void entry(MaestroLayer& layer) {
    const MaestroToken key = next();
    accept(":");
    if (key.text == "Type") layer.type = next().text;
    else if (key.text == "Stride") stride(layer);
    else if (key.text == "Dimensions") dimensions(layer);
    else if (key.text == "Dataflow") dataflow(layer);
    else
      log_.refuse(key.position, fmt::format("'{}' of a layer has no word in the notation", key.text),
          name_hint(key.text, std::vector<std::string>{"Type", "Stride", "Dimensions", "Dataflow"}));
  }

  template <typename Visit> void pairs(const Visit& visit) {
    expect("{");
    while (!at_end() && !accept("}")) {
      const MaestroToken key = next();
      expect(":");
      visit(key, number());
      accept(",");
    }
  }
  void stride(MaestroLayer& layer) {
    pairs([&](const MaestroToken& key, std::int64_t value) {
      if (key.text == "X") layer.stride_x = value;
      else if (key.text == "Y") layer.stride_y = value;
      else log_.refuse(key.position, fmt::format("a stride along '{}'", key.text), "X and Y have strides");
    });
  }
  void dimensions(MaestroLayer& layer) {
    pairs([&](const MaestroToken& key, std::int64_t value) {
      if (layer.size(key.text) > 0)
        log_.refuse(key.position, fmt::format("dimension {} stands twice", key.text), "each dimension once");
      layer.dims.emplace_back(key.text, value);
    });
  }

  void dataflow(MaestroLayer& layer) {
    expect("{");
    while (!at_end() && !accept("}")) {
      if (accept(";")) continue;
      layer.directives.push_back(directive());
    }
  }

  MaestroDirective directive() {
    MaestroDirective out;
    const MaestroToken word = next();
    out.position = word.position;
    const auto* row = std::ranges::find(directive_words, word.text, &DirectiveWord::word);
    if (row == std::end(directive_words)) {
      log_.refuse(word.position, fmt::format("unknown directive '{}'", word.text),
          name_hint(word.text, std::vector<std::string>{"TemporalMap", "SpatialMap", "Cluster"}));
      return out;
    }
    out.kind = row->kind;
    expect("(");
    out.size = size();
    expect(",");
    if (out.kind == MaestroDirective::Kind::cluster) cluster_kind();
    else out.offset = size();
    expect(")");
    if (out.kind != MaestroDirective::Kind::cluster) out.dim = next().text;
    expect(";");
    return out;
  }
  void cluster_kind() {
    const MaestroToken& token = next();
    if (token.text != "P" && token.text != "L")
      log_.refuse(token.position, fmt::format("a cluster of kind '{}'", token.text), "P or L");
  }

  /// size := term (("+" | "-") term)*;  term := INT | "Sz" "(" DIM ")"
  MaestroSize size() {
    MaestroSize out;
    std::int64_t sign = 1;
    do {
      if (peek().text == "Sz") {
        next();
        expect("(");
        out.terms.push_back({sign, 0, next().text});
        expect(")");
      } else out.terms.push_back({sign, number(), ""});
      sign = peek().text == "-" ? -1 : 1;
    } while (!log_.failed() && (accept("+") || accept("-")));
    return out;
  }

  std::vector<MaestroToken> tokens_;
  std::size_t at_ = 0;
  ImportLog& log_;
  std::vector<MaestroLayer> layers_;
};

}  // namespace

std::int64_t MaestroLayer::size(const std::string& dim) const {
  for (const auto& [name, value] : dims)
    if (name == dim) return value;
  return 0;
}

std::vector<MaestroLayer> maestro_layers(const SourceFile& file, ImportLog& log) {
  return MaestroReader(file, log).run();
}

}  // namespace stepcast::dataflow
