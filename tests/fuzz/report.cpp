// Fuzzes the reader of `sortium report`: files of results.
#include <cmath>

#include "fuzz.hpp"
#include "report/data.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  try {
    const app::ReportData read = app::read_results({file.path()});
    fuzz::require(!read.runs.empty(), "a file without results is refused");
    for (const auto& run : read.runs)
      for (const auto& row : run.rows)
        fuzz::require(std::isfinite(row.seconds) && row.seconds >= 0, "a time is a time");
  } catch (const app::Failure&) {  // the program makes the message safe when it prints it
  }
  return 0;
}
