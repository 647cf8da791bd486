#include "studies/sweep/write/explorer.h"

#include <fmt/format.h>

#include "studies/print/page/page.h"
#include "studies/sweep/write/explorer_parts.h"
#include "studies/sweep/write/words.h"

namespace stepcast::sweep {

std::string explorer_page(const SweepResult& result) {
  const SweepQuestion& q = result.question;
  const auto files = embedded_explorer();
  return page_text({.mark = std::string(explorer_mark),
      .title = fmt::format("{} on {}: stepcast sweep", network_title(q), machine_title(q)),
      .style = texts_ending_with(files, ".css"),
      .body = explorer_head(result) + texts_ending_with(files, ".html") + explorer_asked(q) + explorer_counted(result),
      .data = explorer_data(result),
      .script = texts_ending_with(files, ".js")});
}

}  // namespace stepcast::sweep
