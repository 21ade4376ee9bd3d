// `sortium gen`: makes records of the sort benchmark.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <vector>

#include "cli/command.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "io/benchmark_records.hpp"
#include "io/in_order.hpp"
#include "io/output.hpp"
#include "protocol/basics.hpp"
#include "protocol/sizes.hpp"

namespace app {

namespace {

struct GenOptions {
  std::string count, out, start = "0";
  BenchmarkFormat format;
  bool quiet = false;
};

// Parses a decimal number below 2^128.
Number128 parse_record_number(const std::string& text) {
  constexpr Number128 most = ~Number128{0};
  Number128 n = 0;
  bool fits = !text.empty();
  for (const char c : text) {
    const auto digit = static_cast<unsigned>(c - '0');
    fits = fits && c >= '0' && c <= '9' && n <= (most - digit) / 10;
    if (!fits) break;
    n = n * 10 + digit;
  }
  if (!fits)
    refuse(fmt::format("--start '{}': it must be a number of a record, in digits, from 0 to {}",
                       text, decimal(most)));
  return n;
}

// Consecutive records, and their figures if somebody wants to see them.
struct Block {
  Number128 first = 0;
  std::uint64_t count = 0;
  std::vector<std::byte> records;
  RecordSummary summary;
};

// 1 MB: it stays in the cache of a core between making, checksum and writing.
constexpr std::uint64_t block_records = 10'000;

// Writes `count` records. Returns their figures, or those of no records if `quiet`.
RecordSummary write_records(const GenOptions& o, Number128 first, std::uint64_t count,
                            Output& out) {
  Progress progress(!o.quiet);
  progress.phase("generating", count * benchmark_record_bytes);
  RecordSummary summary;
  std::uint64_t begun = 0;
  process_in_order<Block>(
      [&](Block& block) {
        block.first = first + begun;
        block.count = std::min(block_records, count - begun);
        begun += block.count;
        return block.count != 0;
      },
      [&](Block& block) {
        block.records.resize(block.count * benchmark_record_bytes);
        make_benchmark_records(o.format, block.first, block.count, block.records.data());
        if (!o.quiet) block.summary = RecordSummary::of(block.records.data(), block.count);
      },
      [&](Block& block) {
        out.write(block.records.data(), block.records.size());
        progress.advance(block.records.size());
        summary.append(block.summary);
      });
  return summary;
}

int gen(const GenOptions& o) {
  constexpr unsigned most = 56;  // 2^56 records are the last power of two below 2^63 bytes
  const std::uint64_t count = parse_size(o.count, "N", most);
  const Number128 first = parse_record_number(o.start);
  if (count != 0 && first > ~Number128{0} - (count - 1))
    refuse(fmt::format("--start {}: {} records from there end behind record {}, the last one",
                       o.start, count, decimal(~Number128{0})));

  remove_temporaries_on_signals();
  Stopwatch watch;
  Output out(o.out);
  out.reserve(count * benchmark_record_bytes);
  const RecordSummary summary = write_records(o, first, count, out);
  out.publish();
  const double seconds = watch.lap();
  if (!o.quiet)
    print_error(fmt::format("{} records from record {}, checksum {}; {:.3f} s, {:.2f} GB/s", count,
                            decimal(first), hexadecimal(summary.checksum), seconds,
                            static_cast<double>(count) * benchmark_record_bytes / seconds / 1e9));
  return exit_success;
}

constexpr const char* gen_footer =
    R"(The records are those of gensort 1.5. Each has 100 bytes; the first 10 are its key.

Examples:
  sortium gen 10000000 -o lines.bin               1 GB
  sortium gen 10000000 -o part1.bin --start 10000000
  sortium gen 2^20 -o lines.txt --ascii --skewed
  sortium gen 2^24 -o - | sortium sort - -o out.bin --record 100 --key 'bytes[0:10]'
  sortium check out.bin --records                 are they sorted?)";

}  // namespace

void add_gen(CLI::App& cli, Action& action) {
  const auto o = std::make_shared<GenOptions>();
  auto* const command = cli.add_subcommand("gen", "Make records of the sort benchmark, as gensort");
  command->add_option("N", o->count, "Number of records: 1000, 2^20")->required()->type_name("");
  command->add_option("-o,--output", o->out, "File for the records; - is standard output")
      ->required()
      ->type_name("FILE");
  command->add_flag("--ascii", o->format.ascii,
                    "Printable characters, a record a line; default: random bytes");
  command->add_flag("--skewed", o->format.skewed, "Three quarters of the keys begin alike");
  command->add_option("--start", o->start, "Number of the first record (default: 0)")
      ->type_name("RECORD");
  command->add_flag("--quiet", o->quiet, "Print no summary and no progress");
  command->footer(gen_footer);
  command->callback([o, &action] { action = [o] { return gen(*o); }; });
}

}  // namespace app
