// Fuzzes the reader of tuning files. What it accepts must survive being printed and read again.
#include "tuning/tuning.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::may_refuse([&] {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::string printed =
        sortium::tuning::print(sortium::tuning::parse(text, "of the fuzzer"));
    const auto again = sortium::tuning::parse(printed, "that was printed");
    fuzz::require(sortium::tuning::print(again) == printed, "a file that was printed is stable");
  });
  return 0;
}
