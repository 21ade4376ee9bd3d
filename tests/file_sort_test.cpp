// Sorts of streams and files that are larger than memory: results against sorts in memory, memory,
// errors, cancellation.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sortium/file.hpp>
#include <sortium/lines.hpp>
#include <system_error>

#include "../src/files/temporary.hpp"
#include "expect_error.hpp"
#include "keys.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using Bytes = std::vector<std::byte>;

// A stream of columns in memory, and what was written to it.
struct MemoryStream {
  std::vector<unsigned> widths;
  std::vector<Bytes> in;        // an empty one: positions
  std::vector<bool> written{};  // for each column; empty: all
  std::vector<Bytes> out{};
  std::vector<std::uint64_t> asked{};  // bytes of each call of the first column's `read`
  std::vector<std::size_t> at{};
  std::uint64_t at_once = ~std::uint64_t{0};

  std::vector<StreamColumn> columns() {
    out.assign(widths.size(), {});
    at.assign(widths.size(), 0);
    std::vector<StreamColumn> all;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      StreamColumn column{widths[c]};
      if (!in[c].empty() || c == 0)
        column.read = [this, c](void* to, std::uint64_t bytes) {
          if (c == 0) asked.push_back(bytes);
          const std::size_t n = std::min<std::uint64_t>(bytes, in[c].size() - at[c]);
          if (n != 0) std::memcpy(to, in[c].data() + at[c], n);
          at[c] += n;
          return n;
        };
      if (written.empty() || written[c])
        column.write = [this, c](const void* from, std::uint64_t bytes) {
          const auto* const first = static_cast<const std::byte*>(from);
          out[c].insert(out[c].end(), first, first + bytes);
        };
      all.push_back(std::move(column));
    }
    return all;
  }
};

// The least memory_bytes that this process can use now, from the error message.
std::uint64_t least_memory() {
  MemoryStream stream{{4}, {{}}};
  try {
    sort_stream(stream.columns(), {{}}, {.memory_bytes = 1});
  } catch (const Error& e) {
    const std::string what = e.what();
    return std::stoull(what.substr(what.rfind(' ')));
  }
  throw std::logic_error("no error");
}

// Enough for what other threads of the process may still allocate.
std::uint64_t small_memory() { return least_memory() + (std::uint64_t{1} << 20); }

FileOptions small_options() {
  FileOptions options{.memory_bytes = small_memory()};
  options.temporary_directories = {testing::TempDir()};
  options.device = device_spec();
  return options;
}

Bytes random_bytes(std::uint64_t count, std::uint64_t seed, std::uint64_t distinct = 0) {
  Bytes out(count);
  Random random(seed);
  for (std::uint64_t i = 0; i < count; i += 8) {
    std::uint64_t x = distinct == 0 ? random.next() : random.below(distinct) * 0x9e3779b97f4a7c15u;
    std::memcpy(out.data() + i, &x, std::min<std::uint64_t>(8, count - i));
  }
  return out;
}

// Sorts the stream in memory and compares.
void expect_sorted(MemoryStream& stream, const std::vector<Field>& key, const FileReport& report) {
  RecordProblem problem{.count = report.count, .key = key};
  std::vector<Bytes> sorted = stream.in;
  std::vector<const void*> columns;
  for (std::size_t c = 0; c < stream.widths.size(); ++c) {
    problem.columns.push_back({stream.widths[c]});
    if (stream.in[c].empty() && c != 0) {
      sorted[c].resize(report.count * stream.widths[c]);
      for (std::uint64_t i = 0; i < report.count; ++i)
        std::memcpy(sorted[c].data() + i * stream.widths[c], &i, stream.widths[c]);
    }
    columns.push_back(sorted[c].data());
  }
  sort_records_host(problem, {columns}, {.device = "cpu:0"});
  for (std::size_t c = 0; c < stream.widths.size(); ++c) {
    if (!stream.written.empty() && !stream.written[c]) {
      EXPECT_TRUE(stream.out[c].empty());
      continue;
    }
    ASSERT_EQ(stream.out[c].size(), sorted[c].size());
    const auto wrong = std::ranges::mismatch(stream.out[c], sorted[c]).in1 - stream.out[c].begin();
    ASSERT_EQ(static_cast<std::size_t>(wrong), sorted[c].size())
        << "column " << c << ", record " << static_cast<std::size_t>(wrong) / stream.widths[c];
  }
}

// ---- results ----

struct Shape {
  const char* name;
  std::vector<unsigned> widths;  // of the columns that are read
  std::vector<Field> key;
  unsigned positions = 0;  // bytes of a position; 0: none
  bool keys_written = true;
};

class FileSort : public testing::TestWithParam<std::tuple<Shape, const char*>> {};

TEST_P(FileSort, AgreesWithASortInMemory) {
  const auto& [shape, distribution] = GetParam();
  Random random(run_seed());
  unsigned record = std::accumulate(shape.widths.begin(), shape.widths.end(), 0u);
  const std::uint64_t count = (std::uint64_t{20} << 20) / record + random.below(20'000);
  MemoryStream stream{shape.widths, {}};
  const std::string_view d = distribution;
  for (const unsigned width : shape.widths)
    stream.in.push_back(random_bytes(count * width, random.next(), d == "few" ? 5 : 0));
  if (d == "constant") std::ranges::fill(stream.in[0], std::byte{0x35});
  if (shape.positions != 0) {
    stream.widths.push_back(shape.positions);
    stream.in.emplace_back();
  }
  if (!shape.keys_written) {
    stream.written.assign(stream.widths.size(), true);
    stream.written[0] = false;
  }
  if (d == "sorted" || d == "reversed") {
    RecordProblem problem{.count = count, .columns = {{shape.widths[0]}}, .key = shape.key};
    if (d == "reversed")
      for (auto& field : problem.key)
        field.order = field.order == Order::ascending ? Order::descending : Order::ascending;
    const void* const column = stream.in[0].data();
    bool alone = true;  // in the column of the key
    for (const auto& field : shape.key) alone = alone && field.column == 0;
    if (alone) sort_records_host(problem, {{&column, 1}});
  }
  const auto columns = stream.columns();
  auto options = small_options();
  if (random.below(2) == 0) options.expected_count = count;
  const auto report = sort_stream(columns, shape.key, options);
  EXPECT_EQ(report.count, count);
  EXPECT_GT(report.runs, 2u);
  EXPECT_GE(report.temporary_bytes, count * record);
  expect_sorted(stream, shape.key, report);
}

std::vector<Shape> shapes() {
  const Field f32_descending{.type = KeyType::f32, .order = Order::descending};
  return {
      {"u8", {1}, {{.type = KeyType::u8}}},
      {"u32", {4}, {{.type = KeyType::u32}}},
      {"u64", {8}, {{.type = KeyType::u64}}},
      {"f32Descending", {4}, {f32_descending}},
      {"i64WithValues", {8, 4}, {{.type = KeyType::i64}}},
      {"u16WithWideValues", {2, 24}, {{.type = KeyType::u16}}},
      {"f64Positions", {8}, {{.type = KeyType::f64}}, 8, false},
      {"u32WithPositions", {4}, {{.type = KeyType::u32}}, 4},
      {"lines", {100}, {{.type = FieldType::bytes(10)}}},
      {"u128", {16}, {{.type = FieldType::u128()}}},
      {"i128Descending",
       {24},
       {{.offset = 8, .type = FieldType::i128(), .order = Order::descending}}},
      {"twoColumns",
       {4, 2, 8},
       {{.column = 1, .type = KeyType::u16, .order = Order::descending}, {.type = KeyType::f32}}},
      {"bits", {4}, {{.type = KeyType::u32, .begin_bit = 3, .end_bit = 14}}},
      {"odd", {13}, {{.offset = 1, .type = FieldType::bytes(12)}}},
  };
}

INSTANTIATE_TEST_SUITE_P(, FileSort,
                         testing::Combine(testing::ValuesIn(shapes()),
                                          testing::Values("random", "few", "constant", "sorted",
                                                          "reversed")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::get<1>(test.param);
                         });

TEST(FileSortEdges, AroundTheLengthOfARun) {
  Random random(run_seed());
  for (const std::uint64_t runs : {1, 2, 3})
    for (const int more : {-1, 0, 1}) {
      MemoryStream stream{{8}, {random_bytes(std::uint64_t{32} << 20, random.next())}};
      auto columns = stream.columns();
      columns[0].read = [&, read = columns[0].read](void* to, std::uint64_t bytes) {
        if (stream.asked.empty())  // bytes: of a run
          stream.in[0].resize(runs * bytes + static_cast<std::uint64_t>(more * 8));
        return read(to, bytes);
      };
      const auto report = sort_stream(columns, {{.type = KeyType::u64}}, small_options());
      EXPECT_EQ(report.runs, more == 1 ? runs + 1 : runs);
      EXPECT_EQ(report.temporary_bytes == 0, runs == 1 && more == -1);
      expect_sorted(stream, {{.type = KeyType::u64}}, report);
    }
}

TEST(FileSortEdges, NoneAndOneRecord) {
  for (const std::uint64_t count : {0, 1, 2, 100}) {
    MemoryStream stream{{4, 8}, {random_bytes(count * 4, 3), random_bytes(count * 8, 4)}};
    if (count == 0) stream.widths = {4}, stream.in = {{}};
    const auto report = sort_stream(stream.columns(), {{.type = KeyType::u32}}, small_options());
    EXPECT_EQ(report.runs, 1u);
    EXPECT_EQ(report.temporary_bytes, 0u);
    expect_sorted(stream, {{.type = KeyType::u32}}, report);
  }
}

TEST(FileSortEdges, SeveralDirectories) {
  const auto base = std::filesystem::path(testing::TempDir()) / fmt::format("runs-{}", ::getpid());
  auto options = small_options();
  options.temporary_directories.clear();
  for (const char* name : {"a", "b", "c"}) {
    std::filesystem::create_directories(base / name);
    options.temporary_directories.push_back((base / name).string());
  }
  MemoryStream stream{{8}, {random_bytes(std::uint64_t{24} << 20, run_seed())}};
  options.memory_bytes = small_memory();
  const auto report = sort_stream(stream.columns(), {{.type = KeyType::u64}}, options);
  expect_sorted(stream, {{.type = KeyType::u64}}, report);
  for (const auto& directory : options.temporary_directories)
    EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove_all(base);
}

// ---- errors ----

TEST(FileSortErrors, Arguments) {
  const auto refused = [](MemoryStream stream, const std::vector<Field>& key,
                          const FileOptions& options,
                          std::initializer_list<std::string_view> words) {
    expect_error([&] { sort_stream(stream.columns(), key, options); }, ErrorCode::invalid_argument,
                 words);
    for (const auto& column : stream.out) EXPECT_TRUE(column.empty());
  };
  const Bytes eight(8);
  refused({{8}, {eight}}, {{.type = KeyType::u64}}, {.memory_bytes = 4096},
          {"memory_bytes is 4096", "at least"});
  refused({{8}, {Bytes(9)}}, {{.type = KeyType::u64}}, small_options(),
          {"columns[0]", "1 bytes follow its 1 elements"});
  refused({{8, 4}, {eight, eight}}, {{.type = KeyType::u64}}, small_options(),
          {"columns[0] and columns[1]", "different numbers"});
  refused({{8, 5}, {eight, {}}}, {{.type = KeyType::u64}}, small_options(),
          {"columns[1].bytes is 5"});
  refused({{8, 4}, {eight, {}}}, {{.column = 1, .type = KeyType::u32}}, small_options(),
          {"columns[1]", "no function `read`"});
  refused({{8}, {eight}, {false}}, {{.type = KeyType::u64}}, small_options(), {"`write`"});
  refused({{8}, {eight}}, {{.offset = 4, .type = KeyType::u64}}, small_options(), {"key"});
  for (const std::uint64_t expected : {1, 3}) {
    auto options = small_options();
    options.expected_count = expected;
    refused({{8}, {Bytes(16)}}, {{.type = KeyType::u64}}, options, {"expected_count is"});
  }
  auto nowhere = small_options();
  nowhere.temporary_directories = {"/nonexistent"};
  MemoryStream stream{{8}, {eight}};
  try {
    sort_stream(stream.columns(), {{.type = KeyType::u64}}, nowhere);
    ADD_FAILURE() << "no error";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code().value(), ENOENT);
    EXPECT_NE(std::string(e.what()).find("/nonexistent"), std::string::npos) << e.what();
  }
}

// The memory that an error names is enough.
TEST(FileSortErrors, TooMuchForTheMemory) {
  const auto refusal = [](std::uint64_t count, std::uint64_t memory) -> std::uint64_t {
    auto options = small_options();
    if (memory != 0) options.memory_bytes = memory;
    options.expected_count = count;
    std::uint64_t needed = 0;
    std::atomic<bool> stop{true};
    options.stop = &stop;  // the sort ends where it would read
    MemoryStream stream{{256}, {{}}};
    try {
      sort_stream(stream.columns(), {{.type = FieldType::bytes(32)}}, options);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::cancelled) return 0;
      const std::string what = e.what();
      EXPECT_NE(what.find("records it must be at least"), std::string::npos) << what;
      needed = std::stoull(what.substr(what.rfind(' ')));
    }
    return needed;
  };
  const std::uint64_t count = std::uint64_t{1} << 28;  // 64 GiB
  const std::uint64_t needed = refusal(count, 0);
  ASSERT_GT(needed, small_memory());
  EXPECT_EQ(refusal(count, needed), 0u);
}

// The same for lines, of which the first ones are read to see how much memory they need.
TEST(FileSortErrors, TooManyLinesForTheMemory) {
  // More than the process has after other tests, and on machines with many cores.
  const LineOptions options{.memory_bytes = std::uint64_t{1} << 30,
                            .device = "cpu:0",
                            .expected_bytes = std::uint64_t{1} << 40};
  const auto read = [](void* to, std::uint64_t bytes) {
    std::memset(to, '\n', bytes);
    return bytes;
  };
  expect_error(
      [&] {
        sort_lines(
            read, [](const void*, std::uint64_t) {}, options);
      },
      ErrorCode::invalid_argument,
      {"memory_bytes is 1073741824", "runs of lines it must be at least"});
}

// More memory than the machine has is no error. The stream's length is not known in advance.
TEST(FileSortMemory, MayBeMoreThanTheMachineHas) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 50, ~std::uint64_t{0}})
    for (const unsigned width : {8u, 255u}) {
      MemoryStream stream{{width}, {random_bytes(std::uint64_t{1000} * width, 5)}};
      auto options = small_options();
      options.memory_bytes = bytes;
      options.expected_count = 1000;
      const auto report = sort_stream(stream.columns(), {{.type = KeyType::u64}}, options);
      expect_sorted(stream, {{.type = KeyType::u64}}, report);
    }
}

TEST(FileSortErrors, CallbacksThatThrow) {
  for (const bool reading : {true, false})
    for (const std::uint64_t after : {0, 3}) {
      MemoryStream stream{{8}, {random_bytes(std::uint64_t{24} << 20, 5)}};
      auto columns = stream.columns();
      std::uint64_t calls = 0;
      if (reading)
        columns[0].read = [&, read = columns[0].read](void* to, std::uint64_t bytes) {
          if (calls++ == after) throw std::runtime_error("it broke");
          return read(to, bytes);
        };
      else
        columns[0].write = [&](const void*, std::uint64_t) {
          if (calls++ == after) throw std::runtime_error("it broke");
        };
      EXPECT_THROW(sort_stream(columns, {{.type = KeyType::u64}}, small_options()),
                   std::runtime_error);
    }
}

TEST(FileSortErrors, StopInEveryPhase) {
  for (const auto phase : {FileProgress::Phase::runs, FileProgress::Phase::merge}) {
    MemoryStream stream{{8}, {random_bytes(std::uint64_t{24} << 20, 5)}};
    std::atomic<bool> stop{false};
    auto options = small_options();
    options.stop = &stop;
    options.progress = [&](const FileProgress& p) {
      if (p.phase == phase) stop = true;
    };
    expect_error([&] { sort_stream(stream.columns(), {{.type = KeyType::u64}}, options); },
                 ErrorCode::cancelled, {});
  }
}

// Progress grows to the number of records in both phases.
TEST(FileSortErrors, Progress) {
  MemoryStream stream{{8}, {random_bytes(std::uint64_t{24} << 20, 5)}};
  auto options = small_options();
  options.expected_count = stream.in[0].size() / 8;
  std::array<std::uint64_t, 2> last{};
  options.progress = [&](const FileProgress& p) {
    auto& before = last[static_cast<std::size_t>(p.phase)];
    EXPECT_GE(p.done, before);
    EXPECT_EQ(p.total, options.expected_count);
    before = p.done;
  };
  sort_stream(stream.columns(), {{.type = KeyType::u64}}, options);
  EXPECT_EQ(last[0], options.expected_count);
  EXPECT_EQ(last[1], options.expected_count);
}

// ---- files ----

class SortFile : public testing::Test {
 protected:
  SortFile() { std::filesystem::create_directories(dir_); }
  ~SortFile() override { std::filesystem::remove_all(dir_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir_ / name).string(); }
  void write(const char* name, const Bytes& bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] Bytes read(const char* name) const {
    Bytes out(std::filesystem::file_size(path(name)));
    std::ifstream(path(name), std::ios::binary)
        .read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
    return out;
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(dir_))
      out.push_back(entry.path().filename().string());
    std::ranges::sort(out);
    return out;
  }
  const std::filesystem::path dir_ =
      std::filesystem::path(testing::TempDir()) / fmt::format("sort-file-{}", ::getpid());
  const std::vector<Field> key_{{.type = FieldType::bytes(10)}};
};

TEST_F(SortFile, ToAnotherFileAndInPlace) {
  const Bytes in = random_bytes(100 * 250'007, run_seed(), 1000);
  Bytes sorted = in;
  sort_records(sorted.data(), 100, in.size() / 100, key_);
  write("in", in);
  std::filesystem::permissions(path("in"), std::filesystem::perms(0640));
  FileOptions options{.memory_bytes = small_memory(), .device = device_spec()};
  EXPECT_GT(sort_file(path("in"), path("out"), 100, key_, options).runs, 1u);
  EXPECT_EQ(read("out"), sorted);
  EXPECT_EQ(read("in"), in);
  EXPECT_EQ(std::filesystem::status(path("out")).permissions(), std::filesystem::perms(0640));
  options.memory_bytes = small_memory();
  sort_file(path("in"), path("in"), 100, key_, options);
  EXPECT_EQ(read("in"), sorted);
  EXPECT_EQ(files(), (std::vector<std::string>{"in", "out"}));
}

// Returns the bytes of disk space of a directory's files and of this process's files without names.
std::uint64_t used_space(const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  struct stat status {};
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (::stat(entry.path().c_str(), &status) == 0)
      bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    if (::stat(entry.path().c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_nlink == 0)
      bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  return bytes;
}

TEST_F(SortFile, InPlaceNeedsLittleSpace) {
  const Bytes in = random_bytes(100 * 500'007, run_seed(), 1000);
  Bytes sorted = in;
  sort_records(sorted.data(), 100, in.size() / 100, key_);
  for (const bool in_place : {false, true}) {
    write("in", in);
    std::uint64_t most = 0;
    FileOptions options{
        .memory_bytes = small_memory(), .in_place = in_place, .device = device_spec()};
    options.progress = [&](const FileProgress&) { most = std::max(most, used_space(dir_)); };
    EXPECT_GT(sort_file(path("in"), path("in"), 100, key_, options).runs, 2u);
    EXPECT_EQ(read("in"), sorted);
    if (in_place) {
      EXPECT_LT(most, in.size() + in.size() / 4);
    } else {
      EXPECT_GT(most, in.size() * 2);
    }
  }
  FileOptions options{.in_place = true, .device = device_spec()};
  expect_error([&] { sort_file(path("in"), path("out"), 100, key_, options); },
               ErrorCode::invalid_argument, {"in_place", "out"});
}

// All records are in the file, in another order; or sorted, if the merge had begun.
TEST_F(SortFile, InPlaceStopsWithAllRecords) {
  const Bytes in = random_bytes(std::uint64_t{40} << 20, run_seed());
  Bytes sorted = in;
  sort_records(sorted.data(), 8, in.size() / 8, {{.type = KeyType::u64}});
  for (const auto phase : {FileProgress::Phase::runs, FileProgress::Phase::merge}) {
    write("in", in);
    std::atomic<bool> stop{false};
    FileOptions options{.memory_bytes = small_memory(), .in_place = true, .device = device_spec()};
    options.stop = &stop;
    options.progress = [&](const FileProgress& p) {
      if (p.phase == phase && p.done > 0) stop = true;
    };
    const auto sort = [&] {
      sort_file(path("in"), path("in"), 8, {{.type = KeyType::u64}}, options);
    };
    if (phase == FileProgress::Phase::runs)
      expect_error(sort, ErrorCode::cancelled, {});
    else
      sort();
    EXPECT_EQ(files(), std::vector<std::string>{"in"});
    Bytes now = read("in");
    EXPECT_EQ(now == sorted, phase == FileProgress::Phase::merge);
    sort_records(now.data(), 8, now.size() / 8, {{.type = KeyType::u64}});
    EXPECT_EQ(now, sorted);
  }
}

// What a process that was killed has left is removed; what another one uses is not.
TEST_F(SortFile, RemovesStaleFiles) {
  write("in", Bytes(800));
  const auto stale = fmt::format(".sortium-{}-1a.tmp", ::getpid());
  write(stale.c_str(), Bytes(10));
  const auto used = files::create_temporary(dir_ / "x", 0600, [](const auto&) {});
  ASSERT_GE(used.fd, 0);
  sort_file(path("in"), path("out"), 100, key_);
  EXPECT_EQ(files(), (std::vector<std::string>{used.path.filename().string(), "in", "out"}));
  ::close(used.fd);
}

TEST_F(SortFile, Errors) {
  write("in", Bytes(1001));
  write("out", Bytes(3));
  expect_error([&] { sort_file(path("in"), path("out"), 100, key_); }, ErrorCode::invalid_argument,
               {"record_bytes is 100", "1001 bytes"});
  expect_error([&] { sort_file(path("in"), path("out"), 0, key_); }, ErrorCode::invalid_argument,
               {"record_bytes is 0"});
  for (const auto& [in, out] : {std::pair{"absent", "out"}, {"in", "absent/out"}}) try {
      sort_file(path(in), path(out), 1, {{.type = KeyType::u8}});
      ADD_FAILURE() << in << ' ' << out;
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code().value(), ENOENT);
      EXPECT_NE(std::string(e.what()).find("absent"), std::string::npos) << e.what();
    }
  EXPECT_EQ(read("out"), Bytes(3));
  EXPECT_EQ(files(), (std::vector<std::string>{"in", "out"}));
}

TEST_F(SortFile, ReplacesOnlyRegularFiles) {
  namespace fs = std::filesystem;
  write("in", Bytes(4, std::byte{7}));
  write("one", Bytes(3));
  fs::create_hard_link(path("one"), path("two"));
  fs::create_symlink("nowhere", path("link"));
  fs::create_directory(path("directory"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const auto before = files();
  const auto refuses = [&](const std::string& out, const char* why) {
    expect_error([&] { sort_file(path("in"), out, 1, {{.type = KeyType::u8}}); },
                 ErrorCode::invalid_argument, {out.c_str(), why});
  };
  refuses(path("one"), "2 hard links");
  refuses(path("link"), "a link to a file that does not exist");
  refuses(path("directory"), "not a regular file");
  refuses(path("pipe"), "not a regular file");
  refuses("/dev/null", "not a regular file");
  write("log", Bytes(3));
  const int log = ::open(path("log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  refuses("/dev/fd/" + std::to_string(log), "an open file");
  ::close(log);
  EXPECT_EQ(read("log"), Bytes(3));
  fs::remove(path("log"));
  EXPECT_EQ(files(), before);

  // A link to a file is followed, and the file keeps its mode.
  fs::remove(path("two"));
  fs::permissions(path("one"), fs::perms(0604));
  fs::remove(path("link"));
  fs::create_symlink("one", path("link"));
  sort_file(path("in"), path("link"), 1, {{.type = KeyType::u8}});
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read("one"), Bytes(4, std::byte{7}));
  EXPECT_EQ(fs::status(path("one")).permissions(), fs::perms(0604));
}

// A limit of the size of files stands for a disk that fills up: of a temporary file, or of the
// output.
TEST_F(SortFile, DiskThatFillsUp) {
  const Bytes in = random_bytes(std::uint64_t{24} << 20, 9);
  write("in", in);
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_IGN);
  for (const std::uint64_t megabytes : {5, 23}) {
    const FileOptions options{.memory_bytes = small_memory(), .device = device_spec()};
    const struct rlimit limit { megabytes << 20, before.rlim_max };
    ::setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_THROW(sort_file(path("in"), path("in"), 8, {{.type = KeyType::u64}}, options),
                 std::system_error);
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(read("in"), in);
    EXPECT_EQ(files(), std::vector<std::string>{"in"});
  }
}

}  // namespace
}  // namespace sortium::test
