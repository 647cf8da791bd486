#include "tests/kernels/emulated/fiber.h"

#include <sys/mman.h>

#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace stepcast::kernels::emulated {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kFiberStack = 512 << 10;  // red zones make frames several times as long
void leave(void** fake, const void* bottom, std::size_t size) { __sanitizer_start_switch_fiber(fake, bottom, size); }
void arrive(void* fake, const void** bottom, std::size_t* size) { __sanitizer_finish_switch_fiber(fake, bottom, size); }
void forget_frames(void* bottom, std::size_t size) { __asan_unpoison_memory_region(bottom, size); }
#else
constexpr std::size_t kFiberStack = 128 << 10;
void leave(void**, const void*, std::size_t) {}
void arrive(void*, const void**, std::size_t*) {}
void forget_frames(void*, std::size_t) {}
#endif

}  // namespace

Fiber::Fiber() = default;

Fiber::~Fiber() {
  if (!owned_) return;
  forget_frames(bottom_, size_);
  munmap(bottom_, size_);
}

void Fiber::start(void (*entry)()) {
  if (!owned_) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* memory = mmap(nullptr, kFiberStack, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    bottom_ = static_cast<std::byte*>(memory);
    size_ = kFiberStack;
    owned_ = true;
  }
  forget_frames(bottom_, size_);
  fake_stack_ = nullptr;
  getcontext(&context_);
  context_.uc_stack.ss_sp = bottom_;
  context_.uc_stack.ss_size = size_;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
}

void Fiber::entered(Fiber& from) {
  const void* bottom = nullptr;
  std::size_t size = 0;
  arrive(nullptr, &bottom, &size);
  if (from.owned_ || bottom == nullptr) return;
  from.bottom_ = static_cast<std::byte*>(const_cast<void*>(bottom));
  from.size_ = size;
}

void Fiber::switch_to(Fiber& other) {
  // Not swapcontext: AddressSanitizer's own version of it forgets all red zones of the other stack.
  volatile bool back = false;
  leave(&fake_stack_, other.bottom_, other.size_);
  getcontext(&context_);
  if (!back) {
    back = true;
    setcontext(&other.context_);
  }
  arrive(fake_stack_, nullptr, nullptr);
}

}  // namespace stepcast::kernels::emulated
