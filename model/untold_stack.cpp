#include "model/untold_stack.h"

#include <string>

namespace stepcast {

Stack as_untold(Stack stack) {
  if (is_untold(stack)) return stack;
  stack.tuned_like.insert(stack.tuned_like.begin(), fit_name(stack));
  stack.id.insert(0, like_software);
  stack.fitted_with.clear();
  return stack;
}

std::string_view named_row_of(std::string_view stack_id) {
  return stack_id.starts_with(like_software) ? stack_id.substr(like_software.size()) : stack_id;
}

}  // namespace stepcast
