#include "studies/launch/jobs/compose_text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "model/base/contains.h"

namespace stepcast::launch {
namespace {

using Kind = YamlNode::Kind;

constexpr std::string_view command_keys[] = {"entrypoint", "command"};

/// A block begins on the line below its sign.
std::size_t first_line(const YamlNode& node) {
  const int below = !node.quoted && contains(node.text, '\n') ? 1 : 0;
  return static_cast<std::size_t>(std::max(0, node.position.line + below));
}

/// A text on its way from Compose's words to those of a shell (compose-go cuts by mattn/go-shellwords, Parser.Parse).
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  /// What is wrong; "": nothing.
  std::string read() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '$' && next() == '$') {  // Compose's own sign for one
        out_ += quote_ == '\'' ? "$" : "\\$", ++at_, begins_ = false;
      } else if (c == '\\' && quote_ != '\'') {
        if (quote_ == 0 && (is_blank(next()) || at_ + 1 == text_.size()))
          return "a backslash before a blank or the end of a line, which Compose makes a part of the next word";
        out_ += c, out_ += next(), ++at_, begins_ = false;
      } else if (quote_ != 0) {
        out_ += c;
        if (c == quote_) quote_ = 0;
      } else if (is_blank(c)) {
        out_ += c == '\n' ? std::string(" \\\n") : std::string(" ");
        begins_ = true;
      } else if (contains(std::string_view(";&|<>"), c)) {
        return "";
      } else if (c == '(' || c == ')') {
        return fmt::format("'{}' outside quotes, for which Compose refuses the text", c);
      } else {
        plain(c);
      }
    }
    return quote_ == 0 ? "" : "a quote that does not close";
  }
  [[nodiscard]] const std::string& shell() const { return out_; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  [[nodiscard]] char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void plain(char c) {
    if (c == '\'' || c == '"') quote_ = c;
    if (c == '#' && begins_) out_ += '\\';  // which is a word, and begins no comment
    if (c == '$' && next() == '{') {        // a default may hold any sign
      const std::size_t close = std::min(text_.find('}', at_), text_.size() - 1);
      out_ += text_.substr(at_, close + 1 - at_), at_ = close;
    } else {
      out_ += c;
    }
    begins_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  char quote_ = 0;
  bool begins_ = true;
};

/// A word of a list; Compose puts variables into it, too.
std::string compose_word(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool dollar = text.substr(at, 2) == "$$";
    if (dollar || contains(std::string_view("\\\"`"), text[at])) out += '\\';
    if (dollar) ++at;
    out += text[at];
  }
  return out + "\"";
}

}  // namespace

bool is_compose_file(const YamlNode& document) {
  const YamlNode* services = document.find("services");
  return services != nullptr && services->kind == Kind::map && document.find("apiVersion") == nullptr;
}

bool has_compose_text(const YamlNode& service) {
  return std::ranges::any_of(command_keys, [&](std::string_view key) {
    const YamlNode* node = service.find(key);
    return node != nullptr && node->kind == Kind::scalar && !node->text.empty();
  });
}

Expected<std::string> compose_text(const YamlNode& service, const std::string& where) {
  std::string text;
  for (const std::string_view key : command_keys) {
    const YamlNode* node = service.find(key);
    if (node == nullptr) continue;
    for (const YamlNode& item : node->items)
      if (item.kind == Kind::scalar) text += compose_word(item.text) + ' ';
    if (node->kind != Kind::scalar) continue;
    TextReader reader(node->text);
    if (const std::string wrong = reader.read(); !wrong.empty())
      return fail(fmt::format("{}:{} {}", where, node->position.line, key), wrong,
          "a list of words, or lines without backslashes: a line's end is a blank to Compose");
    text += reader.shell();
    while (!text.empty() && contains(std::string_view(" \\\n"), text.back())) text.pop_back();
    text += ' ';
  }
  return text;
}

std::size_t compose_line(const YamlNode& service) {
  for (const std::string_view key : command_keys)
    if (const YamlNode* node = service.find(key); node != nullptr && !(node->text.empty() && node->items.empty()))
      return first_line(node->items.empty() ? *node : node->items.front());
  return 0;
}

Expected<std::string> compose_script(const YamlNode& document, const std::string& where) {
  std::string script;
  std::size_t line = 1;
  for (const YamlNode& service : document.find("services")->entries) {
    TRY(const std::string text, compose_text(service, where));
    if (text.empty()) continue;
    for (; line < compose_line(service); ++line) script += '\n';
    std::string names;  // of its environment, which is no other service's
    const auto put = [&](const std::string& name, const std::string& value) {
      script += fmt::format("export {}={}; ", name, compose_word(value));
      names += " " + name;
    };
    if (const YamlNode* environment = service.find("environment"); environment != nullptr) {
      for (const YamlNode& entry : environment->entries) put(entry.key, entry.text);
      for (const YamlNode& item : environment->items)
        if (const std::size_t equals = item.text.find('='); equals != item.text.npos)
          put(item.text.substr(0, equals), item.text.substr(equals + 1));
    }
    script += text + '\n';
    if (!names.empty()) script += "unset" + names + '\n';
    line += 1 + static_cast<std::size_t>(std::ranges::count(text, '\n')) + (names.empty() ? 0 : 1);
  }
  return script;
}

}  // namespace stepcast::launch
