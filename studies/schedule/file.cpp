// The order of a file, whatever form it has: a table of forms, told apart by what is in the file.
#include "studies/schedule/file.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "sim/schedule/files/order_json.h"
#include "sim/schedule/files/primus.h"
#include "sim/schedule/files/pytorch_csv.h"
#include "studies/schedule/run.h"

namespace stepcast::schedule {
namespace {

/// A file as far as it tells forms apart.
struct FileAtHand {
  std::string path, text;  ///< no text where it is a folder
  bool folder = false;
  std::vector<std::string> keys;  ///< of a JSON object
  [[nodiscard]] bool has(const char* key) const { return std::find(keys.begin(), keys.end(), key) != keys.end(); }
};

/// The first cell is a number and a letter, behind pauses, quotes or the brace of a pair.
bool is_pytorch_csv(const FileAtHand& file) {
  constexpr std::string_view before_number = "\xEF\xBB\xBF \t\r,\"(", digits = "0123456789";
  const std::string_view text = file.text;
  const std::size_t number = text.find_first_not_of(before_number);
  const std::size_t letter = text.find_first_not_of(digits, number);
  return number != std::string_view::npos && letter != std::string_view::npos && letter > number &&
         text[letter] >= 'A' && text[letter] <= 'Z';
}

Expected<ScheduleFile> read_csv_file(const FileAtHand& file, const ScheduleRequest& request) {
  TRY(const auto dialect, find_csv_dialect(request.dialect));
  TRY(auto read, read_pytorch_csv(file.text, file.path, {.dialect = dialect, .slices = request.size.slices}));
  ScheduleFile result;
  result.copies.push_back({std::move(read.order), {}});
  result.notes = std::move(read.notes);
  return result;
}

bool is_order_json(const FileAtHand& file) { return file.has("rank_of") || file.has("micro_batches"); }

Expected<ScheduleFile> read_order_file(const FileAtHand& file, const ScheduleRequest&) {
  TRY(auto read, read_order_json(file.text, file.path));
  ScheduleFile result{.copies = std::move(read.copies),
      .has_durations = read.has_durations,
      .in_seconds = read.in_seconds,
      .step = {.tail = read.tail, .measured = read.measured},
      .notes = {}};
  if (result.copies.empty()) result.copies.push_back(std::move(read.timed));
  return result;
}

bool is_primus(const FileAtHand& file) { return file.folder && is_primus_folder(file.path); }

Expected<ScheduleFile> read_primus(const FileAtHand& file, const ScheduleRequest& request) {
  return read_primus_folder(file.path, request);
}

bool is_timeline(const FileAtHand& file) { return file.has("ranks") && file.has("p") && file.has("m"); }

Expected<ScheduleFile> read_timeline(const FileAtHand& file, const ScheduleRequest&) {
  TRY(auto read, read_measured_timeline(file.text, file.path));
  return ScheduleFile{.copies = {std::move(read.timed)},
      .has_durations = true,
      .in_seconds = true,
      .step = {.tail = {}, .measured = read.measured.value(), .on_first_rank = true},
      .notes = {}};
}

struct OrderForm {
  const char* name;
  bool (*recognises)(const FileAtHand&);
  Expected<ScheduleFile> (*read)(const FileAtHand&, const ScheduleRequest&);
  std::vector<std::string_view> takes;  ///< of the flags that only some forms take
};

const std::vector<OrderForm>& order_forms() {
  static const std::vector<OrderForm> forms = {
      {"PyTorch's CSV (0F0,0B0 ...)", is_pytorch_csv, read_csv_file, {"--csv-dialect", "--seq-splits"}},
      {"an order in JSON {micro_batches, rank_of, ranks}", is_order_json, read_order_file, {}},
      {"a measured timeline in JSON {p, v, m, ranks}", is_timeline, read_timeline, {}},
      {"a folder of Primus (config.json, pp_rank_<r>.json)", is_primus, read_primus, {"--iteration"}}};
  return forms;
}

Expected<FileAtHand> open_file(const std::string& path) {
  FileAtHand file{.path = path, .text = {}, .keys = {}};
  std::error_code ignored;
  file.folder = std::filesystem::is_directory(path, ignored);
  if (file.folder) return file;
  TRY(file.text, read_text_file(path));
  const std::size_t first = file.text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || file.text[first] != '{') return file;
  JsonObject json(file.text, path);
  if (json.failed()) return tl::unexpected(*json.first_error());
  file.keys = json.keys();
  return file;
}

Expected<const OrderForm*> form_of(const FileAtHand& file) {
  std::vector<std::string> names;
  for (const OrderForm& form : order_forms()) {
    if (form.recognises(file)) return &form;
    names.emplace_back(form.name);
  }
  return fail(file.path, file.folder ? "this folder has no order" : "this file has no order that is known",
      fmt::format("{}", fmt::join(names, "; ")));
}

Expected<void> check_form_flags(const OrderForm& form, const ScheduleRequest& request) {
  const std::pair<const char*, bool> given[] = {{"--csv-dialect", request.dialect != ScheduleRequest{}.dialect},
      {"--seq-splits", request.slices_given}, {"--iteration", request.iteration.has_value()}};
  for (const auto& [flag, there] : given) {
    if (!there || std::find(form.takes.begin(), form.takes.end(), flag) != form.takes.end()) continue;
    return fail(flag, fmt::format("does not go with {}", form.name), "leave it out");
  }
  return {};
}

/// A file has all durations or none.
Expected<void> check_times(const ScheduleFile& file, const ScheduleRequest& request) {
  if (!file.has_durations) {
    if (request.times_missing.empty()) return {};
    return fail(request.times_missing, fmt::format("is missing: {} has an order without durations", request.file),
        "--forward, --input-grad and --weight-grad, or --times FILE.json");
  }
  if (!request.times_given.empty())
    return fail(request.times_given, fmt::format("{} has the duration of every action", request.file),
        "leave it out; --p2p and --rank-speed go with such a file");
  if (request.units && *request.units != file.in_seconds)
    return fail("--p2p",
        fmt::format("has {} unit, but the durations of {} are {}", *request.units ? "a" : "no", request.file,
            file.in_seconds ? "in seconds" : "bare numbers"),
        file.in_seconds ? "--p2p 1ms" : "a bare number, or \"time_unit\": \"s\" in the file");
  for (const TimedOrder& copy : file.copies)
    for (const auto* each : {&copy.times.forward_each, &copy.times.input_grad_each, &copy.times.weight_grad_each})
      if (std::any_of(each->begin(), each->end(), [](double time) { return time > 0; })) return {};
  return fail(request.file, "all work takes no time", "at least one duration above 0");
}

Expected<void> check_file_lists(const Order& order, const ScheduleRequest& request) {
  if (request.times_file.empty()) return {};
  ScheduleRequest sized = request;
  sized.size.micro_batches = order.micro_batches;
  return check_list_lengths(sized, request.file, order.stages() / order.directions, order.directions);
}

/// Without the folders before it.
std::string shown_name(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

Expected<ScheduleRun> run_file(ScheduleFile file, const ScheduleRequest& request) {
  const std::string name = shown_name(request.file);
  if (!file.has_durations) {
    Order& order = file.copies.front().order;
    TRY(check_file_lists(order, request));
    return time_order(std::move(order), request, request.file, name);
  }
  for (TimedOrder& copy : file.copies) set_request_knobs(copy.order, request, copy.times);
  TRY(auto run, time_copies(std::move(file.copies), request, request.file, name));
  run.in_seconds = file.in_seconds;
  add_measured(file.step, run.timeline, *run.replay);
  return run;
}

}  // namespace

Expected<ScheduleRun> run_schedule_file(const ScheduleRequest& request) {
  TRY(const auto at_hand, open_file(request.file));
  TRY(const auto form, form_of(at_hand));
  TRY(check_form_flags(*form, request));
  TRY(auto file, form->read(at_hand, request));
  TRY(check_times(file, request));
  std::vector<std::string> notes = std::move(file.notes);
  auto run = run_file(std::move(file), request);
  if (run) run->notes = std::move(notes);
  return run;
}

}  // namespace stepcast::schedule
