#include "studies/cli/told.h"

#include "model/base/json_writer.h"

namespace stepcast::cli {

std::string with_told(std::string document, const Arguments& arguments) {
  JsonWriter json;
  json.open();
  json.open("told");
  bool any = false;
  for (const auto& [flag, value] : arguments.flags) {
    if (flag == "--json") continue;
    any = true;
    const auto several = arguments.repeated.find(flag);
    if (several != arguments.repeated.end()) json.field(flag, several->second);
    else if (value.empty()) json.field(flag, true);
    else json.field(flag, value);
  }
  json.close();
  json.close();
  const auto end = document.rfind('}');
  const auto last = end == 0 || end == document.npos ? document.npos : document.find_last_not_of(" \n", end - 1);
  if (!any || last == document.npos) return document;
  const std::string told = json.text();
  return document.substr(0, last + 1) + (document[last] == '{' ? "" : ",") + told.substr(1);
}

}  // namespace stepcast::cli
