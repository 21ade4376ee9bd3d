// The program `sortium` as a user runs it: `gen`, and `check --records` and `--summaries`.
//
// The bytes and checksums named here are those of gensort 1.5 and valsort 1.5 (ordinal.com).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli.hpp"

namespace {

constexpr std::size_t record_bytes = 100, summary_bytes = 280;

std::string from_hex(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return out;
}

// Sorts records by their whole bytes; keys come first in them.
std::string sorted(const std::string& file) {
  std::vector<std::string> records;
  for (std::size_t i = 0; i < file.size(); i += record_bytes)
    records.push_back(file.substr(i, record_bytes));
  std::ranges::sort(records);
  std::string out;
  for (const auto& record : records) out += record;
  return out;
}

struct Benchmark : Cli {
  std::string gen(const std::string& arguments) const {
    const Result r = run("gen " + arguments + " -o gen.bin");
    EXPECT_EQ(r.code, 0) << arguments << "\n" << r.err;
    return read("gen.bin");
  }
  // Writes `count` sorted records.
  void write_sorted(const std::string& name, const std::string& arguments) const {
    write(name, sorted(gen(arguments)));
  }
  // Checks the exit code, and that `out` has each of the words.
  void checks(const std::string& arguments, int code, const std::vector<std::string>& words) const {
    const Result r = run("check " + arguments);
    EXPECT_EQ(r.code, code) << arguments << "\n" << r.err;
    for (const auto& word : words)
      EXPECT_NE(r.out.find(word), std::string::npos) << arguments << "\nsays: " << r.out;
  }
};

TEST_F(Benchmark, KnownRecords) {
  EXPECT_EQ(gen("1"),
            from_hex("4a696d4772617952495065080060836b392cd58b8f5e55961855e79b87f02283a466"
                     "b6aab1f9e0cacf1e26b3292afd1064bb18b56ac07d6f656b1d2f430d57bde7e47d81"
                     "f36a6dd267948bbc2397bfe28c334e4ad82b8e70166293cfaa0116bfda3bb1ab"));
  EXPECT_EQ(gen("1 --start 18446744073709551616"),
            from_hex("7cc5d0c2ed18328d49505fb7878baa2e5837d58bac31fe7f1b1095de87f0e50d4e2113b4bff6"
                     "e0ca26aea8c10bb12d1f64bb86f16c09bebbbe701d2f3bef4ea287de2272f36ac583f6f118c6"
                     "a530bfe2657798f86b943c2d1662616c5fdda5c69832b1ab"));
  const std::string filler = "  0000222200002222000022220000222200002222000000001111\r\n";
  EXPECT_EQ(gen("1 --ascii"), "AsfAGHM5om  00000000000000000000000000000000" + filler);
  EXPECT_EQ(gen("1 --ascii --start 18446744073709551616"),
            "9C5?JJ+5om  00000000000000010000000000000000" + filler);
}

// 20000 records from number 0, and around number 2^64.
TEST_F(Benchmark, KnownChecksums) {
  const std::vector<std::tuple<std::string, std::string, std::string>> known = {
      {"", "27143478e48b", "26dd61ee8505"},
      {"--ascii", "2715a7637eee", "2720436b08e7"},
      {"--skewed", "27317c3d2fa0", "26ce66170687"},
      {"--ascii --skewed", "271068f75e51", "27432bd81c5a"}};
  for (const auto& [format, from_0, around_2_64] : known)
    for (const auto& [start, checksum] :
         {std::pair{"0", from_0}, {"18446744073709551000", around_2_64}}) {
      const Result r = run("gen 20000 -o gen.bin --start " + std::string(start) + " " + format);
      EXPECT_EQ(r.code, 0) << r.err;
      EXPECT_NE(r.err.find("checksum " + checksum), std::string::npos) << format << r.err;
      checks("gen.bin --records", 1, {"20000 records", "checksum " + checksum + "\n"});
    }
}

TEST_F(Benchmark, PartsMakeTheWhole) {
  for (const std::string format : {"", " --ascii", " --skewed", " --ascii --skewed"}) {
    const std::string whole = gen("30011 --start 4090" + format);
    EXPECT_EQ(whole.size(), 30011 * record_bytes);
    EXPECT_EQ(gen("7 --start 4090" + format) + gen("10000 --start 4097" + format) +
                  gen("20004 --start 14097" + format),
              whole);
  }
  EXPECT_EQ(gen("0"), "");
}

TEST_F(Benchmark, PipesAndQuiet) {
  const std::string file = gen("2^10");
  const Result r = run("gen 2^10 -o - --quiet");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, file);
  EXPECT_EQ(r.err, "");
  EXPECT_NE(shell("$S gen 100 -o - | $S check - --records").out.find("100 records"),
            std::string::npos);

  const Result closed =
      shell("{ $S gen 2^20 -o -; echo $? > code; } | head -c 150 > head; cat code; rm code");
  EXPECT_EQ(closed.out, std::to_string(128 + SIGPIPE) + "\n");
  EXPECT_EQ(closed.err, "");
  EXPECT_EQ(read("head"), file.substr(0, 150));
}

TEST_F(Benchmark, GenRefuses) {
  refuses("gen -o x.bin", 2, {"N is required"});
  refuses("gen 10", 2, {"--output is required"});
  refuses("gen 10x -o x.bin", 2, {"N", "10x", "2^56"});
  refuses("gen 2^57 -o x.bin", 2, {"N", "2^57", "2^56"});
  const std::string last = "340282366920938463463374607431768211455";  // 2^128 - 1
  for (const std::string start : {"-1", "0x10", "340282366920938463463374607431768211456"})
    refuses("gen 1 -o x.bin --start '" + start + "'", 2, {"--start '" + start + "'", last});
  refuses("gen 2 -o x.bin --start " + last, 2, {"--start", last, "2 records"});
  EXPECT_EQ(gen("1 --start " + last).size(), record_bytes);
  refuses("gen 1 -o none/x.bin", 2, {"none/x.bin", "No such file"});
}

TEST_F(Benchmark, DiskThatFillsUp) {
  write("x.bin", "what was there");
  const auto before = files();
  // A limit on the file's size stands in for a full disk.
  const Result r = shell("ulimit -f 100; $S gen 10000 -o x.bin");
  EXPECT_EQ(r.code, 3);
  EXPECT_NE(r.err.find("cannot write x.bin"), std::string::npos) << r.err;
  refuses("gen 2^20 -o /dev/full", 3, {"/dev/full", "No space left"});
  EXPECT_EQ(read("x.bin"), "what was there");
  EXPECT_EQ(files(), before);
}

TEST_F(Benchmark, CheckSeesOrderAndDuplicates) {
  write_sorted("s.bin", "25000");
  checks("s.bin --records", 0,
         {"s.bin: 25000 records in the order of bytes[0:10]\n", "duplicate keys 0\n"});
  const std::string file = read("s.bin");
  const auto record = [&](std::size_t i) { return file.substr(i * record_bytes, record_bytes); };

  // At the boundary of two blocks, which different cores check, and elsewhere.
  for (const std::size_t at : {std::size_t{1}, std::size_t{10'000}, std::size_t{24'999}}) {
    std::string wrong = file;
    wrong.replace((at - 1) * record_bytes, 2 * record_bytes, record(at) + record(at - 1));
    write("w.bin", wrong);
    checks("w.bin --records", 1,
           {"not in the order", "out of order: 1, first record " + std::to_string(at)});

    std::string twice = file;
    twice.replace(at * record_bytes, record_bytes, record(at - 1));
    write("w.bin", twice);
    checks("w.bin --records", 0, {"25000 records in the order", "duplicate keys 1\n"});
  }
  EXPECT_EQ(run("check w.bin --records --quiet").out, "");
}

TEST_F(Benchmark, TheChecksumIsThatOfTheInput) {
  const Result made = run("gen 5000 -o in.bin --ascii");
  write("out.bin", sorted(read("in.bin")));
  const std::string checksum = made.err.substr(made.err.find("checksum"), 21);
  checks("out.bin --records", 0, {checksum.substr(0, checksum.find(';')) + "\n"});
}

TEST_F(Benchmark, SummariesOfParts) {
  write_sorted("s.bin", "25000 --skewed");
  const std::string file = read("s.bin");
  // Cuts within and between blocks; one part has no records.
  const std::size_t cuts[] = {0, 1, 10'000, 10'000, 25'000};
  std::string joined;
  for (std::size_t i = 0; i + 1 < std::size(cuts); ++i) {
    const std::string name = std::to_string(i);
    write(name + ".bin",
          file.substr(cuts[i] * record_bytes, (cuts[i + 1] - cuts[i]) * record_bytes));
    checks(name + ".bin --records --summary " + name + ".sum", 0, {});
    EXPECT_EQ(read(name + ".sum").size(), cuts[i] == cuts[i + 1] ? 0 : summary_bytes);
    joined += read(name + ".sum");
  }
  const Result whole = run("check s.bin --records --summary whole.sum");
  const std::string figures = whole.out.substr(whole.out.find(':'));
  checks("0.sum 1.sum 2.sum 3.sum --summaries --summary again.sum", 0, {"4 files" + figures});
  EXPECT_EQ(read("again.sum"), read("whole.sum"));
  write("joined.sum", joined);
  checks("joined.sum --summaries", 0, {"joined.sum" + figures});

  // Parts in the wrong order, and a part that is unordered in itself.
  checks("1.sum 0.sum 3.sum --summaries", 1,
         {"25000 records", "out of order: 1, first record 9999"});
  write("w.bin", file.substr(record_bytes, record_bytes) + file.substr(0, record_bytes));
  checks("w.bin --records --summary w.sum", 1, {"first record 1\n"});
  checks("0.sum w.sum --summaries", 1, {"3 records", "out of order: 1, first record 2"});
}

TEST_F(Benchmark, DuplicatesAcrossParts) {
  const std::string record = gen("1");
  write("r.bin", record);
  checks("r.bin --records --summary r.sum", 0, {"duplicate keys 0"});
  checks("r.sum r.sum r.sum --summaries", 0, {"3 files: 3 records", "duplicate keys 2"});
}

TEST_F(Benchmark, CheckRefuses) {
  write("a.bin", gen("3"));
  write("b.bin", "");
  write("c.bin", "x");
  write("part.bin", gen("3") + "x");
  write("long.sum", std::string(summary_bytes + 1, '\1'));
  fs::remove(dir_ / "gen.bin");
  refuses("check part.bin --records", 2, {"part.bin", "301 bytes", "multiple of 100"});
  refuses("check none.bin --records", 2, {"none.bin", "No such file"});
  refuses("check a.bin b.bin --records", 2, {"--records", "2", "--record 100"});
  refuses("check a.bin b.bin c.bin --type u32", 2, {"3 files", "at most 2"});
  refuses("check a.bin --type u32 --summary x.sum", 2, {"--summary x.sum", "--records"});
  refuses("check a.bin --records --summary none/x.sum", 2, {"none/x.sum", "No such file"});
  refuses("check a.bin --summaries", 2, {"a.bin", "280 bytes"});
  refuses("check long.sum --summaries", 2, {"long.sum", "summary 0", "contradict"});
  for (const char* const option : {"--summaries", "--key u32@0 --record 100", "--type u32",
                                   "--descending", "--text", "--by x", "--segments b.bin"})
    refuses(std::string("check a.bin --records ") + option, 2, {"--records", "exclude"});
}

}  // namespace
