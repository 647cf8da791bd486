// stepcast roofline: the operators and collectives of one step under the roofs of its GPU and its network.
#include <fmt/format.h>

#include "studies/cli/named_outputs.h"
#include "studies/cli/output_file.h"
#include "studies/launch/asked_run.h"
#include "studies/print/page/page.h"
#include "studies/roofline/draw/pictures.h"
#include "studies/roofline/report.h"
#include "studies/roofline/roofline_flags.h"
#include "studies/launch/run_flags.h"
#include "studies/run/forecast.h"

namespace stepcast::roofline {
namespace {

const char* const roofline_output = "--output";

bool is_roofline_page(const std::string& name) { return is_page(name, "roofline"); }
bool is_roofline_svg(const std::string& name) { return file_holds(name, "<svg") && file_holds(name, "roofline"); }
bool is_roofline_json(const std::string& name) { return file_holds(name, "\"stepcast_roofline\""); }

struct RooflineForm {
  OutputForm form;
  std::string (*text)(const RooflineReport& report);
};
constexpr RooflineForm roofline_forms[] = {{{".html", "a page that stands alone", is_roofline_page}, roofline_page},
    {{".svg", "the pictures", is_roofline_svg}, roofline_svg},
    {{".json", "the figures, base units", is_roofline_json}, roofline_json}};

std::vector<OutputForm> forms_by_ending() {
  std::vector<OutputForm> forms;
  for (const RooflineForm& one : roofline_forms) forms.push_back(one.form);
  return forms;
}

void say_written(const std::vector<NamedOutput>& outputs, Console& console) {
  for (const NamedOutput& output : outputs)
    console.out << fmt::format("{}: {}\n", output.name, roofline_forms[output.form].form.doc);
}

}  // namespace

std::span<const Flag> roofline_flags() {
  // clang-format off
  static const std::vector<Flag> flags = study_flags(
      {{.name = "--measured", .key = "", .value = "FILE", .group = "Output",
        .doc = "timed kernels of this GPU beside the forecast: what calibrate measure or import wrote",
        .kind = FlagKind::text},
       {.name = "--output", .key = "", .value = "FILE", .group = "Output",
        .doc = "by its ending .html (page), .svg (pictures) or .json (figures); may be given several times",
        .kind = FlagKind::text, .alias = "-o", .repeats = true},
       force_flag,
       {.name = "--json", .key = "", .value = "", .group = "Output", .doc = "one JSON document in base units",
        .kind = FlagKind::toggle}});
  // clang-format on
  return flags;
}

Expected<void> roofline_command(const Arguments& arguments, Console& console) {
  TRY(const auto request, read_request(arguments));
  TRY(const auto scenario, complete(request));
  TRY(const auto measured, read_measured_file(arguments, "--measured"));
  const auto forms = forms_by_ending();
  TRY(auto outputs, open_outputs(arguments, roofline_output, forms));
  TRY(const auto prediction, run::predict(scenario, true));
  TRY(const auto report, roofline_report(request, scenario, prediction, measured));
  for (NamedOutput& output : outputs) output.file.finish(roofline_forms[output.form].text(report));
  if (arguments.has("--json")) {
    console.out << roofline_json(report);
  } else if (outputs.empty()) {
    console.out << roofline_text(report, console);
  } else {
    say_written(outputs, console);
  }
  return {};
}

}  // namespace stepcast::roofline
