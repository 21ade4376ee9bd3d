// Kills every command that writes a file, at each step of the replacement and at random moments.
// After a kill, each output is the old file or the whole new one, and no input has changed. The
// next run completes what was committed, removes temporary files, and succeeds.
//
// SORTIUM_TEST_KILLS is the number of random kills of each command.
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli.hpp"
#include "support.hpp"

namespace {

using sortium::test::Random;

// How a test recognises a whole output.
enum class Whole {
  same,   // each run writes the same bytes
  json,   // times differ: the text is one JSON document
  lines,  // times differ: begins with an undisturbed run's first line, and ends with a whole line.
          // A run that SIGTERM stops keeps the rows that it has.
  png,    // a picture from its first to its last part: that of a run which SIGTERM stops is an
          // earlier one
};

struct Written {
  std::string name;
  Whole whole = Whole::same;
};

struct Command {
  std::string name;
  std::string arguments;
  std::vector<Written> outputs;
  // Outputs of a pair are replaced together, at the latest by the next run that names one of them,
  // such as this command.
  std::string recovery;
};

void PrintTo(const Command& command, std::ostream* out) { *out << command.name; }

const std::string host = " --device cpu:0 --quiet";
const std::string raw_record = " --record 100 --key 'bytes[0:10]'";

std::vector<Command> commands() {
  std::vector<Command> out{
      {"sort", "sort k.bin --type u32 -o out.npy" + host, {{"out.npy"}}, {}},
      {"text", "sort k.txt --text --type u32 -o out.txt" + host, {{"out.txt"}}, {}},
      {"lines", "sort k.txt -o k.txt --lines --numeric" + host, {{"k.txt"}}, {}},
      {"in_place", "sort k.bin --type u32 -o k.bin" + host, {{"k.bin"}}, {}},
      {"pairs",
       "sort k.bin --type u32 -o out.bin --values v.bin --value-bytes 4 -o2 sub/out.bin" + host,
       {{"out.bin"}, {"sub/out.bin"}},
       "check sub/out.bin --type u32"},
      {"pairs_in_place",
       "sort k.bin --type u32 -o k.bin --values v.bin --value-bytes 4 -o2 v.bin" + host,
       {{"k.bin"}, {"v.bin"}},
       "check k.bin --type u32"},
      {"argsort", "sort k.bin --type u32 --argsort -o out.npy" + host, {{"out.npy"}}, {}},
      {"segments", "sort k.bin --type u32 --segments s.npy -o k.bin" + host, {{"k.bin"}}, {}},
      {"opencl", "sort k.bin --type u32 -o k.bin --quiet --device opencl:0", {{"k.bin"}}, {}},
      {"topk", "topk 1000 k.bin --type u32 -o out.bin" + host, {{"out.bin"}}, {}},
      {"topk_pairs",
       "topk 1000 k.bin --type u32 -o out.bin --values v.bin --value-bytes 4 -o2 out2.bin" + host,
       {{"out.bin"}, {"out2.bin"}},
       "check out.bin --type u32"},
      {"records", "sort r.bin -o r.bin" + raw_record + host, {{"r.bin"}}, {}},
      {"structured", "sort r.npy -o r.npy --by id" + host, {{"r.npy"}}, {}},
      {"external",
       "sort big.bin --type u64 -o big.bin --memory {memory}" + host,
       {{"big.bin"}},
       {}},
      {"external_pairs",
       "sort big.bin --type u64 -o big.bin --values wide.bin --value-bytes 8 -o2 wide.bin "
       "--memory {memory}" +
           host,
       {{"big.bin"}, {"wide.bin"}},
       "check wide.bin --type u64"},
      {"gen", "gen 20000 --quiet -o out.bin", {{"out.bin"}}, {}},
      {"summary", "check sorted.bin --records --summary out.sum", {{"out.sum"}}, {}},
      {"draw", "draw bitonic -n 32 -o out.svg", {{"out.svg"}}, {}},
      {"bench",
       "bench --n 1000 --algorithm sample --device cpu:0 --min-time 0.001 --json out.json --csv "
       "out.csv",
       {{"out.json", Whole::json}, {"out.csv", Whole::lines}},
       {}},
      {"tune",
       "tune --device cpu:0 --algorithm sample --payload keys --n 1000 --seconds 0.1 -o tuned.json",
       {{"tuned.json", Whole::json}},
       {}},
      {"pic",
       "pic --particles 4096 --grid 8 --min-time 0.001 --device opencl:0 --picture out.png "
       "--json out.json",
       {{"out.png", Whole::png}, {"out.json", Whole::json}},
       {}}};
#ifdef SORTIUM_WITH_REPORT
  out.push_back({"report", "report results.json -o out.html", {{"out.html"}}, {}});
#endif
  return out;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n') + 1); }

std::string random_bytes(Random& random, std::size_t count) {
  std::string out(count, '\0');
  for (auto& byte : out) byte = static_cast<char>(random.next());
  return out;
}

int kills_per_command() {
  const char* const set = std::getenv("SORTIUM_TEST_KILLS");
  return set == nullptr ? 25 : std::stoi(set);
}

class WriteKills : public Cli, public testing::WithParamInterface<Command> {
 protected:
  using Files = std::map<std::string, std::optional<std::string>>;  // none: the file is absent

  void SetUp() override {
    Cli::SetUp();
    std::printf("SORTIUM_TEST_SEED=%#llx\n",
                static_cast<unsigned long long>(sortium::test::run_seed()));
    fs::create_directory(dir_ / "sub");
    write_inputs();
    for (const auto& entry : fs::directory_iterator(dir_))
      if (entry.is_regular_file())
        inputs_[entry.path().filename().string()] = contents(entry.path());
    arguments_ = GetParam().arguments;
    if (const auto at = arguments_.find("{memory}"); at != arguments_.npos)
      arguments_.replace(at, std::string_view("{memory}").size(), least_memory());
  }

  void write_inputs() {
    constexpr std::size_t megabyte = 1 << 20;
    write("k.bin", random_bytes(random_, megabyte));
    write("v.bin", random_bytes(random_, megabyte));
    write("big.bin", random_bytes(random_, 8 * megabyte));
    write("wide.bin", random_bytes(random_, 8 * megabyte));
    write("r.bin", random_bytes(random_, 100 * 10'000));
    write("sorted.bin", std::string(100 * 10'000, 'a'));
    write("r.npy",
          npy("[('id', '<u4'), ('x', '<f4')]", "(131072,)", random_bytes(random_, megabyte)));
    write("s.npy", npy("'<u4'", "(4,)", bytes_of<std::uint32_t>({0, 7, 100'000, 262'144})));
    std::string lines;
    for (int i = 0; i < 50'000; ++i) lines += std::to_string(random_.below(1u << 31)) + '\n';
    write("k.txt", lines);
    write("results.json", R"({"results": [{"algorithm": "lsd", "type": "u32", "n": 1024, )"
                          R"("device": "here", "seconds": 1, "verified": true}]})");
    write("tuned.json",
          R"({"tuned": [{"device": "elsewhere", "backend": "cuda", "algorithm": "lsd", )"
          R"("log2_count": 20, "parameters": ""}]})");
  }
  // A limit that makes the sort of big.bin write several runs.
  [[nodiscard]] std::string least_memory() const {
    const Result r = run("sort /dev/null --type u32 -o none --device cpu:0 --memory 1M");
    const auto at = r.err.rfind("at least ");
    if (at == r.err.npos) throw std::runtime_error("no least memory: " + r.err);
    return std::to_string(std::stoull(r.err.substr(at + 9)) + (1 << 20));
  }

  // Writes all inputs anew. An output that is no input is an old file, or absent.
  void restore(bool has_old_outputs) {
    for (const auto& [name, text] : inputs_) write(name, *text);
    old_.clear();
    for (const auto& output : GetParam().outputs) {
      const auto input = inputs_.find(output.name);
      if (input != inputs_.end()) {
        old_[output.name] = input->second;
      } else if (has_old_outputs) {
        old_[output.name] = "the old file";
        write(output.name, "the old file");
      } else {
        old_[output.name] = std::nullopt;
        fs::remove(dir_ / output.name);
      }
    }
  }
  [[nodiscard]] std::optional<std::string> now(const std::string& name) const {
    return exists(name) ? std::optional(read(name)) : std::nullopt;
  }
  [[nodiscard]] bool is_old(const Written& output) const {
    return now(output.name) == old_.at(output.name);
  }
  [[nodiscard]] bool is_new(const Written& output) const {
    const auto text = now(output.name);
    if (!text) return false;
    switch (output.whole) {
      case Whole::same:
        return text == new_.at(output.name);
      case Whole::json:
        return nlohmann::json::accept(*text);
      case Whole::lines:
        return text->ends_with('\n') && text->starts_with(first_line(*new_.at(output.name)));
      case Whole::png:
        return text->starts_with("\x89PNG\r\n") && text->ends_with("IEND\xae\x42\x60\x82");
    }
    return false;
  }
  [[nodiscard]] std::vector<std::string> leftovers() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(dir_))
      if (entry.path().filename().string().starts_with(".sortium-"))
        out.push_back(entry.path().string());
    return out;
  }

  // Runs the command undisturbed, and keeps its outputs and its time.
  void learn_new_files() {
    restore(true);
    ASSERT_EQ(run(arguments_).code, 0);  // also fills the caches
    restore(true);
    const auto start = std::chrono::steady_clock::now();
    const Result r = run(arguments_);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ASSERT_EQ(r.code, 0) << r.err;
    for (const auto& output : GetParam().outputs) {
      new_[output.name] = now(output.name);
      ASSERT_TRUE(is_new(output)) << output.name;
    }
    ASSERT_EQ(leftovers(), std::vector<std::string>{});
  }

  void check_after_kill(const std::string& when) const {
    const auto& outputs = GetParam().outputs;
    for (const auto& [name, text] : inputs_)
      EXPECT_TRUE(old_.contains(name) || now(name) == text) << when << ": " << name << " changed";
    for (const auto& output : outputs)
      EXPECT_TRUE(is_old(output) || is_new(output)) << when << ": " << output.name;
    if (GetParam().recovery.empty()) return;
    const Result recovered = run(GetParam().recovery);
    EXPECT_TRUE(std::ranges::all_of(outputs, [&](const auto& o) { return is_old(o); }) ||
                std::ranges::all_of(outputs, [&](const auto& o) { return is_new(o); }))
        << when << ": a pair is torn apart; " << recovered.err;
  }
  void check_next_run(const std::string& when) const {
    const Result r = run(arguments_);
    EXPECT_EQ(r.code, 0) << when << ": " << r.err;
    for (const auto& output : GetParam().outputs)
      EXPECT_TRUE(is_new(output)) << when << ": " << output.name << " after the next run";
    EXPECT_EQ(leftovers(), std::vector<std::string>{}) << when;
  }

  std::string arguments_;
  Files inputs_, old_, new_;
  double seconds_ = 0;
  Random random_{sortium::test::run_seed()};
};

INSTANTIATE_TEST_SUITE_P(Commands, WriteKills, testing::ValuesIn(commands()),
                         [](const auto& of) { return of.param.name; });

TEST_P(WriteKills, AtEachStep) {
  ASSERT_NO_FATAL_FAILURE(learn_new_files());
  for (const bool has_old_outputs : {true, false}) {
    constexpr int most_steps = 40;
    int step = 1;
    for (;; ++step) {
      ASSERT_LT(step, most_steps);
      restore(has_old_outputs);
      const Result r =
          shell(fmt::format("ASAN_OPTIONS=verify_asan_link_order=0 FAIL_AT=any:{}:kill "
                            "LD_PRELOAD={} $S {}",
                            step, FAIL_AT, arguments_));
      if (r.code == 0) break;
      const std::string when = fmt::format("step {}", step);
      EXPECT_EQ(r.code, 128 + SIGKILL) << when << ": " << r.err;
      check_after_kill(when);
      check_next_run(when);
    }
    EXPECT_GE(step, 3) << "a temporary file is created and renamed";
    std::printf("killed at %d steps\n", step - 1);
  }
}

TEST_P(WriteKills, AtRandomMoments) {
  ASSERT_NO_FATAL_FAILURE(learn_new_files());
  const bool is_pair = !GetParam().recovery.empty();
  int died = 0, replaced = 0;
  for (int kill = 0; kill < kills_per_command(); ++kill) {
    restore(random_.below(2) == 0);
    // Half of the kills come near the end, where files are replaced.
    const double from = random_.below(2) == 0 ? 0 : 0.6;
    const double moment = 0.001 + seconds_ * (from + (1.05 - from) * random_.unit());
    const int number = std::array{SIGKILL, SIGKILL, SIGTERM, SIGINT}[random_.below(4)];
    const Result r = shell(fmt::format("timeout --foreground --preserve-status -s {} {:.4f} $S {}",
                                       number, moment, arguments_));
    const std::string when = fmt::format("signal {} after {:.4f} s", number, moment);
    EXPECT_TRUE(r.code == 0 || r.code == 128 + number) << when << ": " << r.code << r.err;
    died += r.code == 0 ? 0 : 1;
    seconds_ *= r.code == 0 ? 0.8 : 1.1;  // the machine may have become faster or slower
    if (number != SIGKILL && !is_pair) {
      EXPECT_EQ(leftovers(), std::vector<std::string>{}) << when;
    }
    check_after_kill(when);
    replaced += is_old(GetParam().outputs.front()) ? 0 : 1;
    check_next_run(when);
    if (HasFailure()) break;  // the directory may not be as the next kill expects it
  }
  std::printf("%d of %d runs died; the output was new after %d\n", died, kills_per_command(),
              replaced);
  EXPECT_GT(died, 0);
}

}  // namespace

int main(int argc, char** argv) { return run_cli_tests(argc, argv); }
