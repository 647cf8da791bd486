// stepcast: what one training step of a large model costs on a GPU cluster.
#include "studies/commands.h"

int main(int count, char** words) {
  stepcast::cli::Console console = stepcast::cli::standard_console();
  return stepcast::studies::run_program({words + 1, words + count}, console);
}
