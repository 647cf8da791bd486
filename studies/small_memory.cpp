// The program's memory for small things. A forecast makes and drops some hundred thousand of them (items, edges,
// labels), which took a fifth of its instructions: here a thread keeps lists of free pieces by size, and taking or
// giving one is a handful of instructions without a lock. Pieces of one size lie in spans of one region of addresses,
// so that whatever gives a piece back, in whichever library and thread, finds its size. Larger things are malloc's.
//
// A size's pieces stay that size's until the program ends; what ended threads had goes to those that come.
// Sanitizers look after memory themselves, and the libraries that others link leave it to them.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace stepcast::studies {
namespace {

constexpr std::size_t step = 16, largest = 512, sizes = largest / step + 1;
constexpr std::size_t span_bytes = std::size_t{1} << 16;
/// Of addresses, as many as the system lets us have; memory is taken span by span, as it is written to.
constexpr std::size_t most_region_bytes = std::size_t{1} << 36, least_region_bytes = std::size_t{1} << 30;
constexpr std::size_t most_spans = most_region_bytes / span_bytes;

struct Piece {
  Piece* next;
};

/// Of one size: those given back, and the rest of a span that was begun.
struct Pieces {
  Piece* free = nullptr;
  char *begun = nullptr, *end = nullptr;
};

constinit thread_local std::array<Pieces, sizes> own{};

struct Region {
  std::mutex mutex;
  bool asked = false;
  std::size_t spans = 0, taken = 0;
  std::array<Piece*, sizes> left{};  ///< by threads that have ended
};
constinit Region region;
constinit std::atomic<char*> region_begin = nullptr;  ///< null: none yet, or the system has none for us
constinit std::atomic<bool> full = false;             ///< no further span can be had
/// By span: of what size its pieces are, in steps. Pages of it exist where it was written to.
constinit std::array<std::uint8_t, most_spans> size_of_span{};

std::size_t place_of(std::size_t bytes) { return bytes == 0 ? 1 : (bytes + step - 1) / step; }

/// Into the region; most_spans where it is not ours.
std::size_t span_of(const void* memory) {
  const char* const begin = region_begin.load(std::memory_order_relaxed);
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(memory) - begin);
  return begin != nullptr && offset < most_region_bytes ? offset / span_bytes : most_spans;
}

/// Gives a thread's lists away when it ends. Made by the first span that the thread takes.
struct Leaver {
  Leaver() = default;
  Leaver(const Leaver&) = delete;
  Leaver& operator=(const Leaver&) = delete;
  ~Leaver() {
    const std::lock_guard lock(region.mutex);
    for (std::size_t size = 0; size < sizes; ++size) {
      Pieces& pieces = own[size];
      for (; pieces.begun != pieces.end; pieces.begun += size * step)
        pieces.free = new (pieces.begun) Piece{pieces.free};
      if (pieces.free == nullptr) continue;
      Piece* last = pieces.free;
      while (last->next != nullptr) last = last->next;
      last->next = region.left[size];
      region.left[size] = pieces.free;
      pieces.free = nullptr;
    }
  }
};

void* from_malloc(std::size_t bytes) {
  for (;;) {
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

/// Half of it is tried where the whole is refused.
void ask_for_region() {
  region.asked = true;
  for (std::size_t bytes = most_region_bytes; bytes >= least_region_bytes; bytes /= 2) {
    void* const asked =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (asked == MAP_FAILED) continue;
    region.spans = bytes / span_bytes;
    region_begin = static_cast<char*>(asked);
    return;
  }
}

/// A span of the region, or null.
char* take_span(std::size_t size) {
  if (!region.asked) ask_for_region();
  if (region.taken == region.spans) {
    full = true;
    return nullptr;
  }
  size_of_span[region.taken] = static_cast<std::uint8_t>(size);
  return region_begin + span_bytes * region.taken++;
}

[[gnu::noinline]] void* take_more(std::size_t size) {
  static thread_local Leaver leaver;
  Pieces& pieces = own[size];
  const std::lock_guard lock(region.mutex);
  if (Piece* const piece = region.left[size]) {
    pieces.free = piece->next;
    region.left[size] = nullptr;
    return piece;
  }
  char* const span = take_span(size);
  if (span == nullptr) return nullptr;
  pieces.begun = span + size * step;
  pieces.end = span + span_bytes / (size * step) * (size * step);
  return span;
}

void give(void* memory, std::size_t size) {
  Pieces& pieces = own[size];
  pieces.free = new (memory) Piece{pieces.free};
}

}  // namespace
}  // namespace stepcast::studies

void* operator new(std::size_t bytes) {
  using namespace stepcast::studies;
  if (bytes > largest) return from_malloc(bytes);
  const std::size_t size = place_of(bytes);
  Pieces& pieces = own[size];
  if (Piece* const piece = pieces.free) {
    pieces.free = piece->next;
    return piece;
  }
  if (pieces.begun != pieces.end) {
    void* const piece = pieces.begun;
    pieces.begun += size * step;
    return piece;
  }
  void* const more = full.load(std::memory_order_relaxed) ? nullptr : take_more(size);
  return more != nullptr ? more : from_malloc(bytes);
}

void operator delete(void* memory) noexcept {
  using namespace stepcast::studies;
  if (const std::size_t span = span_of(memory); span < most_spans) give(memory, size_of_span[span]);
  else std::free(memory);
}

void operator delete(void* memory, std::size_t bytes) noexcept {
  using namespace stepcast::studies;
  if (bytes <= largest && span_of(memory) < most_spans) give(memory, place_of(bytes));
  else std::free(memory);
}

#endif
