// Which of a launch's engines a benchmark loads: by the ports where they listen, and by the model that it asks for.
#pragma once

#include <string>
#include <vector>

#include "studies/engines/pools/pools.h"

namespace stepcast::engines {

struct AddressedEngines {
  std::vector<FoundLine> servers;  ///< those that one benchmark loads; all of them where nobody tells
  std::vector<FoundLine> benches;  ///< those that load these
  std::vector<std::string> notes, doubts;
};
/// Nothing changes where a router stands before the engines, where they are nodes of one, or where an address is not
/// told: of a container, of another machine, of a variable.
AddressedEngines addressed_engines(std::vector<FoundLine> servers, std::vector<FoundLine> benches, bool has_router);

}  // namespace stepcast::engines
