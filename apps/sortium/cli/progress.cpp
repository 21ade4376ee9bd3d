#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "cli/common.hpp"

namespace app {

namespace {
void put(const std::string& text) {
  // If the terminal cannot be written, sorting continues.
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

std::string rough(double seconds) {
  if (seconds < 90) return fmt::format("about {:.0f} s", seconds);
  return seconds < 5400 ? fmt::format("about {:.0f} min", seconds / 60)
                        : fmt::format("about {:.1f} h", seconds / 3600);
}
}  // namespace

Progress::Progress(bool wanted) {
  if (!wanted || ::isatty(STDERR_FILENO) == 0) return;
  try {
    painter_ = std::jthread([this](const std::stop_token& stop) { paint(stop); });
  } catch (const std::system_error&) {  // no more threads: the work matters more
  }
}

void Progress::paint(const std::stop_token& stop) {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, 1s, [] { return false; });
  while (!stop.stop_requested()) {
    draw();
    changed_.wait_for(lock, stop, 100ms, [] { return false; });
  }
}

void Progress::phase(std::string name, std::uint64_t total) {
  const std::lock_guard lock(mutex_);
  name_ = std::move(name);
  total_ = total;
  done_ = 0;
  phase_begin_ = Clock::now();
}

void Progress::label(std::string name) {
  const std::lock_guard lock(mutex_);
  name_ = std::move(name);
}

void Progress::print(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (drawn_) put("\r\033[K");
  drawn_ = false;
  fmt::print("{}", text);
  flush_output();
}

void Progress::draw() {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  std::string line;
  if (total_ == 0) {
    line = fmt::format("{} … {:.1f} s", name_, seconds);
  } else {
    constexpr unsigned width = 30;
    const double part =
        std::min(1.0, static_cast<double>(done_.load()) / static_cast<double>(total_));
    const auto filled = static_cast<unsigned>(part * width);
    line = fmt::format("{} [{:#<{}}{:.<{}}] {:3.0f} % {:.1f} s", name_, "", filled, "",
                       width - filled, part * 100, seconds);
    const double so_far = std::chrono::duration<double>(Clock::now() - phase_begin_).count();
    if (part > 0 && part < 1 && so_far > 2)
      line += ", " + rough(so_far * (1 - part) / part) + " left";
  }
  put("\r\033[K" + line);
  drawn_ = true;
}

void Progress::finish() {
  if (!painter_.joinable()) return;
  painter_.request_stop();
  painter_.join();
  if (drawn_) put("\r\033[K");
}

}  // namespace app
