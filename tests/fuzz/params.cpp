// Fuzzes the reader of an algorithm's parameters. What it accepts must be within their limits.
#include <algorithm>
#include <string_view>

#include "algorithms/algorithm.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sortium::AlgorithmInfo algorithm{
      .name = "some",
      .parameters = {{"r", "bits of a digit", 1, 16, {}},
                     {"items", "records of a work-item", 1, ~std::uint64_t{0}, {}},
                     {"order", "how digits are visited", 0, 0, {"low", "high"}}}};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::may_refuse([&] {
    const sortium::Parameters parameters(text, algorithm);
    for (const auto& p : algorithm.parameters) {
      if (!parameters.has(p.name)) continue;
      if (p.choices.empty()) {
        const std::uint64_t number = parameters.number(p.name, 0);
        fuzz::require(number >= p.minimum && number <= p.maximum, "a number is allowed");
      } else {
        fuzz::require(std::ranges::count(p.choices, parameters.word(p.name, "")) == 1,
                      "a word is allowed");
      }
    }
  });
  return 0;
}
