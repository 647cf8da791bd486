#include "model/errors/carried.h"

#include <cstdio>
#include <cstdlib>

namespace stepcast {

void end_broken_build(const Error& error) {
  std::fprintf(stderr, "%s\n", to_text(error).c_str());
  std::abort();
}

}  // namespace stepcast
