#include "model/catalog.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <fmt/format.h>

#include "model/base/embedded.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"

namespace stepcast {
namespace {

/// The program and its data are one build: a file that does not read is our mistake, not the user's.
template <typename Row> Row must(Expected<Row> row) {
  if (row) return std::move(*row);
  std::fputs(fmt::format("built-in catalogue: {}\n", to_text(row.error())).c_str(), stderr);
  std::abort();
}

template <typename Row, typename Read> std::vector<Row> rows_in(std::string_view folder, Read read) {
  std::vector<Row> rows;
  for (const EmbeddedFile& file : embedded_catalog())
    if (file.name.starts_with(folder)) rows.push_back(must(read(std::string(file.text), std::string(file.name))));
  return rows;
}

/// The keys before the first law: our own files begin with them, one key per line.
ProfileRow profile_head(const std::string& text, const std::string& where) {
  const std::size_t laws = text.find(",\n  \"gemm\":");
  JsonObject file(laws == std::string::npos ? text : text.substr(0, laws) + "}", where);
  file.allow_unknown_keys();
  ProfileRow row;
  file.read("id", row.id);
  file.read("name", row.name);
  file.optional("aliases", row.aliases);
  file.read("gpu", row.gpu);
  return must(file.finish(row));
}

}  // namespace

struct ProfileRow::Lazy {
  const EmbeddedFile *file = nullptr, *kernels = nullptr;  ///< no kernels: the profile has none, or one file for both
  std::once_flag steps_once, whole_once;
  Profile steps, whole;
};

const Profile& ProfileRow::steps() const {
  std::call_once(lazy->steps_once,
      [&] { lazy->steps = must(read_profile(std::string(lazy->file->text), std::string(lazy->file->name))); });
  return lazy->steps;
}

const Profile& ProfileRow::whole() const {
  if (lazy->kernels == nullptr) return steps();
  std::call_once(lazy->whole_once, [&] {
    lazy->whole = must(with_kernel_part(steps(), std::string(lazy->kernels->text), std::string(lazy->kernels->name)));
  });
  return lazy->whole;
}

namespace {

std::vector<ProfileRow> profile_rows() {
  constexpr std::string_view folder = "profiles/";
  std::vector<ProfileRow> rows;
  for (const EmbeddedFile& file : embedded_catalog()) {
    if (!file.name.starts_with(folder)) continue;
    rows.push_back(profile_head(std::string(file.text), std::string(file.name)));
    rows.back().lazy = std::make_shared<ProfileRow::Lazy>();
    rows.back().lazy->file = &file;
    const std::string kernels = fmt::format("kernels/{}", file.name.substr(folder.size()));
    for (const EmbeddedFile& other : embedded_catalog())
      if (other.name == kernels) rows.back().lazy->kernels = &other;
  }
  return rows;
}

Catalog read_catalog() {
  Catalog rows;
  rows.networks = rows_in<NetworkSpec>("networks/", read_network);
  rows.gpus = rows_in<Gpu>("gpus/", read_gpu);
  rows.machines = rows_in<Machine>("machines/",
      [&](const std::string& text, const std::string& where) { return read_machine(text, where, rows.gpus); });
  rows.stacks = rows_in<Stack>("stacks/", read_stack);
  rows.engines = rows_in<Engine>("engines/", read_engine);
  rows.profiles = profile_rows();
  return rows;
}

bool same_name(std::string_view a, std::string_view b) { return lower_case(a) == lower_case(b); }

}  // namespace

const Catalog& built_in() {
  static const Catalog rows = read_catalog();
  return rows;
}

template <typename Row>
Expected<const Row*> find_row(const std::vector<Row>& rows, const std::string& name, const std::string& kind) {
  std::vector<std::string> ids, all;
  for (const Row& row : rows) {
    const bool alias =
        std::ranges::any_of(row.aliases, [&](const std::string& other) { return same_name(other, name); });
    if (same_name(row.id, name) || alias) return &row;
    ids.push_back(row.id);
    all.push_back(row.id);
    all.insert(all.end(), row.aliases.begin(), row.aliases.end());
  }
  const std::string near = nearest_name(name, all);
  const std::string hint = near.empty() ? name_hint("", ids) : fmt::format("did you mean '{}'?", near);
  return fail(kind, fmt::format("unknown {} '{:.80}'", kind, name), hint);
}

template Expected<const NetworkSpec*> find_row(const std::vector<NetworkSpec>&, const std::string&, const std::string&);
template Expected<const Gpu*> find_row(const std::vector<Gpu>&, const std::string&, const std::string&);
template Expected<const Machine*> find_row(const std::vector<Machine>&, const std::string&, const std::string&);
template Expected<const Stack*> find_row(const std::vector<Stack>&, const std::string&, const std::string&);
template Expected<const Engine*> find_row(const std::vector<Engine>&, const std::string&, const std::string&);
template Expected<const ProfileRow*> find_row(const std::vector<ProfileRow>&, const std::string&, const std::string&);

}  // namespace stepcast
