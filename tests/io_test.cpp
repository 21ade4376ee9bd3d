// The files that the program reads and writes: what it recognises, refuses, replaces and keeps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli.hpp"
#include "io/printable.hpp"

namespace {

const std::vector<std::uint32_t> keys{30, 10, 20}, sorted{10, 20, 30};

class Io : public Cli {
 protected:
  // The header must be refused with these words.
  void refuses_header(const std::string& descr, std::size_t bytes,
                      const std::vector<std::string>& words, const std::string& by = "") const {
    write("h.npy", npy(descr, "(1,)", std::string(bytes, 'x')));
    refuses("sort h.npy -o bad.npy" + (by.empty() ? "" : " --by " + by), 2, words);
  }
};

// ---------------------------------------------------------------------------------------------
// Text of files in messages
// ---------------------------------------------------------------------------------------------

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(app::printable("plain ~ text"), "plain ~ text");
  EXPECT_EQ(app::printable("gr\xc3\xb6\xc3\x9f"
                           "e \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xb6\xc3\x9f"
            "e \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(app::printable("\x1b[31m\a\r\n\t\x7f"), "\\x1b[31m\\x07\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(app::printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(app::printable("\xc2\x9b"), "\\xc2\\x9b");  // C1: the control sequence introducer
  EXPECT_EQ(app::printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override
  EXPECT_EQ(app::printable("\xff\xc3"), "\\xff\\xc3");           // not UTF-8, and cut off
  EXPECT_EQ(app::printable("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(app::printable_lines("a\n\tb\x1b"), "a\n\tb\\x1b");
  EXPECT_TRUE(app::is_utf8("\xe2\x82\xac"));
  EXPECT_FALSE(app::is_utf8("\xf4\x90\x80\x80"));
}

TEST_F(Io, NoMessageHasControlCharactersOfAFile) {
  const auto clean = [&](const std::string& arguments, const std::string& word) {
    const Result r = run(arguments);
    EXPECT_NE(r.code, 0) << arguments;
    for (const char c : r.err + r.out)
      EXPECT_TRUE(c == '\n' || (c & 0xe0) != 0) << arguments << "\n" << r.err;
    EXPECT_NE((r.err + r.out).find(word), std::string::npos) << r.err << r.out;
  };
  write("t.txt", "1\n\x1b]0;title\a\n");
  clean("sort t.txt --text --type u32 -o bad.txt", "\\x1b]0;title\\x07");
  write("d.npy", npy("'<u4\x1b[2J'", "(1,)", "1234"));
  clean("sort d.npy -o bad.npy", "\\x1b[2J");
  clean("sort d.npy -o bad.npy --values d.npy -o2 bad2.npy", "\\x1b[2J");
  write("f.npy", npy("[('a\x1b[2J', '<u4'), ('b', '<u4', (2,))]", "(1,)", "123456789abc"));
  clean("sort f.npy -o bad.npy --by c", "a\\x1b[2J");
  write("e.npy", npy("[('a\\x1b[2J', '<u4'), ('b', '<U1')]", "(1,)", "12345678"));
  clean("sort e.npy -o bad.npy --by c", "a\\x1b[2J");
  write("k.npy", npy("'<u4', '\x1b[2J': 3", "(1,)", "1234"));
  clean("sort k.npy -o bad.npy", "\\x1b[2J");
  write("name\x1b[2J", "1\n2\n");
  clean("sort name* --text -o bad.txt", "name\\x1b[2J");
  clean("check name* --text --type u32 --descending", "name\\x1b[2J");
  clean("sort \"$(printf 'none\\033[2J')\" --text --type u32 -o bad.txt", "none\\x1b[2J");
}

// ---------------------------------------------------------------------------------------------
// .npy: recognised by its first bytes
// ---------------------------------------------------------------------------------------------

TEST_F(Io, NpyUnderAnotherName) {
  const std::string file = npy("'>u4'", "(3,)", bytes_of(keys, true));
  write("k.dat", file);
  for (const std::string in : {"k.dat --type u32", "k.dat", "- < k.dat", "- --type u32 < k.dat",
                               "k.dat --text --type u32"}) {
    const Result r = run("sort -o out.npy --verify " + in);
    ASSERT_EQ(r.code, 0) << in << r.err;
    EXPECT_EQ(npy_data(read("out.npy")), bytes_of(sorted, true)) << in;
  }
  const Result piped = shell("cat k.dat | $S sort - --type u32 -o raw.bin");
  ASSERT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(read("raw.bin"), bytes_of(sorted));
  refuses("sort k.dat --type f32 -o bad.bin", 2, {"k.dat", "u32", "f32"});
  refuses("sort k.dat --type bf16 -o bad.bin", 2, {"k.dat", ".npy", "bf16"});
  EXPECT_EQ(run("check out.npy k.dat").code, 0);
  EXPECT_EQ(run("check k.dat").code, 1);

  // Values, offsets and records, too.
  write("v.dat", npy("'|S3'", "(3,)", "cccaaabbb"));
  ASSERT_EQ(run("sort k.dat -o out.npy --values v.dat -o2 v.npy").code, 0);
  EXPECT_EQ(npy_data(read("v.npy")), "aaabbbccc");
  refuses("sort k.dat -o bad.npy --values v.dat --value-bytes 4 -o2 bad2.npy", 2, {"v.dat", "3"});
  write("s.dat", npy("'<u4'", "(3,)", bytes_of<std::uint32_t>({0, 2, 3})));
  ASSERT_EQ(run("sort k.dat -o out.npy --segments s.dat").code, 0);
  EXPECT_EQ(npy_data(read("out.npy")), bytes_of<std::uint32_t>({10, 30, 20}, true));
  write("r.dat",
        npy("[('a', '<u2'), ('b', '<u2')]", "(2,)", bytes_of<std::uint16_t>({2, 0, 1, 9})));
  ASSERT_EQ(run("sort r.dat -o out.npy --by a").code, 0);
  EXPECT_EQ(npy_data(read("out.npy")), bytes_of<std::uint16_t>({1, 9, 2, 0}));
  refuses("sort r.dat -o bad.bin --record 4 --key u16@0", 2, {"r.dat", "--by"});
  // A file that is replaced by its own records keeps its header.
  ASSERT_EQ(run("sort k.dat -o ./k.dat").code, 0);
  EXPECT_EQ(npy_data(read("k.dat")), bytes_of(sorted, true));
}

TEST_F(Io, RawFilesThatBeginLikeNpy) {
  // Shorter than a header, and of a version that does not exist: raw bytes.
  write("short.bin", "\x93NUM");
  ASSERT_EQ(run("sort short.bin --type u32 -o out.bin").code, 0);
  EXPECT_EQ(read("out.bin"), "\x93NUM");
  const std::string other = "\x93NUMPY\x09\x01";
  write("other.bin", other);
  ASSERT_EQ(run("sort other.bin --type u64 -o out.bin").code, 0);
  EXPECT_EQ(read("out.bin"), other);
  write("none.bin", "");
  ASSERT_EQ(run("sort none.bin --type u32 -o out.bin").code, 0);
}

// ---------------------------------------------------------------------------------------------
// .npy: headers
// ---------------------------------------------------------------------------------------------

TEST_F(Io, HeadersThatOverflow) {
  write("k.npy", npy("'<u4'", "(1,)", "1234"));
  for (const char* type :
       {"<U1073741825", "<U4294967297", "<S18446744073709551617", "<S4294967300"})
    for (const bool values : {false, true}) {
      write("h.npy", npy(fmt::format("'{}'", type), "(1,)", "1234"));
      refuses(
          values ? "sort k.npy -o bad.npy --values h.npy -o2 bad2.npy" : "sort h.npy -o bad.npy", 2,
          {"h.npy", type});
    }
  for (const char* field : {"'<U1073741825'", "'<u4', (1048576, 1048576, 1048576, 1048576)",
                            "'<u4', (4294967296, 4294967296)", "'<u4', (18446744073709551615,)",
                            "'|S1048577'", "'<u4', (18446744073709551617,)"})
    refuses_header(fmt::format("[('a', '<u4'), ('b', {})]", field), 8, {"h.npy"}, "a");
  refuses_header("'<u4'", 4, {}, "a");
}

TEST_F(Io, HeadersThatAreNotOneDictionary) {
  const auto with_tail = [&](const std::string& tail) {
    std::string text = "{'descr': '<u4', 'fortran_order': False, 'shape': (1,), }" + tail;
    text.resize(117, ' ');
    text += '\n';
    write("h.npy", std::string("\x93NUMPY\1\0v\0", 10) + text + "1234");
  };
  with_tail("");
  ASSERT_EQ(run("sort h.npy -o out.npy").code, 0);
  for (const char* tail : {"x", "}", ", 'shape': (2,)", "{'descr': '<u8'}", "# note"}) {
    with_tail(tail);
    refuses("sort h.npy -o bad.npy", 2, {"h.npy", "dictionary"});
  }
  with_tail(std::string(1, '\0'));
  refuses("sort h.npy -o bad.npy", 2, {"h.npy", "dictionary", "\\x00"});
  refuses_header("'<u4', 'descr': '<i4'", 4, {"'descr' twice"});
  refuses_header("'<u4', 'shape': (1,)", 4, {"'shape' twice"});
  refuses_header("[('a', '<u2'), ('a', '<u2')]", 4, {"two", "'a'"}, "a");
  refuses_header("[(('t', 'a'), '<u2'), (('t', 'b'), '<u2')]", 4, {"two", "'t'"}, "a");
  refuses_header("[(('b', 'a'), '<u2'), ('b', '<u2')]", 4, {"two", "'b'"}, "a");
  refuses_header("'<u4\n'", 4, {"without an end"});
  refuses_header("'<M8[n\\x1bs]'", 8, {"\\x1b"});
  write("v3.npy", npy("[('\xff', '<u4')]", "(1,)", "1234", 3));
  refuses("sort v3.npy -o bad.npy --by a", 2, {"v3.npy", "UTF-8"});
}

TEST_F(Io, FieldNamesInPythonsSpelling) {
  // As repr() spells a name with both quotes, a backslash, and characters that cannot be printed.
  const std::string data = bytes_of<std::uint16_t>({2, 7, 1, 8});
  const std::string descr = "[('it\\'s \"x\"', '<u2'), ('b\\\\\\t\\xe9\\u20ac\\U0001f600', '<u2')]";
  write("in.npy", npy(descr, "(2,)", data));
  Result r = shell("$S sort in.npy -o out.npy --by 'it'\"'\"'s \"x\"'");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(npy_data(read("out.npy")), bytes_of<std::uint16_t>({1, 8, 2, 7}));
  EXPECT_NE(read("out.npy").find(descr), std::string::npos);
  write("by", "b\\\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80:desc");
  r = shell("$S sort in.npy -o out.npy --by \"$(cat by)\"");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(npy_data(read("out.npy")), bytes_of<std::uint16_t>({1, 8, 2, 7}));
  for (const char* name : {"\\q", "\\x4", "\\xzz", "\\ud800", "\\U00110000", "\\", "\\u-001"})
    refuses_header(fmt::format("[('a{}', '<u4')]", name), 4, {"h.npy"}, "a");
}

// ---------------------------------------------------------------------------------------------
// Standard input, output and error
// ---------------------------------------------------------------------------------------------

TEST_F(Io, ClosedStandardDescriptors) {
  // On standard error, drivers print: none of it may reach a file that got its descriptor.
  std::vector<std::uint32_t> many(1000);
  for (std::uint32_t i = 0; i < many.size(); ++i) many[i] = i * 2654435761u;
  write("k.bin", bytes_of(many));
  write("s.npy", npy("'<u4'", "(3,)", bytes_of<std::uint32_t>({0, 400, 1000})));
  const std::string sort = "sort k.bin --type u32 --segments s.npy --quiet --device opencl:0 -o ";
  ASSERT_EQ(run(sort + "right.bin").code, 0);
  int n = 0;
  for (const char* closed : {"2>&-", ">&- 2>&-", "<&- >&- 2>&-", "<&-", ">&-"}) {
    // An empty cache: the kernels are built, and the compiler has its say.
    const Result r =
        shell(fmt::format("export SORTIUM_CACHE_DIR=cache{}; $S {}out.bin {}", n++, sort, closed));
    EXPECT_EQ(r.code, 0) << closed << r.err;
    EXPECT_EQ(read("out.bin"), read("right.bin")) << closed;
  }
  // What is lost is an error, not an empty result.
  write("t.txt", "2\n1\n");
  EXPECT_EQ(shell("$S sort t.txt --text --type u32 -o - >&-").code, 3);
  EXPECT_EQ(shell("$S sort - --text --type u32 -o out.txt <&-").code, 3);
  EXPECT_FALSE(exists("out.txt"));
}

}  // namespace

int main(int argc, char** argv) { return run_cli_tests(argc, argv); }
