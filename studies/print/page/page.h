// An HTML document that stands alone: styles, scripts and data inside, and a policy with which the browser refuses any
// request.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/base/embedded.h"

namespace stepcast::print {

/// Every studies/print/page/script/*.js, by name: elements, scales, numbers as text, the note beside the pointer. They
/// only define things, so that their order does not matter.
std::span<const EmbeddedFile> embedded_page();

/// The texts of all files with this ending, one after the other.
std::string texts_ending_with(std::span<const EmbeddedFile> files, std::string_view ending);

struct PageParts {
  std::string mark;   ///< what the page begins with and no other kind of page does: "explorer"; the version follows
  std::string title;  ///< plain text
  std::string style;  ///< besides html_style()
  std::string body;   ///< HTML, escaped
  /// one JSON document for the script, as element "data"; "" = none. A "<" in it is written \u003c
  std::string data;
  std::string script;  ///< a module, behind the shared scripts; "" = the page has none
};
std::string page_text(const PageParts& parts);

/// What a page of this mark begins with, so that an earlier one is known: <meta name="generator" content="stepcast
/// MARK.
std::string page_mark(std::string_view mark);

/// Is the file at `name` a page of this mark?
bool is_page(const std::string& name, std::string_view mark);

}  // namespace stepcast::print
