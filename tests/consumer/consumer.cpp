// A user's program: the installed headers, libraries and embedded data are enough for it.
#include <cstdio>
#include <string>

#include "dataflow/notation/embedded_aliases.h"
#include "kernels/bench/device.h"
#include "model/base/embedded.h"
#include "model/base/units.h"
#include "model/version.h"

int main() {
  using namespace stepcast;
  if (embedded_catalog().empty() || embedded_aliases().empty()) return 1;
  const Seconds second = Bytes(4e9) / BytesPerSecond(4e9);
  std::printf("%s %.0f s %s\n", std::string(version()).c_str(), second.value(), cuda_support().c_str());
}
