#include <algorithm>
#include <cstdio>
#include <sortium/sortium.hpp>
#include <vector>

int main() {
  std::vector<std::uint32_t> keys(100'000);  // more than the calling thread sorts by itself
  for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = i * 2654435761u;
  sortium::sort(keys, {.device = "cpu:0"});
  if (!std::ranges::is_sorted(keys)) return 1;
  const auto order = sortium::argsort(std::vector<double>{0.5, -2, 1}, {.device = "cpu:0"});
  if (order != std::vector<std::uint32_t>{1, 0, 2}) return 2;
  try {
    sortium::sort(keys, {.device = "no such device"});
    return 3;
  } catch (const sortium::Error& e) {  // thrown by the library, caught here
    if (e.code() != sortium::ErrorCode::not_found) return 4;
  }
  const sortium::Plan plan(sortium::find_device("cpu:0"), {.count = 1000});
  std::printf("sorted with %s by %s\n", std::string(sortium::version()).c_str(),
              plan.algorithm().name.c_str());
  return 0;
}
