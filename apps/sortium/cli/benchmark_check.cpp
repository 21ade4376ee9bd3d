#include "cli/benchmark_check.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/common.hpp"
#include "io/benchmark_records.hpp"
#include "io/in_order.hpp"
#include "io/input.hpp"
#include "io/output.hpp"
#include "io/printable.hpp"

namespace app {

namespace {

void check_usage(const CheckOptions& o) {
  const std::string option = o.summaries ? "--summaries" : "--records";
  const std::pair<bool, const char*> excluded[] = {{o.summaries && o.records, "--records"},
                                                   {!o.by.empty(), "--by"},
                                                   {o.record.has_value(), "--record"},
                                                   {!o.key.empty(), "--key"},
                                                   {o.text, "--text"},
                                                   {o.type.has_value(), "--type"},
                                                   {o.descending, "--descending"},
                                                   {!o.bits.empty(), "--bits"},
                                                   {o.nan.has_value(), "--nan"},
                                                   {o.zeros.has_value(), "--zeros"},
                                                   {!o.segments.empty(), "--segments"},
                                                   {o.row_length != 0, "--row-length"}};
  for (const auto& [is_set, name] : excluded)
    if (is_set)
      refuse(
          fmt::format("{} and {} exclude each other: the records have {} bytes, and their key "
                      "is bytes[0:{}]",
                      name, option, benchmark_record_bytes, benchmark_key_bytes));
  if (o.records && o.files.size() > 1)
    refuse(
        fmt::format("--records: it checks one file, and there are {}; compare checksums, or two "
                    "files with --record {}",
                    o.files.size(), benchmark_record_bytes));
}

struct Block {
  std::vector<std::byte> records;
  std::uint64_t bytes = 0;  // of `records` that are filled
  RecordSummary summary;
};

// 1 MB: it stays in the cache of a core between reading and checking.
constexpr std::uint64_t block_bytes = 10'000 * benchmark_record_bytes;

RecordSummary summarize_file(const std::string& path, Progress& progress) {
  Input input(path);
  progress.phase("checking " + input.name(), input.is_regular() ? input.left() : 0);
  RecordSummary summary;
  std::uint64_t read = 0;
  process_in_order<Block>(
      [&](Block& block) {
        block.records.resize(block_bytes);
        block.bytes = input.read(block.records.data(), block_bytes);
        read += block.bytes;
        progress.advance(block.bytes);
        return block.bytes != 0;
      },
      [](Block& block) {
        block.summary =
            RecordSummary::of(block.records.data(), block.bytes / benchmark_record_bytes);
      },
      [&](const Block& block) { summary.append(block.summary); });
  if (read % benchmark_record_bytes != 0)
    refuse(fmt::format("{}: it is truncated: its {} bytes are not a multiple of {}", input.name(),
                       read, benchmark_record_bytes));
  return summary;
}

// Joins the summaries in all files, in the order of the command line.
RecordSummary join_summaries(const std::vector<std::string>& paths) {
  RecordSummary joined;
  for (const auto& path : paths) {
    Input input(path);
    RecordSummary::FileBytes bytes;
    std::uint64_t n = 0;
    for (std::uint64_t i = 0; (n = input.read(bytes.data(), bytes.size())) != 0; ++i) {
      if (n != bytes.size())
        refuse(
            fmt::format("{}: it is no file of summaries: behind {} summaries of {} bytes there "
                        "are {} bytes",
                        input.name(), i, bytes.size(), n));
      const auto part = RecordSummary::from_bytes(bytes);
      if (!part.is_plausible())
        refuse(
            fmt::format("{}: it is no file of summaries: the numbers of summary {} contradict "
                        "each other",
                        input.name(), i));
      joined.append(part);
    }
  }
  return joined;
}

void print_summary(const std::string& name, const RecordSummary& s) {
  if (s.unordered == 0)
    fmt::print("{}: {} records in the order of bytes[0:{}]\n", name, decimal(s.count),
               benchmark_key_bytes);
  else
    fmt::print(
        "{}: {} records, not in the order of bytes[0:{}]; out of order: {}, first record {}\n",
        name, decimal(s.count), benchmark_key_bytes, decimal(s.unordered),
        decimal(s.first_unordered));
  fmt::print("checksum {}\nduplicate keys {}\n", hexadecimal(s.checksum), decimal(s.duplicates));
}

// No records have an empty summary: valsort has none for them.
void write_summary(Output& out, const RecordSummary& s) {
  if (s.count != 0) {
    const auto bytes = s.to_bytes();
    out.write(bytes.data(), bytes.size());
  }
  out.publish();
}

}  // namespace

int check_benchmark(const CheckOptions& o, Progress& progress) {
  check_usage(o);
  remove_temporaries_on_signals();
  std::optional<Output> out;  // opened first, so that an error shows before the check
  if (!o.summary.empty()) out.emplace(o.summary);
  for (const auto& file : o.files)
    if (out) out->spare(file, "which is checked");

  const RecordSummary summary =
      o.summaries ? join_summaries(o.files) : summarize_file(o.files[0], progress);
  progress.finish();
  if (out) write_summary(*out, summary);
  if (!o.quiet)
    print_summary(
        o.files.size() == 1 ? printable(o.files[0]) : fmt::format("{} files", o.files.size()),
        summary);
  return summary.unordered == 0 ? exit_success : exit_wrong;
}

}  // namespace app
