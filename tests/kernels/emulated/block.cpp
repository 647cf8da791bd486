#include "tests/kernels/emulated/block.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "tests/kernels/emulated/fiber.h"

namespace stepcast::kernels::emulated {

constinit Place here;

namespace {

enum class At { ready, block, warp, end };

struct Thread {
  Fiber fiber;
  Index index;
  At at = At::ready;
  std::source_location where;
  unsigned mask = 0;
  void* brought = nullptr;
  const std::function<void(const Brought&)>* together = nullptr;
};

constexpr std::size_t kSharedAlignment = 128;
struct FreeShared {
  void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{kSharedAlignment}); }
};

struct Run {
  std::vector<std::unique_ptr<Thread>> threads;
  Fiber scheduler;
  Thread* current = nullptr;
  const std::function<void()>* kernel = nullptr;
  // Exactly as long as asked for: what is beyond is not ours, and AddressSanitizer knows it.
  std::unique_ptr<std::byte, FreeShared> shared;
  std::size_t shared_bytes = 0;
  std::string wrong;
  std::mt19937 order{1};
};
Run* now = nullptr;

bool same_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

void thread_body() {
  now->current->fiber.entered(now->scheduler);
  (*now->kernel)();
  now->current->at = At::end;
  now->current->fiber.switch_to(now->scheduler);
}

void wait_here(At at, std::source_location where) {
  Thread& mine = *now->current;
  mine.at = at;
  mine.where = where;
  mine.fiber.switch_to(now->scheduler);
}

void go_on(Run& run, Thread& thread) {
  run.current = &thread;
  here.thread = thread.index;
  run.scheduler.switch_to(thread.fiber);
}

bool release_block(Run& run) {
  const Thread& first = *run.threads.front();
  for (const auto& thread : run.threads)
    if (thread->at != At::block || !same_place(thread->where, first.where)) return false;
  for (const auto& thread : run.threads) thread->at = At::ready;
  return true;
}

/// The lanes that the one of this number waits with, where all of them are there; else all null.
std::array<Thread*, warp_lanes> complete_meeting(Run& run, std::size_t number) {
  const Thread& one = *run.threads[number];
  const std::size_t first = number / warp_lanes * warp_lanes;
  std::array<Thread*, warp_lanes> lanes{};
  for (unsigned l = 0; l < warp_lanes; ++l) {
    if ((one.mask >> l & 1) == 0) continue;
    if (first + l >= run.threads.size()) return {};
    Thread& other = *run.threads[first + l];
    if (other.at != At::warp || other.mask != one.mask || !same_place(other.where, one.where)) return {};
    lanes[l] = &other;
  }
  return lanes;
}

bool release_warps(Run& run) {
  bool any = false;
  for (std::size_t number = 0; number < run.threads.size(); ++number) {
    if (run.threads[number]->at != At::warp) continue;
    const auto lanes = complete_meeting(run, number);
    if (lanes[number % warp_lanes] == nullptr) continue;
    Brought brought{};
    for (unsigned l = 0; l < warp_lanes; ++l)
      if (lanes[l] != nullptr) brought[l] = lanes[l]->brought;
    (*run.threads[number]->together)(brought);
    for (Thread* lane : lanes)
      if (lane != nullptr) lane->at = At::ready;
    any = true;
  }
  return any;
}

std::string situation(const Thread& thread) {
  const auto place = fmt::format("{}:{}", thread.where.file_name(), thread.where.line());
  switch (thread.at) {
    case At::ready: return "run";
    case At::block: return "wait for the block at " + place;
    case At::warp: return fmt::format("wait for lanes {:08x} of their warp at {}", thread.mask, place);
    case At::end: return "have ended";
  }
  return {};
}

std::string stuck(const Run& run) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> groups;  // count, and the first one's number
  for (std::size_t number = 0; number < run.threads.size(); ++number)
    ++groups.try_emplace(situation(*run.threads[number]), 0, number).first->second.first;
  std::string text = fmt::format("block {},{},{} hangs:", here.block.x, here.block.y, here.block.z);
  for (const auto& [what, group] : groups)
    text += fmt::format(" {} threads from number {} {};", group.first, group.second, what);
  return text;
}

void start_threads(Run& run) {
  unsigned number = 0;
  for (auto& thread : run.threads) {
    const Extent& e = here.threads;
    thread->index = {number % e.x, number / e.x % e.y, number / (e.x * e.y)};
    thread->at = At::ready;
    thread->fiber.start(thread_body);
    ++number;
  }
}

/// Until all threads have ended, or none can go on.
void run_block(Run& run) {
  std::memset(run.shared.get(), 0xFF, run.shared_bytes);
  start_threads(run);
  std::vector<std::size_t> order(run.threads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto ended = [](const auto& thread) { return thread->at == At::end; };
  while (!std::all_of(run.threads.begin(), run.threads.end(), ended)) {
    std::shuffle(order.begin(), order.end(), run.order);
    bool any = false;
    for (const std::size_t number : order) {
      if (run.threads[number]->at != At::ready) continue;
      go_on(run, *run.threads[number]);
      any = true;
    }
    any = release_warps(run) || any;
    any = release_block(run) || any;
    if (!any) return complain(stuck(run));
  }
}

}  // namespace

void complain(std::string what) {
  if (now->wrong.empty()) now->wrong = std::move(what);
}

void* shared_memory() {
  if (now->shared_bytes == 0) complain("the kernel uses dynamic shared memory, but was started with none");
  return now->shared.get();
}

void meet_block(std::source_location where) { wait_here(At::block, where); }

void meet_warp(
    unsigned mask, void* brought, const std::function<void(const Brought&)>& together, std::source_location where) {
  Thread& mine = *now->current;
  if ((mask >> lane() & 1) == 0) {
    complain(fmt::format("lane {} meets with mask {:08x}, which is without it, at {}:{}", lane(), mask,
        where.file_name(), where.line()));
    return;
  }
  mine.mask = mask;
  mine.brought = brought;
  mine.together = &together;
  wait_here(At::warp, where);
}

unsigned lane() {
  const Extent& e = here.threads;
  return (here.thread.x + e.x * (here.thread.y + e.y * here.thread.z)) % warp_lanes;
}

std::string run(Extent blocks, Extent threads, std::size_t shared_bytes, const std::function<void()>& kernel) {
  if (blocks.count() == 0 || threads.count() == 0 || threads.count() > 1024)
    return fmt::format("{} blocks of {} threads cannot be launched", blocks.count(), threads.count());
  Run all;
  now = &all;
  all.kernel = &kernel;
  all.shared.reset(static_cast<std::byte*>(::operator new (shared_bytes, std::align_val_t{kSharedAlignment})));
  all.shared_bytes = shared_bytes;
  for (unsigned i = 0; i < threads.count(); ++i) all.threads.push_back(std::make_unique<Thread>());
  here.threads = threads;
  here.blocks = blocks;
  for (unsigned b = 0; b < blocks.count() && all.wrong.empty(); ++b) {
    here.block = {b % blocks.x, b / blocks.x % blocks.y, b / (blocks.x * blocks.y)};
    run_block(all);
  }
  now = nullptr;
  return all.wrong;
}

}  // namespace stepcast::kernels::emulated
