#include "studies/cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace stepcast::cli {
namespace {

volatile std::sig_atomic_t signalled = 0;

extern "C" void note_signal(int) { signalled = 1; }

void install(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signalled = 0;
  install(note_signal, static_cast<int>(SA_RESETHAND));
}
InterruptGuard::~InterruptGuard() { install(SIG_DFL, 0); }

bool interrupted() { return signalled != 0; }

}  // namespace stepcast::cli
