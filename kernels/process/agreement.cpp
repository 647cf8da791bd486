#include "kernels/process/agreement.h"

namespace stepcast::kernels {
namespace {

constexpr char between_fields = '\x1f';

std::string answer_of(const Expected<std::string>& mine) {
  if (mine) return "+" + *mine;
  const Error& error = mine.error();
  return "-" + error.where + between_fields + error.what + between_fields + error.hint;
}

Error error_in(const std::string& answer, std::size_t process, bool several) {
  const std::size_t what = answer.find(between_fields), hint = answer.find(between_fields, what + 1);
  if (answer.empty() || answer.front() != '-' || what == std::string::npos || hint == std::string::npos)
    return {"process " + std::to_string(process), "gives no answer", "all processes must be of one build of stepcast"};
  const std::string by = several ? " (process " + std::to_string(process) + ")" : "";
  return {answer.substr(1, what - 1) + by, answer.substr(what + 1, hint - what - 1), answer.substr(hint + 1)};
}

}  // namespace

Expected<std::vector<std::string>> agree(Rendezvous& processes, const Expected<std::string>& mine) {
  TRY(auto all, processes.all_gather(answer_of(mine)));
  for (std::size_t process = 0; process < all.size(); ++process) {
    std::string& answer = all[process];
    if (answer.empty() || answer.front() != '+')
      return tl::unexpected(error_in(answer, process, processes.processes() > 1));
    answer.erase(0, 1);
  }
  return all;
}

}  // namespace stepcast::kernels
