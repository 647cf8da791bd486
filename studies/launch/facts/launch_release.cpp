#include "studies/launch/facts/launch_release.h"

#include <algorithm>

namespace stepcast::launch {

KnownReleases known_releases(const Launch& launch) {
  const ArgumentTable& table = launch.framework->table();
  KnownReleases known;
  for (const Release& release : table.releases()) {
    const bool all = std::all_of(launch.arguments.begin(), launch.arguments.end(), [&](const GivenArgument& given) {
      const ArgumentFact* fact = table.find(given.name);
      return fact == nullptr || table.knows(*fact, release.id);
    });
    if (!all) continue;
    if (known.first.empty()) known.first = release.id;
    known.last = release.id;
  }
  return known;
}

std::string release_in_force(const Launch& launch) {
  if (!launch.release.empty()) return launch.release;
  const KnownReleases known = known_releases(launch);
  const auto releases = launch.framework->table().releases();
  return known.last.empty() || known.last == releases.back().id ? "" : known.last;
}

}  // namespace stepcast::launch
