// Records under what circumstances a run was made: GPU, clocks, driver, CUDA, NCCL, container, commit, chosen variables
// of the environment, seed. What is not there is recorded as absent, so that two manifests always have the same keys.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"

namespace stepcast::gate {

struct ManifestFact {
  std::string name;
  std::optional<std::string> value;  ///< none: absent
};

struct Manifest {
  std::vector<ManifestFact> facts, environment;
};

/// Where facts come from; tests bring their own.
struct ManifestSources {
  /// What a shell command prints, without blanks around it; none where it fails or prints nothing.
  std::function<std::optional<std::string>(const std::string& command)> shell;
  std::function<const char*(const char* name)> variable;
  std::function<bool(const char* path)> exists;
};
ManifestSources this_machine();

/// `folder`: whose git commit is meant; `variables`: of the environment; `own`: facts that the caller knows, first.
Manifest make_manifest(const std::string& folder, const std::vector<std::string>& variables,
    const std::vector<ManifestFact>& own, const ManifestSources& sources);

std::string manifest_json(const Manifest& manifest);

/// HEAD of the folder, with "-dirty" behind it where files differ from it; "" outside of a repository.
std::string commit_of(const std::string& folder, const ManifestSources& sources);

}  // namespace stepcast::gate
