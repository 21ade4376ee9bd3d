// Fuzzes the words that options take: numbers of records, names of distributions, ranges of bits.
// The first byte is a type.
#include <algorithm>
#include <array>
#include <string>

#include "cli/key_options.hpp"
#include "fuzz.hpp"
#include "protocol/distributions.hpp"
#include "protocol/sizes.hpp"

namespace {

// Calls `f`, which may refuse its input. Its message may repeat an argument: the program makes it
// safe when it prints it.
template <class F>
void may_refuse(F&& f) {
  try {
    f();
  } catch (const app::Failure&) {
  } catch (const sortium::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto type = sortium::all_key_types[data[0] % sortium::all_key_types.size()];
  const std::string word(reinterpret_cast<const char*>(data) + 1, size - 1);

  for (const unsigned most : {app::most_records, app::most_keys, 56u, 62u}) {
    may_refuse([&] {
      const auto sizes = app::parse_sizes(word, most);
      fuzz::require(
          !sizes.empty() && sizes.back() <= std::uint64_t{1} << most &&
              std::ranges::adjacent_find(sizes, std::ranges::greater_equal()) == sizes.end(),
          "sizes ascend to the largest that is allowed");
    });
    may_refuse([&] {
      fuzz::require(app::parse_size(word, "N", most) <= std::uint64_t{1} << most,
                    "a size is allowed");
    });
  }

  may_refuse([&] {
    app::KeyOptions options;
    options.bits = word;
    options.check_bits();
    const auto p = options.problem(type, 1);
    fuzz::require(
        word.empty() || (p.begin_bit < p.end_bit && p.end_bit <= sortium::info(type).bits()),
        "the bits are those of the type");
  });

  if (word.starts_with("file")) return 0;
  may_refuse([&] {
    app::check_distribution(word);
    std::array<std::uint64_t, 16> keys{}, again{};
    app::make_keys(word, type, 1000, 500, keys.size(), keys.data());
    app::make_keys(word, type, 1000, 500, keys.size(), again.data());
    fuzz::require(keys == again, "the same name makes the same keys");
  });
  return 0;
}
