// stepcast: what training, serving and whole jobs of large models cost on GPU clusters.
#include <malloc.h>

#include "studies/commands.h"

namespace {

/// Forecasts ask for the same memory again and again: what a thread has had it keeps, up to so much, instead of handing
/// pages back and asking for them anew (glibc, mallopt(3)).
void keep_memory() {
  constexpr int most_kept = 64 << 20;
  mallopt(M_TRIM_THRESHOLD, most_kept);
  mallopt(M_MMAP_THRESHOLD, most_kept);
}

}  // namespace

int main(int count, char** words) {
  keep_memory();
  stepcast::cli::Console console = stepcast::cli::standard_console();
  return stepcast::studies::run_program({words + 1, words + count}, console);
}
