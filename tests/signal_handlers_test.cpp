#include "device/signal_handlers.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

namespace sortium::test {
namespace {

std::atomic<int> caught{0};
extern "C" void count(int) { ++caught; }

struct sigaction current(int number) {
  struct sigaction out {};
  ::sigaction(number, nullptr, &out);
  return out;
}

// Waits until the handler of SIGINT is count().
void wait_for_own_handler() {
  while (current(SIGINT).sa_handler != count) std::this_thread::yield();
}

class SignalHandlers : public testing::Test {
 protected:
  SignalHandlers() {
    struct sigaction own {};
    own.sa_handler = count;
    ::sigaction(SIGINT, &own, &before_);
    compile_ = reinterpret_cast<Compile*>(::dlsym(library_, "compile"));
  }
  ~SignalHandlers() override {
    ::sigaction(SIGINT, &before_, nullptr);
    ::dlclose(library_);
  }
  void compile(void (*work)()) const {
    const KeepSignalHandlers keep(reinterpret_cast<const void*>(compile_));
    compile_(work);
  }

 private:
  using Compile = void(void (*)());
  void* library_ = ::dlopen(FAKE_COMPILER, RTLD_NOW | RTLD_LOCAL);
  Compile* compile_ = nullptr;
  struct sigaction before_ {};
};

TEST_F(SignalHandlers, OfTheProcessAreCalledWhileALibraryHasItsOwn) {
  caught = 0;
  compile([] {
    wait_for_own_handler();  // a test that hangs here shows that nobody restores it
    ::raise(SIGINT);
  });
  EXPECT_EQ(caught, 1);
}

TEST_F(SignalHandlers, KeepTheirFlags) {
  ASSERT_EQ(current(SIGINT).sa_flags & SA_RESTART, 0);
  compile([] {});
  EXPECT_EQ(current(SIGINT).sa_handler, count);
  EXPECT_EQ(current(SIGINT).sa_flags & SA_RESTART, 0);
}

TEST_F(SignalHandlers, AreKeptByManyThreads) {
  // One that begins while another works may save the other's handler as its own.
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([this] {
      for (int repeat = 0; repeat < 20; ++repeat)
        compile([] { std::this_thread::sleep_for(std::chrono::microseconds(500)); });
    });
  threads.clear();
  EXPECT_EQ(current(SIGINT).sa_handler, count);
  EXPECT_EQ(current(SIGINT).sa_flags & SA_RESTART, 0);
  EXPECT_EQ(current(SIGTERM).sa_handler, SIG_DFL);
}

TEST_F(SignalHandlers, ThatTheProcessSetsMeanwhileStay) {
  compile([] {
    wait_for_own_handler();
    std::signal(SIGTERM, SIG_IGN);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(current(SIGTERM).sa_handler, SIG_IGN);
  });
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace
}  // namespace sortium::test
