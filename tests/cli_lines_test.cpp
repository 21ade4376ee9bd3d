// `sortium sort --lines` beside GNU sort, byte for byte: random and hostile texts, all options;
// errors, faults, kills.
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <thread>

#include "cli.hpp"
#include "support.hpp"

namespace {

using sortium::test::Random;

using Generator = std::function<std::string(Random&)>;  // makes a line without its newline

std::string from_alphabet(Random& random, std::string_view alphabet, std::size_t most) {
  std::string out(random.below(most + 1), '\0');
  for (char& c : out) c = alphabet[random.below(alphabet.size())];
  return out;
}

// Blanks, a sign, zeros, digits, a point, more digits, and what ends a number; each may be missing.
std::string number(Random& random) {
  const auto some = [&](std::string_view alphabet, std::size_t most) {
    return random.below(2) == 0 ? std::string() : from_alphabet(random, alphabet, most);
  };
  const std::size_t digits = random.below(8) == 0 ? 40 : 3;
  std::string out = some(" \t", 2) + some("-", 1) + some("0", 3) + some("0123456789", digits);
  if (random.below(2) == 0) out += "." + some("019", digits) + some("0", 3);
  return out + some("-+e. x1", 2);
}

// Lines whose keys agree for long, and often wholly.
std::string alike(Random& random) {
  static const std::string common(200, 'x');
  return common.substr(0, 40 * random.below(6)) + from_alphabet(random, "ab", 12) +
         common.substr(0, random.below(20));
}

// All bytes but the newline, and 0x80: GNU sort 9.1 skips that one in numbers, as if it separated
// thousands.
std::string any_bytes(Random& random) {
  std::string out(random.below(30), '\0');
  for (char& c : out) {
    c = static_cast<char>(random.next());
    if (c == '\n' || c == '\x80') c = '\0';
  }
  return out;
}

struct Texts {
  const char* name;
  Generator line;
};

const std::array texts{
    Texts{"words", [](Random& r) { return from_alphabet(r, "abcdefghij", 14); }},
    Texts{"few_letters", [](Random& r) { return from_alphabet(r, "ab", 30); }},
    Texts{"bytes", any_bytes},
    Texts{"zeros", [](Random& r) { return from_alphabet(r, std::string_view("\0\1", 2), 20); }},
    Texts{"fields", [](Random& r) { return from_alphabet(r, "ab \t,", 25); }},
    Texts{"windows", [](Random& r) { return from_alphabet(r, "a, \xff", 12) + "\r"; }},
    Texts{"alike", alike},
    Texts{"numbers", number},
    Texts{"number_fields", [](Random& r) { return number(r) + "," + number(r) + " " + number(r); }},
};

class Lines : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (shell("sort --version | grep -q GNU").code != 0) GTEST_SKIP() << "no GNU sort";
    std::printf("SORTIUM_TEST_SEED=%#llx\n",
                static_cast<unsigned long long>(sortium::test::run_seed()));
  }

  [[nodiscard]] static std::string make(const Generator& line, std::size_t count, Random& random) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += line(random) + '\n';
    if (random.below(2) == 0 && !out.empty()) out.pop_back();
    return out;
  }
  // Sorts the file "in" with both programs. "ours" and "theirs" are equal afterwards.
  void agrees(const std::string& options, const std::string& of_gnu) const {
    const Result r = run("sort in -o ours --lines --quiet --device cpu:0 " + options);
    ASSERT_EQ(r.code, 0) << options << r.err;
    ASSERT_EQ(r.err, "");
    ASSERT_EQ(shell("LC_ALL=C sort -s in -o theirs " + of_gnu).code, 0) << of_gnu;
    ASSERT_TRUE(read("ours") == read("theirs")) << options << ", as " << of_gnu;
  }
};

struct Option {
  std::string ours, gnu;
};

// All combinations of the options.
std::vector<Option> all_options() {
  std::vector<Option> keys{{"", ""}};
  for (const int field : {1, 2, 3, 7}) {
    keys.push_back({fmt::format("--field {0}", field), fmt::format("-k {0},{0}", field)});
    for (const char* separator : {",", " ", "a", "\\t", "\\0"}) {
      const bool is_tab = std::string_view(separator) == "\\t";
      keys.push_back(
          {fmt::format("--field {} --separator '{}'", field, separator),
           fmt::format("-k {0},{0} -t {1}", field,
                       is_tab ? "\"$(printf '\\t')\"" : fmt::format("'{}'", separator))});
    }
  }
  std::vector<Option> out;
  for (const auto& key : keys)
    for (int flags = 0; flags < 8; ++flags) {
      Option option = key;
      const auto add = [&](int flag, const char* ours, const char* gnu) {
        if ((flags & flag) == 0) return;
        option.ours += ours;
        option.gnu += gnu;
      };
      add(1, " --numeric", " -n");
      add(2, " --unique", " -u");
      add(4, " --descending", " -r");
      out.push_back(option);
    }
  return out;
}

// Every text with a part of the combinations, and every combination with a part of the texts.
TEST_F(Lines, AgreeWithGnuSort) {
  Random random(sortium::test::run_seed());
  const auto options = all_options();
  for (const auto& text : texts) {
    SCOPED_TRACE(text.name);
    write("in", make(text.line, 500 + random.below(1500), random));
    for (int i = 0; i < 24; ++i) {
      const auto& option = options[random.below(options.size())];
      ASSERT_NO_FATAL_FAILURE(agrees(option.ours, option.gnu));
    }
  }
}

// Many lines: several parts for every thread, large ties, several rounds.
TEST_F(Lines, ManyLines) {
  Random random(sortium::test::run_seed());
  for (const auto& text : texts) {
    SCOPED_TRACE(text.name);
    write("in", make(text.line, 200'000, random));
    ASSERT_NO_FATAL_FAILURE(agrees("", ""));
    ASSERT_NO_FATAL_FAILURE(agrees("--descending --unique", "-r -u"));
    ASSERT_NO_FATAL_FAILURE(agrees("--numeric", "-n"));
    ASSERT_NO_FATAL_FAILURE(agrees("--field 2 --numeric --descending", "-k 2,2 -n -r"));
  }
}

// ---- larger than memory ----

class ExternalLines : public Lines {
 protected:
  void SetUp() override {
    Lines::SetUp();
    if (IsSkipped()) return;
    const Result r = run("sort /dev/null --lines -o none --device cpu:0 --memory 1M");
    EXPECT_EQ(r.code, 2);
    const auto at = r.err.rfind("at least ");
    ASSERT_NE(at, std::string::npos) << r.err;
    least_ = std::stoull(r.err.substr(at + 9));
  }
  // The option that gives a little more than the least memory of cpu:0: texts of some MiB need
  // several runs there. What the process itself needs differs by more than 1 MiB from start to
  // start.
  [[nodiscard]] std::string little() const {
    return fmt::format(" --device cpu:0 --memory {}", least_ + (3 << 20));
  }
  // Sorts the file "in" with both programs, ours in runs.
  void agrees_in_runs(const std::string& options, const std::string& of_gnu) const {
    const Result r = run("sort in -o ours --lines " + options + little());
    ASSERT_EQ(r.code, 0) << options << r.err;
    ASSERT_NE(r.err.find(" runs, "), std::string::npos) << r.err;
    ASSERT_EQ(shell("LC_ALL=C sort -s in -o theirs " + of_gnu).code, 0) << of_gnu;
    ASSERT_TRUE(read("ours") == read("theirs")) << options << ", as " << of_gnu;
  }

  std::uint64_t least_ = 0;
};

TEST_F(ExternalLines, AgreeWithGnuSort) {
  Random random(sortium::test::run_seed());
  const auto options = all_options();
  for (const auto& text : texts) {
    SCOPED_TRACE(text.name);
    write("in", make(text.line, 400'000 + random.below(200'000), random));
    ASSERT_NO_FATAL_FAILURE(agrees_in_runs("", ""));
    const auto& option = options[random.below(options.size())];
    ASSERT_NO_FATAL_FAILURE(agrees_in_runs(option.ours, option.gnu));
  }
}

// Every text with every combination of the options: one of the slow tests.
TEST_F(ExternalLines, DISABLED_AgreeWithGnuSortAlways) {
  Random random(sortium::test::run_seed());
  for (const auto& text : texts) {
    SCOPED_TRACE(text.name);
    write("in", make(text.line, 400'000 + random.below(200'000), random));
    for (const auto& option : all_options()) {
      ASSERT_NO_FATAL_FAILURE(agrees(option.ours, option.gnu));
      ASSERT_NO_FATAL_FAILURE(agrees_in_runs(option.ours, option.gnu));
    }
  }
}

// Sorted and reversed texts, of which a run is needed whole before the next one; few keys.
TEST_F(ExternalLines, Distributions) {
  Random random(sortium::test::run_seed());
  std::string ascending, descending, few;
  for (int i = 0; i < 600'000; ++i) {
    ascending += fmt::format("{:08} {}\n", i, random.below(10));
    descending += fmt::format("{:08} {}\n", 600'000 - i, random.below(10));
    few += fmt::format("{} {}\n", random.below(3), i);
  }
  for (const auto& text : {ascending, descending, few}) {
    write("in", text);
    ASSERT_NO_FATAL_FAILURE(agrees_in_runs("", ""));
    ASSERT_NO_FATAL_FAILURE(agrees_in_runs("--field 1 --descending", "-k 1,1 -r"));
    ASSERT_NO_FATAL_FAILURE(agrees_in_runs("--field 1 --unique", "-k 1,1 -u"));
    ASSERT_NO_FATAL_FAILURE(agrees_in_runs("--field 2 --unique --numeric", "-k 2,2 -n -u"));
  }
}

// Long lines among short ones, empty lines, and a line that is too long for the memory.
TEST_F(ExternalLines, LinesOfAllLengths) {
  Random random(sortium::test::run_seed());
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += from_alphabet(random, "ab\t", 20) + '\n';
  const std::string prefix(600'000, 'a');
  for (int i = 0; i < 12; ++i) text += prefix + from_alphabet(random, "ab", 9) + '\n';
  for (int i = 0; i < 600'000; ++i) text += random.below(2) == 0 ? "\n" : "b";
  write("in", text);
  ASSERT_NO_FATAL_FAILURE(agrees_in_runs("", ""));
  ASSERT_NO_FATAL_FAILURE(agrees_in_runs("--unique --descending", "-u -r"));
  write("in", text + std::string(30'000'000, 'x'));
  refuses("sort in --lines -o out" + little(), 2,
          {"--memory", "a line has more than", "more than"});
}

TEST_F(ExternalLines, FewLines) {
  for (const std::string& text : {std::string(), std::string("b\na"), std::string("\0\n", 2)}) {
    write("in", text);
    agrees("", "");
    const Result r = run("sort in --lines -o ours --quiet" + little());
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_TRUE(read("ours") == read("theirs"));
  }
}

TEST_F(ExternalLines, PipesDirectoriesAndInPlace) {
  Random random(sortium::test::run_seed());
  write("in", make(texts[0].line, 600'000, random));
  agrees_in_runs("", "");
  for (const char* name : {"a", "b"}) fs::create_directory(dir_ / name);
  const Result r =
      shell("cat in | $S sort - --lines -o - --temp a,b" + little() + " | cmp - theirs");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.err.find(" runs, "), std::string::npos) << r.err;
  EXPECT_TRUE(fs::is_empty(dir_ / "a") && fs::is_empty(dir_ / "b"));
  EXPECT_EQ(run("sort in --lines -o in" + little()).code, 0);
  EXPECT_TRUE(read("in") == read("theirs"));
}

// The kernel's own figure of the process's memory, with few and many cores.
TEST_F(ExternalLines, PeakMemoryIsWithinTheLimit) {
  Random random(sortium::test::run_seed());
  for (const std::size_t length : {4, 100, 2000}) {
    std::string text;
    while (text.size() < 14'000'000) text += from_alphabet(random, "abcdefgh", length) + '\n';
    write("in", text);
    for (const int cores : {2, 16}) {
      const auto sort = [&](std::uint64_t limit) {
        return shell(
            fmt::format("CORES={} ASAN_OPTIONS=verify_asan_link_order=0 PEAK_TO=peak LD_PRELOAD={} "
                        "$S sort in --lines -o out --memory {}",
                        cores, FAIL_IO, limit));
      };
      const Result refused = sort(1);
      const auto at = refused.err.rfind("at least ");
      ASSERT_NE(at, std::string::npos) << refused.err;
      for (const std::uint64_t more : {1, 24}) {
        const std::uint64_t limit = std::stoull(refused.err.substr(at + 9)) + (more << 20);
        const Result r = sort(limit);
        ASSERT_EQ(r.code, 0) << r.err;
        const std::uint64_t peak = std::stoull(read("peak").substr(6)) * 1024;
        EXPECT_LE(peak, limit) << length << " on " << cores << " cores";
        EXPECT_GT(peak, limit / 8) << length << " on " << cores << " cores";
      }
    }
  }
}

TEST_F(ExternalLines, TransfersThatFail) {
  Random random(sortium::test::run_seed());
  const std::string text = make(texts[0].line, 600'000, random);
  write("in", text);
  agrees_in_runs("", "");
  const auto before = files();
  for (const auto& transfer : {std::pair{"pread", "/in"},
                               {"pwrite", "(deleted)"},
                               {"pread", "(deleted)"},
                               {"pwrite", ".tmp"}})
    for (const int n : {1, 3}) {
      const std::string call = transfer.first, file = transfer.second;
      const bool writes = call == "pwrite";
      const int error = writes ? ENOSPC : EIO;
      const auto sort = [&](const std::string& how) {
        return shell(
            fmt::format("ASAN_OPTIONS=verify_asan_link_order=0 FAIL_IO={}:{}:{}:'{}' "
                        "LD_PRELOAD={} $S sort in --lines -o in{}",
                        call, n, how, file, FAIL_IO, little()));
      };
      const Result r = sort(std::to_string(error));
      EXPECT_EQ(r.code, 3) << call << file << n << r.err;
      EXPECT_NE(r.err.find(std::strerror(error)), std::string::npos) << r.err;
      EXPECT_TRUE(read("in") == text) << call << file << n;
      EXPECT_EQ(files(), before) << call << file << n;
      for (const std::string& how : {std::string("short"), std::to_string(EINTR)}) {
        const Result continued = sort(how);
        EXPECT_EQ(continued.code, 0) << call << file << n << how << continued.err;
        EXPECT_TRUE(read("in") == read("theirs")) << call << file << n << how;
        write("in", text);
      }
    }
}

TEST_F(Lines, SpecialTexts) {
  const std::string longest(20'000'000, 'l');  // longer than a place can tell
  const std::string several = "b\n" + longest + "b\n" + longest + "a\n\n" + longest + "\na";
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("\n\n\n"), std::string("a"),
        std::string("b\na"), std::string("\0", 1), std::string("\0\n\0\0\n", 5),
        std::string(1 << 20, '\n'), std::string(1 << 20, 'a'), several}) {
    write("in", text);
    for (const char* unique : {"", "--unique"}) {
      const std::string gnu = *unique == '\0' ? "" : " -u";
      ASSERT_NO_FATAL_FAILURE(agrees(unique, gnu)) << text.size();
      ASSERT_NO_FATAL_FAILURE(agrees(fmt::format("--field 1 {}", unique), "-k 1,1" + gnu));
      ASSERT_NO_FATAL_FAILURE(agrees(fmt::format("--numeric {}", unique), "-n" + gnu));
    }
  }
}

// Keys that differ behind more and more bytes, in ties of many lines: the most rounds.
TEST_F(Lines, NestedTies) {
  std::string text;
  for (int length = 0; length < 600; ++length)
    for (int i = 0; i < 3; ++i) text += std::string(length, 'a') + "b\n";
  write("in", text);
  agrees("", "");
  agrees("--descending", "-r");
}

// Digits behind those that a word holds decide; long whole parts; equal numbers of other forms.
TEST_F(Lines, LongNumbers) {
  Random random(sortium::test::run_seed());
  const std::string digits(300, '7');
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    const std::size_t whole = std::array{0, 15, 16, 17, 34, 35, 254, 255, 256}[random.below(9)];
    std::string line = random.below(2) == 0 ? "-" : "";
    line += std::string(random.below(3), '0') + digits.substr(0, whole);
    if (random.below(3) == 0 && whole > 0) line.back() = '8';
    if (random.below(2) == 0)
      line += "." + digits.substr(0, random.below(40)) + std::string(random.below(3), '0');
    text += line + "\n";
  }
  write("in", text);
  agrees("--numeric", "-n");
  agrees("--numeric --unique --descending", "-n -u -r");
}

TEST_F(Lines, PipesAndInPlace) {
  Random random(sortium::test::run_seed());
  const std::string text = make(texts[0].line, 300'000, random);
  write("in", text);
  agrees("", "");
  const std::string sorted = read("theirs");
  const Result r = shell("cat in | $S sort - --lines -o - --device cpu:0 | cmp - theirs");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  // Without a last newline and with an empty last line, the text has one line fewer than it was
  // made of.
  EXPECT_NE(r.err.find(fmt::format("{} lines, ", std::count(sorted.begin(), sorted.end(), '\n'))),
            std::string::npos)
      << r.err;
  EXPECT_EQ(run("sort in --lines -o in").code, 0);
  EXPECT_TRUE(read("in") == sorted);
  // Standard input may be a file of which a parent has read a part.
  write("in", "first\n" + text);
  EXPECT_EQ(shell("{ read x; $S sort - --lines -o rest; } < in").code, 0);
  EXPECT_TRUE(read("rest") == sorted);
  // A reader that ends early ends the program as others, by SIGPIPE.
  EXPECT_EQ(shell("$S sort in --lines -o - --quiet | head -n 1").out,
            sorted.substr(0, sorted.find('\n') + 1));
}

TEST_F(Lines, OtherDevices) {
  Random random(sortium::test::run_seed());
  write("in", make(alike, 40'000, random));
  agrees("", "");
  const std::string named = sortium::test::device_spec();
  const std::string device = "--device " + (named.empty() ? "opencl:0" : named);
  for (const std::string& options : {std::string(), device, std::string("--algorithm merge"),
                                     std::string("--device cpu:0 --algorithm sample")}) {
    const Result r = run(fmt::format("sort in -o ours --lines {}", options));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(read("ours") == read("theirs")) << options;
  }
}

TEST_F(Lines, Usage) {
  write("in", "b\na\n");
  const std::string sort = "sort in -o out --lines ";
  for (const char* field : {"0", "-1", "x", "1x", "1.5", "18446744073709551616"})
    refuses(sort + fmt::format("--field={}", field), 2, {"--field", field, "1 or more"});
  refuses(sort + "--field 1 --separator ab", 2, {"--separator 'ab'", "one"});
  refuses(sort + "--field 1 --separator ''", 2, {"--separator: its value is empty"});
  refuses(sort + "--field 1 --separator ä", 2, {"--separator", "2 bytes"});
  refuses(sort + "--separator ,", 2, {"--separator", "--field"});
  for (const char* option : {"--field 1", "--numeric", "--unique"})
    refuses(fmt::format("sort in -o out --type u8 {}", option), 2, {"--lines"});
  for (const char* option :
       {"--text", "--type u32", "--nan first", "--zeros tied", "--bits 0:8", "--by x", "--record 8",
        "--key u8@0", "--segments s", "--values v", "-o2 v", "--value-bytes 4", "--argsort",
        "--distributed", "--in-place --memory 1G", "--max-scratch 9", "--max-device-bytes 9",
        "--verify"}) {
    const std::string text = option;
    refuses(sort + text, 2, {text.substr(0, text.find(' ')), "--lines"});
  }
  refuses(sort + "--algorithm quick", 2, {"--algorithm", "quick", "lsd"});
  refuses(sort + "--algorithm std::sort", 2, {"std::sort", "lines"});
  refuses(sort + "--algorithm bitonic", 3, {"bitonic", "stable"});
  refuses(sort + "--device nowhere:9", 2, {"nowhere:9"});
  refuses(sort + "--device cpu:0,cpu:0", 2, {"one device"});
  refuses("sort none -o out --lines", 2, {"none", "No such file"});
  refuses("sort . -o out --lines", 2, {"directory"});
  refuses("sort in -o none/out --lines", 2, {"none/out"});
  refuses("topk 1 in -o out --lines", 2, {"--lines"});
}

// The n-th transfer fails or is short.
TEST_F(Lines, TransfersThatFail) {
  Random random(sortium::test::run_seed());
  const std::string text = make(texts[0].line, 2'000'000, random);
  write("in", text);
  agrees("", "");
  const std::string sorted = read("theirs");
  const auto before = files();
  const auto sort = [&](const std::string& plan) {
    return shell(
        fmt::format("ASAN_OPTIONS=verify_asan_link_order=0 CORES=16 FAIL_IO={} LD_PRELOAD={} $S "
                    "sort in --lines -o in --device cpu:0",
                    plan, FAIL_IO));
  };
  const std::pair<std::string, std::string> transfers[] = {{"pread", "/in"}, {"pwrite", ".tmp"}};
  for (const auto& [call, file] : transfers)
    for (const int n : {1, 2, 5}) {
      const auto where = fmt::format("{}:{}", call, n);
      const int error = call == "pwrite" ? ENOSPC : EIO;
      const Result r = sort(fmt::format("{}:{}:{}", where, error, file));
      EXPECT_EQ(r.code, 3) << where << r.err;
      EXPECT_NE(r.err.find(std::strerror(error)), std::string::npos) << where << r.err;
      EXPECT_TRUE(read("in") == text) << where;
      EXPECT_EQ(files(), before) << where;
      const Result halved = sort(fmt::format("{}:short:{}", where, file));
      EXPECT_EQ(halved.code, 0) << where << halved.err;
      EXPECT_TRUE(read("in") == sorted) << where;
      write("in", text);
    }
}

class LinesKills : public ExternalLines {
 protected:
  // Kills sorts in place at random moments: the input is intact or the result complete, and the
  // next sort leaves no temporary file. `options` are those of the sort.
  void kill_many(int kills, const std::vector<std::string>& options = {}) const {
    Random random(sortium::test::run_seed());
    const std::string text = make(texts[0].line, 500'000, random);
    write("in", text);
    ASSERT_NO_FATAL_FAILURE(agrees("", ""));
    const std::string sorted = read("theirs");
    std::string line = "sort in -o again --lines --device cpu:0";
    for (const auto& option : options) line += " " + option;
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(run(line).code, 0);
    const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - begin);
    fs::remove(dir_ / "again");
    const auto before = files();
    int killed = 0;
    for (int i = 0; i < kills; ++i) {
      if (read("in") != text) write("in", text);
      const auto left = files();  // perhaps with a temporary file of one that was killed
      const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      std::vector<std::string> arguments{"sort", "in", "--lines", "-o", "in", "--device", "cpu:0"};
      arguments.insert(arguments.end(), options.begin(), options.end());
      Waiting program(dir_, arguments, null);
      std::this_thread::sleep_for(
          std::chrono::microseconds(random.below(static_cast<std::uint64_t>(whole.count()))));
      const int number = std::array{SIGKILL, SIGTERM, SIGINT}[random.below(3)];
      program.signal(number);
      const int status = program.wait();
      ::close(null);
      const bool died = WIFSIGNALED(status) && WTERMSIG(status) == number;
      EXPECT_TRUE(died || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
      killed += died ? 1 : 0;
      const std::string now = read("in");
      EXPECT_TRUE(now == text || now == sorted) << "kill " << i << " with " << number;
      if (died && number != SIGKILL) {
        EXPECT_TRUE(std::ranges::includes(left, files())) << number;
      }
    }
    EXPECT_EQ(run("sort in --lines -o in --device cpu:0").code, 0);
    EXPECT_EQ(files(), before);
    EXPECT_GT(killed, 0);
    std::printf("%d of %d runs were killed\n", killed, kills);
  }
};

TEST_F(LinesKills, AFew) {
  kill_many(12);
  kill_many(12, {"--memory", std::to_string(least_ + (2 << 20))});
}
TEST_F(LinesKills, DISABLED_Many) {  // one of the slow tests
  kill_many(200);
  kill_many(200, {"--memory", std::to_string(least_ + (2 << 20))});
}

}  // namespace

int main(int argc, char** argv) { return run_cli_tests(argc, argv); }
