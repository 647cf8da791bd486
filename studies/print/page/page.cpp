#include "studies/print/page/page.h"

#include <fmt/format.h>

#include "model/version.h"
#include "studies/cli/named_outputs.h"
#include "studies/print/page/html_text.h"

namespace stepcast::print {
namespace {

/// The icon is empty, for browsers ask for one.
constexpr std::string_view head =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n";

/// "<" stands only inside texts of JSON, where it has another spelling: no text can then end or open an element.
std::string data_element(const std::string& json) {
  std::string text = "<script id=\"data\" type=\"application/json\">";
  for (const char letter : json) {
    if (letter == '<') text += "\\u003c";
    else text += letter;
  }
  return text + "</script>\n";
}

std::string script_element(const std::string& script) {
  return "<script type=\"module\">\n" + texts_ending_with(embedded_page(), ".js") + script + "</script>\n";
}

}  // namespace

std::string texts_ending_with(std::span<const EmbeddedFile> files, std::string_view ending) {
  std::string text;
  for (const EmbeddedFile& file : files)
    if (file.name.ends_with(ending)) text += file.text;
  return text;
}

std::string page_mark(std::string_view mark) {
  return fmt::format("<meta name=\"generator\" content=\"stepcast {} ", mark);
}

std::string page_text(const PageParts& parts) {
  std::string text = fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
                                 "charset=\"utf-8\">\n{}{}\">\n{}<title>{}</title>\n<style>{}{}</style>\n"
                                 "</head>\n<body>\n",
      page_mark(parts.mark), version(), head, html_escaped(parts.title), html_style(), parts.style);
  text += parts.body;
  if (!parts.data.empty()) text += data_element(parts.data);
  if (!parts.script.empty()) text += script_element(parts.script);
  return text + "</body>\n</html>\n";
}

bool is_page(const std::string& name, std::string_view mark) { return file_holds(name, page_mark(mark)); }

}  // namespace stepcast::print
