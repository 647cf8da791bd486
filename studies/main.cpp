// stepcast: what one training step of a large model costs on a GPU cluster.
#include "studies/commands.h"

int main(int count, char** words) {
  stepcast::Console console = stepcast::standard_console();
  return stepcast::run_program({words + 1, words + count}, console);
}
