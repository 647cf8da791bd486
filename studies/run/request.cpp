#include "studies/run/request.h"

#include <fmt/format.h>

#include "model/base/large_value.h"

namespace stepcast::run {

LARGE_VALUE_MEMBERS(Request)

std::vector<std::string> texts_of(const std::vector<Remark>& remarks) { return names_of(remarks, &Remark::text); }

Expected<void> Request::say(const RunField& field, std::string text, std::string where) {
  if (field.is_noun())
    return fail(
        where, fmt::format("{} is chosen, not read from text", field.key), "a row of the catalogue or of a file");
  text = with_plain_size(field, text);
  TRY(check_field(field, text, where));
  TRY(field.type.read(text, where, wishes_));
  std::erase_if(statements, [&](const Statement& statement) { return statement.instead_of == field.id; });
  said_[field.key] = {std::move(text), std::move(where)};
  return {};
}

Expected<void> Request::say(std::string_view key, std::string text, std::string where) {
  if (const RunField* field = find_field(key)) return say(*field, std::move(text), std::move(where));
  return fail(std::move(where), fmt::format("a run is told no '{:.60}'", key),
      name_hint(key, names_of(run_fields(), &RunField::key)));
}

void Request::unsay(FieldId id) {
  const RunField& row = field(id);
  if (said_.erase(row.key) > 0) row.type.copy(wishes_, {});
}

const Request::Value* Request::find(FieldId id) const {
  const auto found = said_.find(field(id).key);
  return found == said_.end() ? nullptr : &found->second;
}

std::string Request::where(FieldId id) const {
  const Value* value = find(id);
  return value != nullptr ? value->where : fmt::format("{} (default)", field(id).flag);
}

}  // namespace stepcast::run
