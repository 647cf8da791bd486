// stepcast report: all of a forecast as a folder.
#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "studies/cli/shell_word.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/read/launch_line.h"
#include "studies/report/folder.h"
#include "studies/cli/output_file.h"
#include "studies/print/page/page.h"
#include "studies/print/table.h"
#include "studies/launch/run_flags.h"
#include "studies/report/report.h"
#include "studies/run/forecast.h"

namespace stepcast::report {
namespace {

namespace fs = std::filesystem;
const char* const folder_flag = "--output";

/// Nothing is there but what killed writers left.
bool is_as_good_as_empty(const fs::path& folder) {
  std::error_code problem;
  const fs::directory_iterator entries(folder, problem);
  return !problem && std::all_of(begin(entries), end(entries), [](const auto& entry) { return is_part(entry.path()); });
}

/// The folder has been looked at as a whole.
bool in_own_folder(const std::string&) { return true; }

/// Of a folder that is there: empty, or holding an earlier report.
Expected<void> check_own_folder(const fs::path& folder, bool force) {
  std::error_code problem;
  if (!fs::exists(folder, problem)) return {};
  if (!fs::is_directory(folder, problem))
    return fail(folder_flag, fmt::format("{} is no folder", folder.string()), "name a folder");
  const bool ours = is_page((folder / "index.html").string(), "report");
  if (ours || force || is_as_good_as_empty(folder)) return {};
  return fail(folder_flag, fmt::format("{} holds files that are no report", folder.string()),
      "a new or empty folder, an earlier report's, or --force to write among them");
}

/// The folder, made if it was not there and removed again if nothing came into it.
class ReportFolder {
 public:
  static Expected<ReportFolder> open(const Arguments& arguments) {
    const std::string name = arguments.value(folder_flag);
    const fs::path path(name);
    if (name.empty()) return fail(folder_flag, "an empty name", "-o FOLDER");
    TRY(check_own_folder(path, arguments.has(force_flag.name)));
    std::error_code problem;
    const bool made = fs::create_directories(path, problem);
    if (problem)
      return fail(
          folder_flag, fmt::format("{} cannot be made: {}", name, problem.message()), "a folder in one of yours");
    ReportFolder folder(path, made);
    for (const DossierFile& file : dossier_files()) {
      TRY(auto opened,
          OutputFile::open(output_place(arguments, (path / file.name).string(), folder_flag, in_own_folder)));
      folder.files_.push_back(std::move(opened));
    }
    return folder;
  }
  ReportFolder(ReportFolder&& other) noexcept
      : path_(std::move(other.path_)), made_(std::exchange(other.made_, false)), files_(std::move(other.files_)) {}
  ReportFolder& operator=(ReportFolder&&) = delete;
  ~ReportFolder() {
    files_.clear();
    std::error_code not_empty;
    if (made_) fs::remove(path_, not_empty);
  }

  /// All files or none: an earlier report stays whole where this one finds no room. An earlier report's page that this
  /// one lacks goes: its links and figures would be of another run.
  void finish(const Dossier& dossier) {
    const auto has = [&](std::size_t i) {
      return dossier_files()[i].has == nullptr || dossier_files()[i].has(dossier);
    };
    const auto check = [](const Expected<void>& done) {
      if (!done) throw std::runtime_error(to_text(done.error()));
    };
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (has(i)) check(files_[i].fill(dossier_files()[i].text(dossier)));
    for (std::size_t i = 0; i < files_.size(); ++i) {
      std::error_code unknown;
      if (has(i)) check(files_[i].put_in_place());
      else fs::remove(path_ / dossier_files()[i].name, unknown);
    }
  }
  [[nodiscard]] std::string name(const DossierFile& file) const { return (path_ / file.name).string(); }

 private:
  ReportFolder(fs::path path, bool made) : path_(std::move(path)), made_(made) {}
  fs::path path_;
  bool made_ = false;
  std::vector<OutputFile> files_;
};

/// The command without the folder, for whoever wants the same again.
std::string typed_command(const Arguments& arguments) {
  std::string text = "stepcast report";
  for (const std::string& word : arguments.words) text += " " + shell_word(word);
  for (const auto& [flag, value] : arguments.flags) {
    if (flag == folder_flag || value == "--") continue;
    text += " " + flag;
    if (!value.empty()) text += " " + shell_word(value);
  }
  return text + " -o FOLDER" + launch_words_behind(arguments);
}

int threads_here() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

void list_files(const ReportFolder& folder, const Dossier& dossier, Console& console) {
  Table table({{""}, {""}});
  for (const DossierFile& file : dossier_files())
    if (file.has == nullptr || file.has(dossier)) table.add({folder.name(file), std::string(file.about)});
  console.out << table.text("");
  if (!dossier.explained) console.out << "no mapping page: " << Dossier::explained_missing << '\n';
  if (!dossier.sweep) console.out << "no sweep: " << dossier.sweep_missing << '\n';
}

}  // namespace

std::span<const Flag> report_flags() {
  // clang-format off
  static const std::vector<Flag> flags = study_flags(
      {{.name = "--output", .key = "", .value = "FOLDER", .group = "Output",
        .doc = "where: new, empty, or an earlier report's folder", .kind = FlagKind::text, .alias = "-o"},
       force_flag,
       {.name = "--no-sweep", .key = "", .value = "", .group = "Output",
        .doc = "without the sweep of neighbouring plans", .kind = FlagKind::toggle},
       {.name = "--measured", .key = "", .value = "FILE", .group = "Output",
        .doc = "timed kernels of this GPU beside the forecast: what calibrate measure or import wrote",
        .kind = FlagKind::text}});
  // clang-format on
  return flags;
}

Expected<void> report_command(const Arguments& arguments, Console& console) {
  if (!arguments.has(folder_flag)) return fail(folder_flag, "no folder is named", "-o FOLDER");
  Dossier dossier;
  dossier.command = typed_command(arguments);
  TRY(dossier.request, read_request(arguments));
  TRY(auto measured, read_measured_file(arguments, "--measured"));
  TRY(dossier.scenario, complete(dossier.request));
  TRY(auto folder, ReportFolder::open(arguments));
  TRY(fill_dossier(dossier, {!arguments.has("--no-sweep"), threads_here(), std::move(measured)}));
  folder.finish(dossier);
  list_files(folder, dossier, console);
  return {};
}

}  // namespace stepcast::report
