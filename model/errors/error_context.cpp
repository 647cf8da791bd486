#include "model/errors/error_context.h"

#include <fmt/format.h>

namespace stepcast {

Error error_at(std::string where, Error error) {
  error.where = std::move(where);
  return error;
}

Error error_in(std::string_view outer, Error error) {
  error.where = error.where.empty() ? std::string(outer) : fmt::format("{}: {}", outer, error.where);
  return error;
}

Error error_about(std::string_view about, Error error) {
  error.what = fmt::format("{}: {}", about, error.what);
  return error;
}

Error renamed_place(Error error, std::string_view name, std::string_view said) {
  if (error.where == name) error.where = said;
  if (error.hint.starts_with(name) && error.hint.substr(name.size()).starts_with(' '))
    error.hint.replace(0, name.size(), said);
  return error;
}

Error renamed_front(Error error, std::string_view front, std::string_view said) {
  if (error.where.starts_with(front)) error.where.replace(0, front.size(), said);
  return error;
}

Error at_one_pointer(Error error, const std::string& where) {
  return renamed_front(std::move(error), where + ":/", where + "/");
}

Error with_more_hint(Error error, std::string_view more) {
  if (more.empty()) return error;
  error.hint += error.hint.empty() ? "" : "; ";
  error.hint += more;
  return error;
}

Error with_hint(Error error, std::string hint) {
  if (!hint.empty()) error.hint = std::move(hint);
  return error;
}

}  // namespace stepcast
