// A child of fork() cannot use the OpenCL device that its parent has used. It must get an error; it
// must not wait for ever.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "support.hpp"

namespace sortium::test {
namespace {

constexpr int sorted = 0, refused = 0, not_refused = 3, other_error = 4;
constexpr unsigned most_seconds = 30;  // then SIGALRM ends the child

// Runs `work` in a child of fork(). Returns its exit code, or 128 + the signal that ended it.
int in_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(most_seconds);
    try {
      work();
      _exit(not_refused);
    } catch (const Error& e) {
      const bool says_why = std::string_view(e.what()).find("fork") != std::string_view::npos;
      _exit(e.code() == ErrorCode::device_failed && says_why ? refused : other_error);
    } catch (...) {
      _exit(other_error);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Fork, AnOpenClDeviceIsRefusedInTheChild) {
  const auto device = test_device();
  if (device->info().claimed.backend != Backend::opencl)
    GTEST_SKIP() << "this device is not of OpenCL";
  const auto queue = device->make_queue();
  std::vector<std::uint32_t> numbers{3, 1, 2};
  const auto buffer = device->allocate(12);
  queue->write(buffer->memory(), numbers.data(), 12);

  EXPECT_EQ(in_child([&] { queue->read(numbers.data(), buffer->memory(), 12); }), refused);
  EXPECT_EQ(in_child([&] { queue->finish(); }), refused);
  EXPECT_EQ(in_child([&] { (void)device->make_queue(); }), refused);
  EXPECT_EQ(in_child([&] { (void)device->allocate(12); }), refused);
  EXPECT_EQ(in_child([&] { sort(numbers, {.device = device->info().id}); }), refused);

  queue->read(numbers.data(), buffer->memory(), 12);  // the parent's device still works
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{3, 1, 2}));
}

// The threads of the parent's sort are not there in the child.
TEST(Fork, TheHostSortsInTheChild) {
  std::vector<std::uint32_t> numbers(300'000);
  const auto fill = [&] {
    for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i * 2654435761u;
  };
  const auto sort_all = [&] {
    fill();
    sort(numbers, {.device = "cpu:0"});
    return std::ranges::is_sorted(numbers);
  };
  try {
    (void)find_device("cpu:0");
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  ASSERT_TRUE(sort_all());
  EXPECT_EQ(in_child([&] { _exit(sort_all() ? sorted : other_error); }), sorted);
  EXPECT_TRUE(sort_all());
}

}  // namespace
}  // namespace sortium::test
