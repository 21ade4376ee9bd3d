// The program `sortium`: its command line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <new>

#include "../../../src/core/warnings.hpp"
#include "bench/paper.hpp"
#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "draw/svg.hpp"
#include "io/printable.hpp"
#include "io/standard_descriptors.hpp"
#include "protocol/data.hpp"

namespace {

using namespace app;

constexpr const char* exit_codes =
    "Exit codes: 0 success, 1 a check said no or a result is wrong, 2 bad usage or input, 3 device "
    "or runtime failure.";

constexpr const char* sort_help = R"(Examples:
  sortium sort points.npy -o sorted.npy
  sortium sort keys.bin --type u32 -o keys.bin --verify           in place: replaced when all is done
  sortium sort keys.npy -o k.npy --values ids.npy -o2 ids.npy --descending
  sortium sort keys.npy --argsort -o order.npy --index-bytes 8
  du -k /usr/lib/* | cut -f1 | sortium sort - --text --type u32 -o -
  sortium sort keys.npy -o out.npy --device cuda:0 --algorithm radix --params b=4
  sortium sort keys.npy -o out.npy --segments offsets.npy         each segment by itself
  sortium sort particles.npy -o out.npy --by mass:desc:nan-first,id
  sortium sort lines.bin -o out.bin --record 100 --key 'bytes[0:10]'
  sortium sort hits.bin -o order.npy --argsort --record 24 --key f32@12:desc,u16@4

A file called .npy is one (1-D; integers of 1 to 8 bytes, floats of 2 to 8; either byte order, which is kept); others
are raw binary in the machine's byte order, or text with one number a line with --text. bf16 keys, which NumPy has no name
for, come as raw binary or text. Floats as text may be nan, inf and -0.0. Every sort is stable unless its algorithm says
otherwise; -0.0 and +0.0 tie, NaN comes last in both orders, unless --zeros and --nan say otherwise. Fields may be
followed by asc, desc, nan-last, nan-first, nan-bits, zeros-tied and zeros-distinct. docs/files.md says more. An output appears
whole or not at all, also after Ctrl-C. Algorithms that compare every key with every other warn of a sort that would
take minutes. SORTIUM_DEVICE is the default device, SORTIUM_CACHE_DIR is where built kernels are kept.)";

constexpr const char* topk_help = R"(Examples:
  sortium topk 10 scores.npy --largest -o best.npy
  sortium topk 1000 keys.bin --type u64 -o k.bin --values ids.npy -o2 ids-of-k.npy
  sortium topk 100 scores.npy --largest --argsort -o where.npy
  sortium topk 100 particles.npy -o heaviest.npy --by mass:desc,id
  sortium topk 100 lines.bin -o first.bin --record 100 --key 'bytes[0:10]'

The K smallest keys in ascending order, or the largest in descending order; of equal keys, those that come first in the
file. Of records, the first K in the order of their fields. NaN are no keys to find: they come after all numbers in both orders, unless --nan says otherwise. Files are as for
'sortium sort'.)";

constexpr const char* check_help = R"(Examples:
  sortium check sorted.npy                       is it sorted? If not: where is it first out of order?
  sortium check sorted.bin --type f32 --descending
  sortium check sorted.npy --segments offsets.npy
  sortium check particles.npy --by mass:desc,id
  sortium check sorted.npy keys.npy              do both hold the same keys, bit for bit, in whatever order?)";

constexpr const char* bench_help = R"(Examples:
  sortium bench                                  keys and key+value, u32, 2^8 to 2^28 records
  sortium bench --algorithm all --n 2^10:2^20 --device cuda:0 --device opencl:0
  sortium bench --algorithm lsd,std::sort,std::sort-parallel --n 1000000,2^24 --type f64 --json result.json
  sortium bench --algorithm bitonic,radix --params radix:r=4 --params radix:r=8 --n 2^20 --phases
  sortium bench --distribution uniform,nearly,and3,distinct1000 --n 2^24 --peers build/peers --csv result.csv
  sortium bench --paper 003 --json 003.json      the experiments of document 003, beside its figures

Records stay on the device. For each row, 1, 2, 4, 8 ... sorts run from the same unsorted input to the same output,
each waited for, until --min-time has passed; the result is checked afterwards. Ctrl-C keeps the rows that are done.
docs/benchmarks.md says more.)";

constexpr const char* tune_help = R"(Examples:
  sortium tune --device cuda:0                       what auto takes for u32, with and without values
  sortium tune --algorithm lsd --type u32,u64 --n 2^16,2^20,2^24 --seconds 60
  sortium tune --algorithm radix --payload keys --bits 0:30 --n 2^20,2^23,2^25 --export      as document 003's table 3

Every candidate's result is checked. What was at least 2 % faster than the algorithm's own parameters goes to the tuning
file: SORTIUM_TUNING, else sortium/tuned.json in XDG_CONFIG_HOME or ~/.config. From then on it is what sorts take on that
device where no parameters are given; SORTIUM_TUNING=off turns tuned parameters off.)";

constexpr const char* pic_help = R"(Examples:
  sortium pic                                    document 003's experiment: 2^23 particles in 32 x 32 cells, two sorts
  sortium pic --picture particles.png
  sortium pic --particles 2^28 --grid 4096 --steps 10 --device cuda:0 --json result.json

Particles (x, y, u, v, id) lie on the device in van der Corput's order. Each step but the first moves them by dt (u, v)
through the periodic unit square; then they are sorted by cell, looking at as few bits as the cells' numbers have, and,
to compare, at all 32, and every particle is moved to its new place in memory. Their charge goes to the grid before and
after. Everything is checked in each step: ids, velocities, positions, momentum, energy, order, charge.)";

std::vector<std::string> type_names() {
  std::vector<std::string> out;
  for (const auto t : sortium::all_key_types) out.emplace_back(sortium::info(t).name);
  return out;
}

CLI::Option* add_types(CLI::App& command, std::vector<std::string>& names,
                       const std::string& words) {
  return command.add_option("--type", names, words)
      ->check(CLI::IsMember(type_names()))
      ->type_name("TYPE");
}

// What the command line has of them before they are read.
struct Policies {
  std::string nan, zeros;
};

void add_policies(CLI::App& command, Policies& p) {
  command
      .add_option("--nan", p.nan,
                  "Where NaN come: last, first (in both orders), or by their sign and bits")
      ->check(CLI::IsMember({"last", "first", "bits"}))
      ->type_name("WHERE");
  command
      .add_option("--zeros", p.zeros,
                  "Whether -0.0 equals +0.0: tied, or distinct: then it comes before it")
      ->check(CLI::IsMember({"tied", "distinct"}))
      ->type_name("HOW");
}

std::optional<sortium::NanOrder> nan_of(const Policies& p) {
  using enum sortium::NanOrder;
  for (const auto nan : {last, first, bits})
    if (name(nan) == p.nan) return nan;
  return std::nullopt;
}

std::optional<sortium::ZeroOrder> zeros_of(const Policies& p) {
  using enum sortium::ZeroOrder;
  for (const auto zeros : {tied, distinct})
    if (name(zeros) == p.zeros) return zeros;
  return std::nullopt;
}

// Keys of several fields.
void add_record_options(CLI::App& command, KeyOptions& o) {
  command
      .add_option(
          "--by", o.by,
          "By fields of an .npy file's records, the most significant first; whole records move")
      ->type_name("FIELD[:desc...],...");
  command.add_option("--record", o.record, "Files are raw records of so many bytes")
      ->check(CLI::Range(1u, 256u).description(""))
      ->type_name("BYTES");
  command
      .add_option("--key", o.key,
                  "With --record: by these types at these bytes of a record, such as "
                  "bytes[0:10],f32@12:desc")
      ->type_name("TYPE@BYTE[:desc...],...");
}

void add_segment_options(CLI::App& command, KeyOptions& o) {
  command
      .add_option("--segments", o.segments,
                  "Each segment by itself: .npy or raw offsets, where each begins and the last "
                  "one ends")
      ->type_name("FILE");
  command.add_option("--offset-bytes", o.offset_bytes, "Bytes of a raw offset")
      ->check(CLI::IsMember({4, 8}))
      ->type_name("BYTES");
}

void add_key_options(CLI::App& command, KeyOptions& o, std::vector<std::string>& type,
                     Policies& policies) {
  command.add_flag("--text", o.text, "Files that are not called .npy are text, one number a line");
  add_types(command, type, "What the keys are: needed for raw and text files")->expected(1);
  add_policies(command, policies);
  command
      .add_option("--bits", o.bits,
                  "Only bits B to E-1 decide (of signed and float keys: of the unsigned number "
                  "that has their order)")
      ->type_name("B:E");
}

std::vector<sortium::KeyType> parse_types(const std::vector<std::string>& names) {
  std::vector<sortium::KeyType> out;
  for (const auto& name : names) out.push_back(sortium::parse_key_type(name));
  return out;
}

void add_sort_options(CLI::App& command, SortOptions& s, std::vector<std::string>& type,
                      Policies& policies) {
  command.add_option("IN", s.in, "File of keys; - is standard input")->required()->type_name("");
  command
      .add_option("-o,--output", s.out,
                  "Where the sorted keys go (with --argsort: the positions); - is standard "
                  "output")
      ->required()
      ->type_name("OUT");
  add_key_options(command, s, type, policies);
  command
      .add_option("--values", s.values,
                  "Values that move with the keys: .npy of any type of 1 to 256 bytes, or raw")
      ->type_name("FILE");
  command.add_option("--output2", s.values_out, "Where those values go; -o2 is short for it")
      ->type_name("FILE");
  command.add_option("--value-bytes", s.value_bytes, "Bytes of a raw value")
      ->check(CLI::Range(1u, 256u).description(""))
      ->type_name("BYTES");
  command.add_flag("--argsort", s.argsort,
                   "Write the positions of the keys in sorted order, not the keys");
  command.add_option("--index-bytes", s.index_bytes, "Bytes of a position: 4 (u32) or 8 (u64)")
      ->check(CLI::IsMember({4, 8}))
      ->type_name("BYTES")
      ->capture_default_str();
  command
      .add_option("--device", s.device,
                  "auto, cuda:0, opencl:0, opencl:1:0, or part of a device's name")
      ->type_name("NAME");
  command.add_option("--algorithm", s.algorithm, "One that 'sortium algorithms' lists")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--params", s.parameters, "The algorithm's parameters")->type_name("K=V,...");
  command
      .add_option("--max-scratch", s.max_scratch_bytes,
                  "Bytes of temporary memory at most: a slower algorithm that keeps "
                  "to it, or an error that says the least that would do")
      ->type_name("BYTES")
      ->check(CLI::PositiveNumber.description(""));
  command.add_flag("--verify", s.verify, "Check the result on the host before it is written");
  command.add_flag("--quiet", s.quiet, "No progress bar and no summary");
}

void set_key_options(KeyOptions& o, const std::vector<std::string>& types,
                     const Policies& policies) {
  if (!types.empty()) o.type = parse_types(types).front();
  o.nan = nan_of(policies);
  o.zeros = zeros_of(policies);
}

int run(std::vector<std::string> arguments) {
  CLI::App cli{"Sorts on OpenCL and CUDA devices, and on the cores of the host.", "sortium"};
  cli.set_version_flag("--version", fmt::format("sortium {}", sortium::version()));
  cli.require_subcommand(0, 1);  // none at all has a better message below
  cli.footer(fmt::format("sortium COMMAND --help has the command's options, and examples.\n\n{}",
                         exit_codes));
  std::function<int()> command;
  std::vector<std::string> types;
  Policies policies;

  auto* const devices_cli = cli.add_subcommand("devices", "List every device and what it can do");
  bool warm_them = false, test_them = false;
  devices_cli->add_flag(
      "--warm", warm_them,
      "Build and keep the default sorts' kernels on every device, so that no later "
      "sort waits for a compiler");
  devices_cli
      ->add_flag("--self-test", test_them,
                 "Run a small sort with a known answer through every algorithm of every "
                 "device")
      ->excludes("--warm");
  devices_cli->footer(
      "Examples:\n  sortium devices\n  sortium devices --warm\n  sortium devices --self-test");
  devices_cli->callback([&] { command = warm_them ? warm : test_them ? self_test : devices; });

  auto* const algorithms_cli =
      cli.add_subcommand("algorithms", "List every algorithm and its parameters");
  algorithms_cli->footer("Example:\n  sortium algorithms");
  algorithms_cli->callback([&] { command = algorithms; });

  SortOptions s;
  auto* const sort_cli = cli.add_subcommand("sort", "Sort a file");
  add_sort_options(*sort_cli, s, types, policies);
  sort_cli->add_flag("--descending", s.descending, "Descending order (NaN still comes last)");
  add_record_options(*sort_cli, s);
  add_segment_options(*sort_cli, s);
  sort_cli->footer(sort_help);
  sort_cli->callback([&] {
    set_key_options(s, types, policies);
    command = [&] { return sort(s); };
  });

  auto* const topk_cli =
      cli.add_subcommand("topk", "The first records of the sorted order, sorted");
  std::string k;
  topk_cli->add_option("K", k, "How many: 10, 2^20")->required()->type_name("");
  add_sort_options(*topk_cli, s, types, policies);
  topk_cli->add_flag("--largest", s.descending,
                     "The largest keys, in descending order, and not the smallest");
  add_record_options(*topk_cli, s);
  topk_cli->footer(topk_help);
  topk_cli->callback([&] {
    set_key_options(s, types, policies);
    s.limit = parse_size(k, "K");
    if (s.limit == 0) throw Failure(exit_usage, "K 0: at least one record is needed");
    command = [&] { return sort(s); };
  });

  CheckOptions c;
  auto* const check_cli =
      cli.add_subcommand("check", "Is a file sorted? Is one a permutation of another?");
  check_cli->add_option("FILE", c.files, "One file, or two; - is standard input")
      ->required()
      ->expected(1, 2)
      ->type_name("");
  add_key_options(*check_cli, c, types, policies);
  check_cli->add_flag("--descending", c.descending, "Descending order (NaN still comes last)");
  add_record_options(*check_cli, c);
  add_segment_options(*check_cli, c);
  check_cli->add_flag("--quiet", c.quiet, "Say it with the exit code only");
  check_cli->footer(check_help);
  check_cli->callback([&] {
    set_key_options(c, types, policies);
    command = [&] { return check(c); };
  });

  BenchOptions b;
  auto* const bench_cli = cli.add_subcommand("bench", "Measure sorting rates");
  bench_cli
      ->add_option(
          "--n", b.sizes,
          "Numbers of records: 1000, 2^20, a range 2^8:2^28 of powers of two (which is the "
          "default), a list; with --paper: those of its sizes")
      ->type_name("LIST");
  std::vector<CLI::Option*> not_for_papers;  // which have algorithms, types and so on of their own
  not_for_papers.push_back(bench_cli
                               ->add_option("--algorithm", b.algorithms,
                                            "Some that 'sortium algorithms' lists; all: "
                                            "every one of the library's")
                               ->delimiter(',')
                               ->type_name("NAME,"));
  not_for_papers.push_back(
      bench_cli
          ->add_option("--params", b.parameters,
                       "Parameters of the one algorithm, or of the one "
                       "named: radix:r=8. May be given several times: each set is a row")
          ->type_name("K=V,...")
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
  bench_cli->add_option("--device", b.devices, "May be given several times")
      ->delimiter(',')
      ->type_name("NAME,");
  not_for_papers.push_back(
      add_types(*bench_cli, types, "Types of the keys (default u32)")->delimiter(','));
  not_for_papers.push_back(bench_cli
                               ->add_option("--payload", b.payloads,
                                            "keys, values (4 bytes a key), or both, as by "
                                            "default")
                               ->delimiter(',')
                               ->check(CLI::IsMember({"keys", "values"}))
                               ->type_name("WHAT"));
  not_for_papers.push_back(
      bench_cli
          ->add_option("--distribution", b.distributions,
                       fmt::format("How the keys are "
                                   "distributed: {}, or distinctK for K different keys",
                                   fmt::join(distributions(), ", ")))
          ->delimiter(',')
          ->type_name("NAME,")
          ->capture_default_str());
  add_policies(*bench_cli, policies);
  bench_cli->add_option("--min-time", b.min_seconds, "Seconds of sorting for each row")
      ->check(CLI::Range(1e-6, 1e6).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  not_for_papers.push_back(
      bench_cli->add_flag("--phases", b.phases, "The device time of each phase of a sort, too"));
  not_for_papers.push_back(
      bench_cli
          ->add_option("--peers", b.peers,
                       "Run the peers' programs in this folder, too, on the same "
                       "devices (bench/peers makes them)")
          ->type_name("DIR"));
  auto* const paper = bench_cli
                          ->add_option("--paper", b.paper,
                                       "Make the experiments of document 000 or 003, with the "
                                       "published figures beside those measured")
                          ->check(CLI::IsMember(papers()))
                          ->type_name("NUMBER");
  for (const char* policy : {"--nan", "--zeros"})
    not_for_papers.push_back(bench_cli->get_option(policy));
  for (auto* const option : not_for_papers) paper->excludes(option);
  bench_cli->add_option("--json", b.json, "Write the results to this file, too")->type_name("FILE");
  bench_cli->add_option("--csv", b.csv, "Write them as comma-separated values, too")
      ->type_name("FILE");
  bench_cli->footer(bench_help);
  bench_cli->callback([&] {
    if (!types.empty()) b.types = parse_types(types);
    b.nan = nan_of(policies).value_or(b.nan);
    b.zeros = zeros_of(policies).value_or(b.zeros);
    command = [&] { return bench(b); };
  });

  TuneOptions t;
  auto* const tune_cli =
      cli.add_subcommand("tune", "Search an algorithm's parameters on a device, and keep the best");
  tune_cli
      ->add_option("--algorithm", t.algorithm,
                   "Whose; auto: that of the algorithm which auto takes")
      ->type_name("NAME")
      ->capture_default_str();
  tune_cli->add_option("--device", t.device, "Where; else the best that runs it")
      ->type_name("NAME");
  add_types(*tune_cli, types, "Types of the keys (default u32)")->delimiter(',');
  tune_cli
      ->add_option("--payload", t.payloads, "keys, values (4 bytes a key), or both, as by default")
      ->delimiter(',')
      ->check(CLI::IsMember({"keys", "values"}))
      ->type_name("WHAT");
  tune_cli
      ->add_option("--n", t.sizes,
                   "Numbers of records, as for bench; each stands for half to twice as many")
      ->type_name("LIST")
      ->capture_default_str();
  tune_cli->add_option("--distribution", t.distribution, "How the keys are distributed")
      ->check(CLI::IsMember(distributions()))
      ->type_name("NAME")
      ->capture_default_str();
  tune_cli->add_option("--bits", t.bits, "Sort by bits B to E-1 only; with --export")
      ->type_name("B:E");
  tune_cli
      ->add_option("--seconds", t.seconds,
                   "For the search of each type, payload and number of records")
      ->check(CLI::Range(0.01, 1e6).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  auto* const tuned =
      tune_cli->add_option("-o,--output", t.out, "The tuning file; else the user's own")
          ->type_name("FILE");
  tune_cli->add_flag("--export", t.print, "Print the entries, and leave the file alone")
      ->excludes(tuned);
  tune_cli->footer(tune_help);
  tune_cli->callback([&] {
    if (!types.empty()) t.types = parse_types(types);
    command = [&] { return tune(t); };
  });

  DrawOptions d;
  auto* const draw_cli =
      cli.add_subcommand("draw", "Draw a sorting network, or the tiers of merge sort, as SVG");
  draw_cli->add_option("WHAT", d.what, "bitonic, odd-even or merge")
      ->required()
      ->check(CLI::IsMember({"bitonic", "odd-even", "merge"}))
      ->type_name("");
  draw_cli->add_option("-n", d.n, "Records: 2 to 64")
      ->check(CLI::Range(draw_least, draw_most))
      ->type_name("")
      ->capture_default_str();
  draw_cli->add_option("-o,--output", d.out, "Where the picture goes; - is standard output")
      ->required()
      ->type_name("OUT");
  draw_cli->footer("Example:\n  sortium draw bitonic -n 16 -o net.svg");
  draw_cli->callback([&] { command = [&] { return draw(d); }; });

  PicOptions pc;
  auto* const pic_cli =
      cli.add_subcommand("pic", "Sort the particles of a particle-in-cell simulation by cell");
  pic_cli->add_option("--particles", pc.particles, "How many: 1000000, 2^23; up to 2^32")
      ->type_name("N")
      ->capture_default_str();
  pic_cli->add_option("--grid", pc.grid, "Cells along a side: 2 to 4096")
      ->check(CLI::Range(2u, 4096u).description(""))
      ->type_name("CELLS")
      ->capture_default_str();
  pic_cli->add_option("--steps", pc.steps, "Steps after the first sort: up to 1000000")
      ->check(CLI::Range(0u, 1000000u).description(""))
      ->type_name("STEPS")
      ->capture_default_str();
  pic_cli
      ->add_option("--dt", pc.dt,
                   "Time of a step, 0 to 1 (default: that of the fastest particle through a cell)")
      ->type_name("TIME");
  pic_cli->add_option("--device", pc.device, "One that runs kernels")->type_name("NAME");
  pic_cli->add_option("--algorithm", pc.algorithm, "One that 'sortium algorithms' lists")
      ->type_name("NAME")
      ->capture_default_str();
  pic_cli->add_option("--params", pc.parameters, "The algorithm's parameters")
      ->type_name("K=V,...");
  pic_cli->add_option("--min-time", pc.min_seconds, "Seconds for each figure")
      ->check(CLI::Range(1e-6, 1e6).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  pic_cli
      ->add_option("--picture", pc.picture,
                   "Draw the particles, coloured by their place in memory, before and after "
                   "the first sort and the last one")
      ->type_name("OUT.png");
  pic_cli->add_option("--json", pc.json, "Write the results to this file, too")->type_name("FILE");
  pic_cli->footer(pic_help);
  pic_cli->callback([&] { command = [&] { return pic(pc); }; });
  ReportOptions r;
  auto* const report_cli =
      cli.add_subcommand("report", "Make a page with plots of benchmark results");
  report_cli
      ->add_option("RESULTS", r.results,
                   "Files of 'sortium bench --json', scripts/gpu-check or bench/peers, and "
                   "directories of them")
      ->required()
      ->type_name("");
  report_cli->add_option("-o,--output", r.out, "Where the page goes; - is standard output")
      ->required()
      ->type_name("OUT");
  report_cli->add_option("--svg", r.svg, "Write each plot into this directory, too, as SVG")
      ->type_name("DIR");
  report_cli->footer(
      "Examples:\n  sortium report bench/results -o report.html\n"
      "  sortium report here.json there.json -o both.html --svg pictures");
  report_cli->callback([&] { command = [&] { return report(r); }; });

  // CLI11 would read -o2 as -o with the value 2.
  std::ranges::replace(arguments, "-o2", "--output2");
  std::ranges::reverse(arguments);  // as App::parse wants it
  try {
    cli.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return cli.exit(error);  // --help, --version
    throw Failure(exit_usage,
                  fmt::format("{}\n'sortium --help' says what there is.", error.what()));
  }
  if (!command) {
    std::string names;
    for (const auto* sub : cli.get_subcommands({}))
      names += (names.empty() ? "" : ", ") + sub->get_name();
    throw Failure(
        exit_usage,
        fmt::format("a command is needed: {}\n'sortium --help' says what each does.", names));
  }
  return command();
}

int complain(int code, const char* message) {
  fmt::print(stderr, "sortium: {}\n", printable_lines(message));
  return code;
}

// Shows what the library wants the user to know although no call failed.
void show_warnings() {
  for (const auto& warning : sortium::warnings()) complain(0, ("warning: " + warning).c_str());
}

// What only another device, driver or machine would mend.
bool is_runtime(sortium::ErrorCode code) {
  return code != sortium::ErrorCode::invalid_argument && code != sortium::ErrorCode::not_found;
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  // A reader that goes away, or a limit on the file size, is then an error of write(), with a
  // message and a clean end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int code = run({argv + 1, argv + argc});
    show_warnings();
    if (std::fflush(stdout) != 0) throw Failure(exit_runtime, "cannot write standard output");
    return code;
  } catch (const Failure& failure) {
    return complain(failure.code(), failure.what());
  } catch (const sortium::Error& error) {
    show_warnings();
    complain(0, error.what());
    if (!error.log().empty()) fmt::print(stderr, "{}\n", error.log());
    return is_runtime(error.code()) ? exit_runtime : exit_usage;
  } catch (const std::bad_alloc&) {
    return complain(exit_runtime, "out of host memory");
  } catch (const std::exception& error) {
    return complain(exit_runtime, error.what());
  }
}
