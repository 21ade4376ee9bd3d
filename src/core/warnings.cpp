#include "warnings.hpp"

#include <algorithm>
#include <mutex>

namespace sortium {
namespace {

struct Warnings {
  std::mutex mutex;
  std::vector<std::string> texts;
};

Warnings& all() {
  static Warnings& warnings = *new Warnings;  // a thread may still warn while the process exits
  return warnings;
}

}  // namespace

void warn(const std::string& text) {
  const std::lock_guard lock(all().mutex);
  if (std::ranges::find(all().texts, text) == all().texts.end()) all().texts.push_back(text);
}

std::vector<std::string> warnings() {
  const std::lock_guard lock(all().mutex);
  return all().texts;
}

}  // namespace sortium
