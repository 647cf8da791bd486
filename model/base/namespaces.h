// Who sees whose names. A top folder has a namespace of its name, model/ has stepcast itself, and studies/ has one for
// each of its folders. A namespace sees the names of those below it unqualified, unless two of them have a name alike;
// which of them a file may include is stricter, and tests/structure/floors.txt says it. Folders further inside may have
// a namespace inside this one (sim::orders, dataflow::mapper).
#pragma once

namespace stepcast {

namespace dataflow {}
namespace sim {
using namespace dataflow;
}
namespace kernels {}
namespace calibrate {
using namespace kernels;
}

// The rooms of studies/, from the lowest: each sees the one before it, and by it all the others.
namespace cli {
using namespace sim;
}
namespace print {
using namespace cli;
}
namespace run {
using namespace print;
}
namespace records {
using namespace run;
using namespace calibrate;
}  // namespace records
namespace launch {
using namespace records;
}
namespace engines {
using namespace launch;
}
namespace ask {
using namespace engines;
}
namespace catalog {
using namespace ask;
}
namespace notation {
using namespace catalog;
}
namespace timeline {
using namespace notation;
}
namespace schedule {
using namespace timeline;
}
namespace whatif {
using namespace schedule;
}
namespace scale {
using namespace whatif;
}
namespace sweep {
using namespace scale;
}
namespace roofline {
using namespace sweep;
}
namespace calibration {  // studies/calibrate
using namespace roofline;
}
namespace infer {
using namespace calibration;
}
namespace serve {
using namespace infer;
}
namespace mixed {
using namespace serve;
}
namespace predict {
using namespace mixed;
}
namespace job {
using namespace predict;
}
namespace fleet {
using namespace job;
}
namespace comparison {  // studies/compare
using namespace fleet;
}
namespace gate {
using namespace comparison;
}
namespace validation {
using namespace gate;
}
namespace report {
using namespace validation;
}
namespace studies {
using namespace report;
}

}  // namespace stepcast
