#include "studies/sweep/explorer.h"

#include <fmt/format.h>

#include "model/version.h"
#include "studies/sweep/explorer_parts.h"
#include "studies/validation/html_text.h"

namespace stepcast {
namespace {

/// All page files with this ending, by name: the scripts only define things, so that their order does not matter.
std::string explorer_files(std::string_view ending) {
  std::string text;
  for (const EmbeddedFile& file : embedded_explorer())
    if (file.name.ends_with(ending)) text += file.text;
  return text;
}

/// The policy makes the browser refuse what the page must not do: ask for anything. The icon is empty, for browsers ask for one.
std::string explorer_top(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}{}\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n",
      explorer_mark, version(), html_escaped(title), html_style(), explorer_files(".css"));
}

}  // namespace

std::string explorer_page(const SweepResult& result) {
  const SweepQuestion& q = result.question;
  return explorer_top(fmt::format("{} on {}: stepcast sweep", q.network, q.machine)) + explorer_head(result) +
         explorer_files(".html") + explorer_asked(q) + explorer_counted(result) +
         "<script id=\"data\" type=\"application/json\">" + explorer_data(result) + "</script>\n<script type=\"module\">\n" +
         explorer_files(".js") + "</script>\n</body>\n</html>\n";
}

}  // namespace stepcast
