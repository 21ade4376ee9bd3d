/* A library that treats signals as NVRTC does: compile() replaces the handlers of SIGINT and
 * SIGTERM, works, and restores them with signal(). */
#include <signal.h>
#include <unistd.h>

static void end(int number) {
  (void)number;
  _exit(4);
}

void compile(void (*work)(void)) {
  void (*interrupt)(int) = signal(SIGINT, end);
  void (*terminate)(int) = signal(SIGTERM, end);
  work();
  signal(SIGINT, interrupt);
  signal(SIGTERM, terminate);
}
