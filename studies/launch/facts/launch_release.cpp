#include "studies/launch/facts/launch_release.h"

#include <algorithm>
#include <vector>

namespace stepcast::launch {

KnownReleases known_releases(const Launch& launch) {
  const ArgumentTable& table = launch.framework->table();
  std::vector<const ArgumentFact*> facts;  // each looked up once
  for (const GivenArgument& given : launch.arguments)
    if (const ArgumentFact* fact = table.find(given.name); fact != nullptr) facts.push_back(fact);
  KnownReleases known;
  for (const Release& release : table.releases()) {
    const bool all =
        std::ranges::all_of(facts, [&](const ArgumentFact* fact) { return table.knows(*fact, release.id); });
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
