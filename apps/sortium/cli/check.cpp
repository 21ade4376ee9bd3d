// `sortium check`: is a file sorted? Do two files have the same keys?
#include "cli/check.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <sortium/core.hpp>
#include <span>
#include <utility>

#include "cli/benchmark_check.hpp"
#include "cli/command.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "cli/records.hpp"
#include "io/files.hpp"
#include "io/host_sort.hpp"
#include "io/output.hpp"
#include "io/printable.hpp"
#include "io/text.hpp"

namespace app {

using sortium::Problem;

namespace {

std::string order_words(const KeyOptions& o) {
  std::string out = o.descending ? "in descending order" : "in ascending order";
  if (!o.bits.empty()) out += fmt::format(" of bits {}", o.bits);
  if (o.nan) out += fmt::format(", NaN {}", name(*o.nan));
  if (o.zeros) out += fmt::format(", zeros {}", name(*o.zeros));
  return out;
}

struct Difference {
  std::uint64_t key, times_in_first, times_in_second;
};

// Returns the first key, in the problem's order, that occurs more often in one list than in the
// other. Sorts both by their raw bits: a permutation has the same bits, so -0.0 and +0.0 differ
// here.
template <class Word>
std::optional<Difference> first_difference(const Problem& p, std::span<Word> a, std::span<Word> b) {
  fast_sort(a.begin(), a.end());
  fast_sort(b.begin(), b.end());
  std::optional<Difference> first;
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    const Word key = j == b.end() || (i != a.end() && *i < *j) ? *i : *j;
    const auto i_end = std::find_if(i, a.end(), [key](Word w) { return w != key; });
    const auto j_end = std::find_if(j, b.end(), [key](Word w) { return w != key; });
    const Difference d{key, static_cast<std::uint64_t>(i_end - i),
                       static_cast<std::uint64_t>(j_end - j)};
    if (d.times_in_first != d.times_in_second && (!first || rank(p, key) < rank(p, first->key)))
      first = d;
    i = i_end;
    j = j_end;
  }
  return first;
}

template <class Word>
std::span<Word> words(Keys& keys) {
  return {reinterpret_cast<Word*>(keys.data.data()), keys.count};
}

int check_sorted(const CheckOptions& o, Progress& progress) {
  const Keys keys = read_keys(o.files[0], o.text, o.type, progress);
  const Problem p = o.problem(keys.type, keys.count);
  const Column offsets = o.segments.empty()
                             ? Column{}
                             : read_offsets(o.segments, o.offset_bytes, keys.count, progress);
  const std::string lists =
      o.row_length != 0    ? fmt::format("in {} rows, each ", o.rows_of(o.files[0], keys.count))
      : offsets.count != 0 ? fmt::format("in {} segments, each ", offsets.count - 1)
                           : "";
  progress.phase("checking", keys.count);
  std::uint64_t before = 0, segment = 0;
  for (std::uint64_t i = 0; i < keys.count; ++i) {
    const std::uint64_t now = rank(p, element(keys.data.data(), keys.width, i));
    bool begins = o.row_length != 0 && i % o.row_length == 0;  // a row or a segment begins here
    for (; segment < offsets.count && element(offsets.data.data(), offsets.width, segment) == i;
         ++segment)
      begins = true;
    if (now < before && !begins) {
      progress.finish();
      if (!o.quiet)
        fmt::print("{}: not {}: record {} is {}, after {}\n", printable(o.files[0]), order_words(o),
                   i, format_key(element(keys.data.data(), keys.width, i), keys.type),
                   format_key(element(keys.data.data(), keys.width, i - 1), keys.type));
      return exit_wrong;
    }
    before = now;
    if (i % (1 << 20) == 0) progress.advance(1 << 20);
  }
  progress.finish();
  if (!o.quiet)
    fmt::print("{}: {} {} keys {}{}\n", printable(o.files[0]), keys.count,
               sortium::info(keys.type).name, lists, order_words(o));
  return exit_success;
}

int check_permutation(const CheckOptions& o, Progress& progress) {
  Keys a = read_keys(o.files[0], o.text, o.type, progress);
  Keys b = read_keys(o.files[1], o.text, o.type, progress);
  if (a.type != b.type)
    throw Failure(exit_usage,
                  fmt::format("{} has {} keys and {} has {}; they must be of one type", o.files[0],
                              sortium::info(a.type).name, o.files[1], sortium::info(b.type).name));
  Problem p = o.problem(a.type, a.count);
  progress.phase("comparing");
  const auto difference = with_word(a.width, [&](auto word) {
    return first_difference(p, words<decltype(word)>(a), words<decltype(word)>(b));
  });
  progress.finish();
  if (o.quiet) return difference ? exit_wrong : exit_success;
  if (!difference) {
    fmt::print("{} is a permutation of {}: {} {} keys\n", printable(o.files[0]),
               printable(o.files[1]), a.count, sortium::info(a.type).name);
    return exit_success;
  }
  fmt::print(
      "{} ({} keys) is not a permutation of {} ({} keys): the first difference is {}, {} times in "
      "{} and {} times in {}\n",
      printable(o.files[0]), a.count, printable(o.files[1]), b.count,
      format_key(difference->key, a.type), difference->times_in_first, printable(o.files[0]),
      difference->times_in_second, printable(o.files[1]));
  return exit_wrong;
}

int check(const CheckOptions& options) {
  options.check_bits();
  const bool is_benchmark = options.records || options.summaries;
  if (!options.summary.empty() && !is_benchmark)
    throw Failure(exit_usage,
                  fmt::format("--summary {}: --records or --summaries is needed", options.summary));
  if (options.files.size() > 2 && !is_benchmark)
    throw Failure(exit_usage, fmt::format("there are {} files; at most 2 can be compared",
                                          options.files.size()));
  if (options.files.size() == 2 && options.files[0] == "-" && options.files[1] == "-")
    throw Failure(exit_usage, "only one of the two files can be standard input");
  if (options.files.size() == 2 && !options.segments.empty())
    throw Failure(exit_usage,
                  fmt::format("--segments {}: segments are for checking one file, not two",
                              options.segments));
  if (options.files.size() == 2 && options.row_length != 0)
    throw Failure(exit_usage,
                  fmt::format("--row-length {}: rows are for checking one file, not two",
                              options.row_length));
  options.check_lists();
  if (options.segments == "-" && options.files[0] == "-")
    throw Failure(exit_usage, "keys and offsets of segments cannot both come from standard input");
  Progress progress(!options.quiet);
  if (is_benchmark) return check_benchmark(options, progress);
  if (options.are_records()) return check_records(options, progress);
  return options.files.size() == 1 ? check_sorted(options, progress)
                                   : check_permutation(options, progress);
}

constexpr const char* check_footer = R"(Examples:
  sortium check sorted.npy                       is it sorted? If not, which record is out of order?
  sortium check sorted.bin --type f32 --descending
  sortium check sorted.npy --segments offsets.npy
  sortium check sorted.npy --row-length 100
  sortium check particles.npy --by mass:desc,id
  sortium check sorted.npy keys.npy              have both the same keys, bit for bit?
  sortium check lines.bin --records              sorted records of 'sortium gen'? Their checksum?
  sortium check out1.bin --records --summary 1.sum
  sortium check 0.sum 1.sum 2.sum --summaries    are three parts, one after the other, sorted?)";

}  // namespace

void add_check(CLI::App& cli, Action& action) {
  const auto o = std::make_shared<CheckOptions>();
  auto* const command = cli.add_subcommand(
      "check", "Check that a file is sorted, or that two files have the same keys");
  command
      ->add_option("FILE", o->files,
                   "File to check, two files to compare, or summaries; - is standard input")
      ->required()
      ->expected(1, -1)
      ->type_name("");
  add_key_options(*command, *o);
  command->add_flag("--descending", o->descending, "Descending order (NaN still come last)");
  add_record_options(*command, *o);
  add_segment_options(*command, *o);
  add_row_option(*command, *o);
  command->add_flag("--records", o->records,
                    "The file has records of the sort benchmark: print their number, checksum and "
                    "duplicate keys, as valsort does");
  command
      ->add_option("--summary", o->summary,
                   "With --records or --summaries: write a summary, as valsort -o does")
      ->type_name("FILE");
  command->add_flag("--summaries", o->summaries,
                    "The files have summaries of consecutive parts: join them");
  command->add_flag("--quiet", o->quiet, "Print nothing; only the exit code tells the result");
  command->footer(check_footer);
  command->callback([o, &action] { action = [o] { return check(*o); }; });
}

}  // namespace app
