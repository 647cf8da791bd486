// Coverage-guided fuzzing of the notation (libFuzzer). Built by clang with -DSTEPCAST_FUZZ=ON; see README.md here.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/check_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string complaint =
      stepcast::dataflow::complaint_about(std::string(reinterpret_cast<const char*>(data), size));
  if (complaint.empty()) return 0;
  std::fprintf(stderr, "%s\n", complaint.c_str());
  std::abort();
}
