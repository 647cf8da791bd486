// A function with a stack of its own that can be left and gone on with. Over getcontext and setcontext; told to
// AddressSanitizer, which would else take the other stack for a broken one.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <memory>

namespace stepcast::kernels::emulated {

class Fiber {
 public:
  Fiber();  ///< with no stack of its own: stands for whoever switches to fibers first
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Next time someone switches here, `entry` starts on the stack, whatever was on it. It must never return.
  void start(void (*entry)());
  /// What `entry` calls first. `from` is who switched to it.
  void entered(Fiber& from);
  /// Leaves this fiber, which runs now, for another; returns when someone switches back.
  void switch_to(Fiber& other);

 private:
  ucontext_t context_{};
  std::byte* bottom_ = nullptr;  // of the stack, its lowest address
  std::size_t size_ = 0;
  bool owned_ = false;
  void* fake_stack_ = nullptr;  // the sanitizer's own
};

}  // namespace stepcast::kernels::emulated
