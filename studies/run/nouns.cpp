#include "studies/run/nouns.h"

#include <filesystem>

#include <fmt/format.h>

#include "model/network/hf/config.h"
#include "model/base/json_reader.h"

namespace stepcast::run {
namespace {

template <typename Row>
Expected<const Row*> named_row(
    const std::vector<Row>& rows, const std::string& name, const std::string& kind, const std::string& where) {
  const auto row = find_row(rows, name, kind);
  if (!row) return fail(where, row.error().what, row.error().hint + fmt::format("; stepcast list {}s shows all", kind));
  return row;
}

/// From the file's text by `read`, else a row of `rows`.
template <typename Row, typename Read>
Expected<Chosen<Row>> choose(const std::vector<Row>& rows, const std::string& name, const std::string& kind,
    const std::string& where, Read read) {
  if (names_a_file(name)) {
    TRY(const auto text, read_text_file(name));
    TRY(auto row, read(text, name));
    return Chosen<Row>{std::move(row), ""};
  }
  TRY(const auto row, named_row(rows, name, kind, where));
  return Chosen<Row>{*row, row->id};
}

Expected<Chosen<NetworkSpec>> read_config(const std::string& text, const std::string& name, const std::string& as) {
  TRY(auto config, read_hf_config(text, name, as));
  return Chosen<NetworkSpec>{std::move(config.network), "", std::move(config.notes)};
}

/// `laws`: which part of a row of the catalogue.
Expected<Chosen<Profile>> profile_with(
    const Profile& (ProfileRow::*laws)() const, const std::string& name, const std::string& where) {
  if (names_a_file(name)) {
    TRY(const auto text, read_text_file(name));
    TRY(auto profile, read_profile(text, name));
    return Chosen<Profile>{std::move(profile), ""};
  }
  TRY(const auto row, named_row(built_in().profiles, name, "profile", where));
  return Chosen<Profile>{((row)->*laws)(), row->id};
}

}  // namespace

bool names_a_file(const std::string& name) {
  if (name.ends_with(".json") || name.starts_with("/") || name.starts_with("./") || name.starts_with("../"))
    return true;
  // "meta-llama/Llama-3-70B" is an alias, "my/network" a path: whatever exists is meant.
  std::error_code ignored;
  return name.find('/') != std::string::npos && std::filesystem::exists(name, ignored);
}

Expected<Chosen<NetworkSpec>> choose_network(const std::string& name, const std::string& where) {
  return choose_network_as(name, where, "");
}

Expected<Chosen<NetworkSpec>> choose_network_as(
    const std::string& name, const std::string& where, const std::string& as) {
  if (names_a_file(name)) {
    TRY(const auto text, read_text_file(name));
    if (looks_like_hf_config(text) || !as.empty()) return read_config(text, name, as);
  }
  if (!as.empty())
    return fail("--as", fmt::format("'{:.60}' is a catalogue network, which needs no reading", name),
        "a Hugging Face config.json");
  return choose(built_in().networks, name, "network", where, read_network);
}

Expected<Chosen<Machine>> choose_machine(const std::string& name, const std::string& where) {
  return choose(built_in().machines, name, "machine", where, read_checked_machine);
}

Expected<Chosen<Stack>> choose_stack(const std::string& name, const std::string& where) {
  return choose(built_in().stacks, name, "stack", where, read_stack);
}

Expected<Chosen<Profile>> choose_profile(const std::string& name, const std::string& where) {
  return profile_with(&ProfileRow::steps, name, where);
}

Expected<Chosen<Profile>> choose_kernel_profile(const std::string& name, const std::string& where) {
  return profile_with(&ProfileRow::whole, name, where);
}

Expected<Machine> read_checked_machine(const std::string& text, const std::string& where) {
  TRY(auto machine, read_machine(text, where, built_in().gpus));
  TRY(check_fabric(machine));
  return machine;
}

}  // namespace stepcast::run
