// Fuzzes the check of benchmark records and of their summaries. The first byte says where records
// are divided; the rest is a file of records, and a file of summaries.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "cli/benchmark_check.hpp"
#include "fuzz.hpp"
#include "io/benchmark_records.hpp"

namespace {

using app::benchmark_record_bytes;
using app::RecordSummary;

// The figures of records, counted one by one.
void check_figures(const RecordSummary& s, const std::byte* records, std::uint64_t count) {
  std::uint64_t unordered = 0, duplicates = 0, first = 0;
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::byte* const record = records + i * benchmark_record_bytes;
    const int order =
        std::memcmp(record - benchmark_record_bytes, record, app::benchmark_key_bytes);
    duplicates += order == 0;
    if (order > 0 && unordered++ == 0) first = i;
  }
  fuzz::require(s.count == count && s.unordered == unordered && s.duplicates == duplicates &&
                    s.first_unordered == first,
                "the figures are those of the records");
}

void check_records(const std::vector<std::byte>& bytes, std::uint64_t part) {
  const std::uint64_t count = bytes.size() / benchmark_record_bytes;
  const RecordSummary whole = RecordSummary::of(bytes.data(), count);
  check_figures(whole, bytes.data(), count);
  part = std::min(part, count);
  RecordSummary joined = RecordSummary::of(bytes.data(), part);
  joined.append(RecordSummary::of(bytes.data() + part * benchmark_record_bytes, count - part));
  fuzz::require(joined.to_bytes() == whole.to_bytes(), "parts have the summary of the whole");
  if (count == 0) return;
  const auto written = whole.to_bytes();
  const auto again = RecordSummary::from_bytes(written);
  fuzz::require(again.is_plausible(), "a summary that was written is accepted");
  fuzz::require(again.to_bytes() == written, "a summary reads back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::byte> bytes(size - 1);
  if (size > 1) std::memcpy(bytes.data(), data + 1, size - 1);
  check_records(bytes, data[0] % 8u);

  const fuzz::File file(data + 1, size - 1);
  app::CheckOptions options;
  options.quiet = true;
  options.files = {file.path()};
  for (const bool summaries : {false, true}) {
    options.records = !summaries;
    options.summaries = summaries;
    fuzz::may_refuse([&] {
      const int code = app::check_benchmark(options, fuzz::no_progress());
      fuzz::require(code == app::exit_success || code == app::exit_wrong,
                    "a check has two results");
    });
  }
  return 0;
}
