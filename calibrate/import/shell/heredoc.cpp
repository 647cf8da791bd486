#include "calibrate/import/shell/heredoc.h"

#include <algorithm>
#include <string>

#include "calibrate/import/shell/text.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

// Configuration files written by scripts have tens of lines.
constexpr int most_heredoc_lines = 2000;

/// Behind "> " or "tee "; ">>" and "tee -a" or "tee --append" append.
std::string_view heredoc_target(std::string_view header, bool& appends) {
  std::size_t at = header.rfind('>');
  if (at != header.npos) appends = at > 0 && header[at - 1] == '>', ++at;
  else if (at = header.find("tee "); at != header.npos) at += 4;
  if (at == header.npos) return {};
  std::string_view rest = stripped(header.substr(at));
  for (const std::string_view option : {"-a ", "--append "})
    if (rest.starts_with(option)) appends = true, rest = stripped(rest.substr(option.size()));
  const char quote = rest.empty() ? ' ' : rest[0];
  const std::size_t end = quote == '"' || quote == '\'' ? rest.find(quote, 1) : rest.find_first_of(" \t;|&");
  return end == rest.npos ? rest : rest.substr(0, end + (quote == '"' || quote == '\'' ? 1 : 0));
}

}  // namespace

std::optional<Heredoc> heredoc_at(std::string_view text, std::size_t at) {
  const std::size_t line_end = std::min(text.find('\n', at), text.size());
  const std::string_view line = text.substr(at, line_end - at);
  const std::size_t open = line.find("<<");
  if (open == line.npos || line.substr(open).starts_with("<<<") || stripped(line).starts_with('#')) return std::nullopt;
  std::size_t word = open + 2;
  while (word < line.size() && (line[word] == '-' || is_shell_blank(line[word]))) ++word;
  Heredoc out;
  const char quote = word < line.size() && (line[word] == '\'' || line[word] == '"') ? line[word] : ' ';
  out.expands = quote == ' ';
  if (!out.expands) ++word;
  std::size_t end = word;
  while (end < line.size() && is_shell_name(line[end])) ++end;
  const std::string_view closing = line.substr(word, end - word);
  if (closing.empty()) return std::nullopt;
  const std::string_view before = stripped(line.substr(0, open)),
                         behind = line.substr(
                             end + (out.expands ? 0 : 1) > line.size() ? line.size() : end + (out.expands ? 0 : 1));
  out.header = before;
  out.target = heredoc_target(behind, out.appends);
  if (out.target.empty()) out.target = heredoc_target(before, out.appends);
  out.body = std::min(line_end + 1, text.size());
  std::size_t from = out.body;
  for (int lines = 0; from < text.size() && lines < most_heredoc_lines; ++lines) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    if (stripped(text.substr(from, to - from)) == closing) {
      out.end = from, out.next = std::min(to + 1, text.size());
      return out;
    }
    from = to + 1;
  }
  return std::nullopt;
}

}  // namespace stepcast::calibrate
