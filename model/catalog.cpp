#include "model/catalog.h"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "model/errors/carried.h"
#include "model/base/embedded.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"

namespace stepcast {
namespace {

std::vector<Gpu> gpu_rows() {
  std::vector<Gpu> rows;
  for (const EmbeddedFile& file : embedded_catalog())
    if (file.name.starts_with("gpus/"))
      rows.push_back(carried(read_gpu(std::string(file.text), std::string(file.name))));
  return rows;
}

template <typename Row>
LazyRows<Row> rows_in(std::string_view folder, Expected<Row> (*read)(const std::string&, const std::string&)) {
  return {folder,
      [read](const EmbeddedFile& file) { return carried(read(std::string(file.text), std::string(file.name))); }};
}

Expected<Machine> read_built_in_machine(const std::string& text, const std::string& where) {
  return read_machine(text, where, built_in().gpus);
}

/// The keys before `next`: our own files begin with them, one key per line.
JsonObject head_of(std::string_view text, std::string_view next, std::string_view where) {
  const std::size_t end = text.find(fmt::format(",\n  \"{}\":", next));
  JsonObject file(
      end == std::string_view::npos ? std::string(text) : std::string(text.substr(0, end)) + "}", std::string(where));
  file.allow_unknown_keys();
  return file;
}

ProfileRow profile_head(const EmbeddedFile& profile) {
  JsonObject file = head_of(profile.text, "gemm", profile.name);
  ProfileRow row;
  file.read("id", row.id);
  file.read("name", row.name);
  file.optional("aliases", row.aliases);
  file.read("gpu", row.gpu);
  return carried(file.finish(row));
}

}  // namespace

// Whoever asks for many names asks for all heads each time.
std::vector<std::string> aliases_in(const EmbeddedFile& row) {
  static std::mutex one_at_a_time;
  static std::unordered_map<const EmbeddedFile*, std::vector<std::string>> known;
  const std::lock_guard lock(one_at_a_time);
  const auto [place, unread] = known.try_emplace(&row);
  if (!unread) return place->second;
  JsonObject file = head_of(row.text, "source", row.name);
  std::vector<std::string> aliases;
  file.optional("aliases", aliases);
  return place->second = carried(file.finish(aliases));
}

struct ProfileRow::Lazy {
  const EmbeddedFile *file = nullptr, *kernels = nullptr;  ///< no kernels: the profile has none, or one file for both
  std::once_flag steps_once, whole_once;
  Profile steps, whole;
};

const Profile& ProfileRow::steps() const {
  std::call_once(lazy->steps_once,
      [&] { lazy->steps = carried(read_profile(std::string(lazy->file->text), std::string(lazy->file->name))); });
  return lazy->steps;
}

const Profile& ProfileRow::whole() const {
  if (lazy->kernels == nullptr) return steps();
  std::call_once(lazy->whole_once, [&] {
    lazy->whole =
        carried(with_kernel_part(steps(), std::string(lazy->kernels->text), std::string(lazy->kernels->name)));
  });
  return lazy->whole;
}

namespace {

std::vector<ProfileRow> profile_rows() {
  constexpr std::string_view folder = "profiles/";
  std::vector<ProfileRow> rows;
  for (const EmbeddedFile& file : embedded_catalog()) {
    if (!file.name.starts_with(folder)) continue;
    rows.push_back(profile_head(file));
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
  rows.gpus = gpu_rows();
  rows.machines = rows_in<Machine>("machines/", read_built_in_machine);
  rows.stacks = rows_in<Stack>("stacks/", read_stack);
  rows.engines = rows_in<Engine>("engines/", read_engine);
  rows.profiles = profile_rows();
  return rows;
}

bool same_name(std::string_view a, std::string_view b) { return lower_case(a) == lower_case(b); }

/// Ids with their other names behind them, in the order of the rows.
struct RowNames {
  std::vector<std::string> ids, all;
  void add(std::string_view id, const std::vector<std::string>& aliases) {
    ids.emplace_back(id);
    all.emplace_back(id);
    all.insert(all.end(), aliases.begin(), aliases.end());
  }
};

tl::unexpected<Error> unknown_row(const std::string& name, const std::string& kind, const RowNames& names) {
  const std::string near = nearest_name(name, names.all);
  const std::string hint = near.empty() ? name_hint("", names.ids) : fmt::format("did you mean '{}'?", near);
  return fail(kind, fmt::format("unknown {} '{:.80}'", kind, name), hint);
}

}  // namespace

const Catalog& built_in() {
  static const Catalog rows = read_catalog();
  return rows;
}

template <typename Row>
Expected<const Row*> find_row(const std::vector<Row>& rows, const std::string& name, const std::string& kind) {
  RowNames names;
  for (const Row& row : rows) {
    const bool alias =
        std::ranges::any_of(row.aliases, [&](const std::string& other) { return same_name(other, name); });
    if (same_name(row.id, name) || alias) return &row;
    names.add(row.id, row.aliases);
  }
  return unknown_row(name, kind, names);
}

// No name is of two rows (a test holds the catalogue to that), so that ids can be looked through before heads are read.
template <typename Row>
Expected<const Row*> find_row(const LazyRows<Row>& rows, const std::string& name, const std::string& kind) {
  for (std::size_t at = 0; at < rows.size(); ++at)
    if (same_name(rows.id(at), name)) return &rows[at];
  RowNames names;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::vector<std::string> aliases = rows.aliases(at);
    if (std::ranges::any_of(aliases, [&](const std::string& other) { return same_name(other, name); }))
      return &rows[at];
    names.add(rows.id(at), aliases);
  }
  return unknown_row(name, kind, names);
}

template Expected<const NetworkSpec*> find_row(const LazyRows<NetworkSpec>&, const std::string&, const std::string&);
template Expected<const Gpu*> find_row(const std::vector<Gpu>&, const std::string&, const std::string&);
template Expected<const Machine*> find_row(const LazyRows<Machine>&, const std::string&, const std::string&);
template Expected<const Stack*> find_row(const LazyRows<Stack>&, const std::string&, const std::string&);
template Expected<const Engine*> find_row(const LazyRows<Engine>&, const std::string&, const std::string&);
template Expected<const ProfileRow*> find_row(const std::vector<ProfileRow>&, const std::string&, const std::string&);

}  // namespace stepcast
