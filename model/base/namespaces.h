// Who sees whose names. Each folder has a namespace of its name, model/ has stepcast itself, and studies/ has one for
// each of its folders. A folder sees the names of the folders that it may include (tests/structure/floors.txt):
// unqualified, unless a folder above has the same name.
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
namespace ask {
using namespace launch;
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
namespace predict {
using namespace calibration;
}
namespace validation {
using namespace predict;
}
namespace report {
using namespace validation;
}
namespace studies {
using namespace report;
}

}  // namespace stepcast
