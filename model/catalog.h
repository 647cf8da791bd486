// The built-in rows: networks, GPUs, machines, stacks, profiles. Data files under model/catalog/ are compiled in, so
// the program runs from anywhere. Looked up by id or alias, case-insensitively; a wrong name suggests the nearest.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/engine.h"
#include "model/lazy_rows.h"
#include "model/machine/machine.h"
#include "model/network/network.h"
#include "model/profile/profile.h"
#include "model/stack.h"

namespace stepcast {

/// A profile's head. The laws behind it are thousands of figures each: read when somebody asks for them. They lie in
/// two files: profiles/ has what forecasts of steps read, kernels/ the corrections and laws that single kernels are
/// asked for besides, which is most of the bytes.
struct ProfileRow {
  std::string id, name, gpu;
  std::vector<std::string> aliases;
  [[nodiscard]] const Profile& steps() const;
  [[nodiscard]] const Profile& whole() const;
  operator const Profile&() const { return whole(); }  // so that rows serve wherever profiles do

  struct Lazy;
  std::shared_ptr<Lazy> lazy;
};

struct Catalog {
  LazyRows<NetworkSpec> networks;
  std::vector<Gpu> gpus;
  LazyRows<Machine> machines;
  LazyRows<Stack> stacks;
  LazyRows<Engine> engines;
  std::vector<ProfileRow> profiles;
};

/// Each row is parsed once per process at most. Broken built-in data is a programming error and aborts with the
/// message.
const Catalog& built_in();

/// By id or alias in `rows`; the error lists the nearest name. `kind` is "network", "machine", ...
template <typename Row>
Expected<const Row*> find_row(const std::vector<Row>& rows, const std::string& name, const std::string& kind);
template <typename Row>
Expected<const Row*> find_row(const LazyRows<Row>& rows, const std::string& name, const std::string& kind);

/// The profile to use when none is named: the one of that GPU, else of the nearest GPU of the same architecture
/// (scaled, source `transferred`), else laws from the datasheet (source `datasheet`). Says in the name which.
Profile default_profile(const Gpu& gpu, const std::vector<Profile>& profiles);
/// What forecasts of steps read of it.
Profile default_profile(const Gpu& gpu, const std::vector<ProfileRow>& profiles);
/// With the laws and corrections of single kernels.
Profile default_kernel_profile(const Gpu& gpu, const std::vector<ProfileRow>& profiles);

}  // namespace stepcast
