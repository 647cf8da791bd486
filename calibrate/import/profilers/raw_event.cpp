#include "calibrate/import/profilers/raw_event.h"

#include <variant>

namespace stepcast::calibrate {
namespace {

using RawTextField = std::string RawTraceEvent::*;
using RawNumberField = std::variant<double RawTraceEvent::*, std::int64_t RawTraceEvent::*>;
// clang-format off
struct RawTextRow { std::string_view key; bool argument; RawTextField field; };
constexpr RawTextRow text_rows[] = {
    {"ph", false, &RawTraceEvent::phase}, {"cat", false, &RawTraceEvent::category},
    {"name", false, &RawTraceEvent::name}, {"name", true, &RawTraceEvent::shown},
    {"Collective name", true, &RawTraceEvent::collective}, {"dtype", true, &RawTraceEvent::type}};
struct RawNumberRow { std::string_view key; bool argument; RawNumberField field; };
constexpr RawNumberRow number_rows[] = {
    {"ts", false, &RawTraceEvent::start}, {"dur", false, &RawTraceEvent::duration},
    {"pid", false, &RawTraceEvent::process}, {"tid", false, &RawTraceEvent::thread},
    {"device", true, &RawTraceEvent::device}, {"stream", true, &RawTraceEvent::stream},
    {"correlation", true, &RawTraceEvent::correlation}, {"corr_id", true, &RawTraceEvent::correlation},
    {"External id", true, &RawTraceEvent::external}, {"external id", true, &RawTraceEvent::external},
    {"In msg nelems", true, &RawTraceEvent::in_elements}, {"Out msg nelems", true, &RawTraceEvent::out_elements},
    {"Group size", true, &RawTraceEvent::group}};
// clang-format on

}  // namespace

void RawTraceEvent::set_text(std::string_view key, bool argument, std::string_view text) {
  for (const RawTextRow& row : text_rows)
    if (row.argument == argument && row.key == key) this->*row.field = text;
}

void RawTraceEvent::set_number(std::string_view key, bool argument, double number, std::int64_t whole) {
  for (const RawNumberRow& row : number_rows) {
    if (row.argument != argument || row.key != key) continue;
    if (const auto* real = std::get_if<double RawTraceEvent::*>(&row.field)) this->** real = number;
    else this->*std::get<std::int64_t RawTraceEvent::*>(row.field) = whole;
  }
}

}  // namespace stepcast::calibrate
