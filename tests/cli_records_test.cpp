// The program `sortium`: keys of several fields, segments, the first records, values of any size.
// What is right comes from std::stable_sort over numbers that the tests decode themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cli.hpp"
#include "io/record_check.hpp"

namespace {

template <class T>
T get(const std::string& record, std::size_t at, bool swapped = false) {
  std::string part = record.substr(at, sizeof(T));
  if (swapped) std::ranges::reverse(part);
  return numbers_of<T>(part).at(0);
}

template <class T>
void put(std::string& record, T number, bool swapped = false) {
  record += bytes_of(std::vector<T>{number}, swapped);
}

std::string joined(const std::vector<std::string>& records) {
  std::string out;
  for (const auto& r : records) out += r;
  return out;
}

std::string cut(const std::vector<std::string>& records, const std::vector<std::uint32_t>& order) {
  std::string out;
  for (const auto i : order) out += records[i];
  return out;
}

template <class Less>
std::vector<std::uint32_t> order_of(const std::vector<std::string>& records, const Less& less) {
  std::vector<std::uint32_t> out(records.size());
  std::iota(out.begin(), out.end(), 0u);
  std::ranges::stable_sort(out, [&](auto a, auto b) { return less(records[a], records[b]); });
  return out;
}

// ---------------------------------------------------------------------------------------------
// --by
// ---------------------------------------------------------------------------------------------

constexpr const char* particle =
    "[('energy', '>f4'), ('id', '<u2'), ('name', '|S6'), ('', '|V3'), ('hit', '|b1'), ('t', "
    "'>i8'), "
    "('at', '<f8', (2,)), ('half', '<f2')]";
constexpr std::size_t energy_at = 0, id_at = 4, name_at = 6, hit_at = 15, t_at = 16, half_at = 40,
                      particle_bytes = 42;

// With many ties in each field, and all floats that are special.
std::vector<std::string> particles(std::size_t count) {
  std::mt19937 random(5);
  const std::vector<float> energies{
      1.5f, -2, 0.0f, -0.0f, std::numeric_limits<float>::infinity(), std::nanf(""), -std::nanf("")};
  const std::vector<std::string> names{
      "", "a", "ab", "abcdef", "b", "\xff", std::string("a\0b", 3)};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    std::string r;
    put(r, energies[random() % energies.size()], true);
    put(r, static_cast<std::uint16_t>(random() % 5 * 10000));
    r += names[random() % names.size()];
    r.resize(12);
    for (int b = 0; b < 3; ++b) r += static_cast<char>(random());
    r += static_cast<char>(random() % 2);
    put(r, static_cast<std::int64_t>(random() % 3 - 1) * (std::int64_t{1} << 40), true);
    put(r, static_cast<double>(i));
    put(r, 2.0 * static_cast<double>(i));
    put(r, static_cast<std::uint16_t>(random()));
    out.push_back(r);
  }
  return out;
}

// By energy, descending, NaN first, zeros tied; then the name; then t, descending.
bool by_energy_name_t(const std::string& a, const std::string& b) {
  const auto x = get<float>(a, energy_at, true), y = get<float>(b, energy_at, true);
  if (std::isnan(x) != std::isnan(y)) return std::isnan(x);
  if (!std::isnan(x) && x != y) return x > y;
  if (const int c = std::memcmp(a.data() + name_at, b.data() + name_at, 6); c != 0) return c < 0;
  return get<std::int64_t>(a, t_at, true) > get<std::int64_t>(b, t_at, true);
}

TEST_F(Cli, ByFieldsOfStructuredArrays) {
  for (const std::size_t count : {std::size_t{3000}, std::size_t{40000}}) {
    const auto records = particles(count);
    const std::string shape = fmt::format("({},)", count), data = joined(records);
    ASSERT_EQ(data.size(), count * particle_bytes);
    write("in.npy", npy(particle, shape, data));
    const auto order = order_of(records, by_energy_name_t);
    const std::string by = " --by energy:desc:nan-first,name,t:desc";
    const Result r = run("sort in.npy -o out.npy --verify" + by);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.err.find(fmt::format("{} records of 42 bytes by energy:desc:nan-first,name,t:desc",
                                     count)),
              std::string::npos)
        << r.err;
    EXPECT_NE(r.err.find("verified"), std::string::npos);
    const std::string out = read("out.npy");
    EXPECT_TRUE(npy_data(out) == cut(records, order));
    EXPECT_NE(out.find(particle), std::string::npos) << "the fields are as they were";
    EXPECT_NE(out.find("'shape': " + shape), std::string::npos);

    ASSERT_EQ(run("sort in.npy -o out.bin --quiet" + by).code, 0);
    EXPECT_TRUE(read("out.bin") == npy_data(out));
    ASSERT_EQ(run("sort in.npy -o order.npy --argsort --verify" + by).code, 0);
    EXPECT_TRUE(npy_data(read("order.npy")) == bytes_of(order));
    EXPECT_TRUE(read("in.npy") == npy(particle, shape, data));
    ASSERT_EQ(run("sort in.npy -o order.bin --argsort --index-bytes 8" + by).code, 0);
    EXPECT_TRUE(read("order.bin") ==
                bytes_of(std::vector<std::uint64_t>(order.begin(), order.end())));

    Result c = run("check out.npy" + by);
    EXPECT_EQ(c.code, 0) << c.out;
    EXPECT_NE(c.out.find("in the order of energy:desc"), std::string::npos) << c.out;
    EXPECT_EQ(run("check out.npy --by energy:desc").code, 1) << "NaN are first";
    EXPECT_EQ(run("check in.npy" + by).code, 1);
    EXPECT_EQ(run("check out.npy in.npy" + by).code, 0);
    // In place.
    ASSERT_EQ(run("sort in.npy -o in.npy" + by).code, 0);
    EXPECT_TRUE(read("in.npy") == out);
  }
}

TEST_F(Cli, ByEachPolicyAndType) {
  const auto records = particles(2000);
  write("in.npy", npy(particle, "(2000,)", joined(records)));
  const auto expect = [&](const std::string& by, const auto& less) {
    const Result r = run("sort in.npy -o out.bin --verify --by " + by);
    ASSERT_EQ(r.code, 0) << by << r.err;
    EXPECT_TRUE(read("out.bin") == cut(records, order_of(records, less))) << by;
    EXPECT_EQ(run("check in.npy --by " + by).code, 1) << by;
  };
  const auto energy = [](const auto& r) { return get<float>(r, energy_at, true); };
  expect("energy", [&](const auto& a, const auto& b) {
    return energy(a) < energy(b) || (std::isnan(energy(b)) && !std::isnan(energy(a)));
  });
  expect("energy:nan-bits:zeros-distinct",
         [&](const auto& a, const auto& b) {  // IEEE 754's total order
           const auto total = [&](const auto& r) {
             const auto bits = std::bit_cast<std::int32_t>(energy(r));
             return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits - 1
                             : std::int64_t{bits};
           };
           return total(a) < total(b);
         });
  expect("hit:desc,id", [](const auto& a, const auto& b) {
    if (a[hit_at] != b[hit_at]) return a[hit_at] > b[hit_at];
    return get<std::uint16_t>(a, id_at) < get<std::uint16_t>(b, id_at);
  });
  expect("half", [](const auto& a, const auto& b) {  // NaN last, zeros tied
    const auto place = [](const auto& r) {
      const auto bits = get<std::uint16_t>(r, half_at);
      const int magnitude = bits & 0x7fff;
      return magnitude > 0x7c00 ? 0x8000 : (bits & 0x8000) != 0 ? -magnitude : magnitude;
    };
    return place(a) < place(b);
  });
}

TEST_F(Cli, FieldsThatAreWrong) {
  write("in.npy", npy(particle, "(4,)", joined(particles(4))));
  write("out.npy", "old");
  const std::string sort = "sort in.npy -o bad.npy --by ";
  refuses(sort + "speed", 2, {"--by speed", "no field 'speed'", "energy", "id", "half"});
  refuses(sort + "energy,,id", 2, {"no field ''"});
  refuses(sort + "id,energy,id", 2, {"field id is there twice"});
  refuses(sort + "at", 2, {"field at", "<f8", "several"});
  refuses(sort + "energy:down", 2, {"'down'", "energy", "desc", "nan-first"});
  refuses(sort + "id:nan-first", 2, {"nan-first", "id", "u16"});
  refuses(sort + "energy:desc:asc", 2, {"'asc'", "energy", "before"});
  refuses("sort in.npy -o bad.npy", 2, {"several fields", "--by"});
  refuses("check in.npy --by nothing", 2, {"no field 'nothing'"});
  refuses("check in.npy in.npy --by nothing", 2, {"no field 'nothing'"});
  EXPECT_EQ(run("sort in.npy -o out.npy --by speed").code, 2);
  EXPECT_EQ(read("out.npy"), "old");
  for (const auto& [options, words] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"--type u32", {"--by", "--type"}},
           {"--text", {"--by", "--text"}},
           {"--descending", {"--by", "--descending", "FIELD:desc"}},
           {"--nan first", {"--by", "--nan"}},
           {"--zeros distinct", {"--by", "--zeros"}},
           {"--bits 0:4", {"--by", "--bits"}},
           {"--segments in.npy", {"--by", "--segments"}},
           {"--record 42", {"--by", "--record"}},
           {"--values in.npy -o2 bad2.npy", {"--values", "whole records"}},
           {"--algorithm std::sort", {"std::sort", "records"}},
           {"--algorithm quick", {"--algorithm", "quick", "lsd"}},
           {"--device nowhere:9", {"nowhere:9"}}})
    refuses(sort + "id " + options, 2, words);
  // Types without an order here, and headers that cannot be read.
  const auto with = [&](const std::string& descr, std::size_t bytes) {
    write("t.npy", npy(descr, "(1,)", std::string(bytes, 'x')));
  };
  const auto refuses_type = [&](const std::string& type, std::size_t bytes,
                                const std::vector<std::string>& words) {
    with("[('f', '" + type + "')]", bytes);
    refuses("sort t.npy -o bad.npy --by f", 2, words);
  };
  refuses_type("<U2", 8, {"field f", "<U2", "strings"});
  refuses_type("<c8", 8, {"field f", "<c8"});
  refuses_type("<M8[ns]", 8, {"field f", "<M8[ns]"});
  refuses_type("|V4", 4, {"field f", "|V4"});
  refuses_type("|S33", 33, {"field f", "|S33", "S32"});
  refuses_type("|O", 8, {"'f'", "|O", "fixed size"});
  refuses_type("|S300", 300, {"300 bytes", "256"});
  refuses_type("|S2000000", 10, {"more than"});
  with("[('a', [('b', '<f4'), ('c', '<f4')])]", 8);
  refuses("sort t.npy -o bad.npy --by a", 2, {"field 'a'", "fields of its own"});
  with("[('a', '<f4'", 4);
  refuses("sort t.npy -o bad.npy --by a", 2, {"t.npy", "lacks"});
  with("[]", 4);
  refuses("sort t.npy -o bad.npy --by a", 2, {"no fields"});
  write("plain.npy", npy("'<u4'", "(1,)", "1234"));
  refuses("sort plain.npy -o bad.npy --by a", 2, {"plain.npy", "<u4", "no fields"});
  write("raw.bin", "1234");
  refuses("sort raw.bin -o bad.bin --by a", 2, {"raw.bin", "--record", "--key"});
  write("short.npy", npy(particle, "(5,)", joined(particles(4))));
  refuses("sort short.npy -o bad.npy --by id", 2, {"short.npy", "truncated"});
}

TEST_F(Cli, HeadersOfStructuredArrays) {
  const std::string data = bytes_of<std::uint16_t>({2, 7, 1, 8});
  const std::string sorted = bytes_of<std::uint16_t>({1, 8, 2, 7});
  // A title, a field of one item as an array of one dimension, Python 2's numbers, spaces; and all
  // format versions.
  for (const int version : {1, 2, 3}) {
    write("in.npy",
          npy("[ (('a title', 'a'), '<u2') , ( 'b' , '|S1', (2L,) ) ]", "(2,)", data, version));
    const Result r = run("sort in.npy -o out.npy --by a");
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(npy_data(read("out.npy")), sorted);
  }
  // Letters beyond ASCII: versions 1 and 2 have Latin-1, 3 has UTF-8, which is what is written.
  write("latin.npy", npy("[('gr\xf6\xdf"
                         "e', '<u2'), ('b', '<u2')]",
                         "(2,)", data));
  write("utf8.npy", npy("[('gr\xc3\xb6\xc3\x9f"
                        "e', '<u2'), ('b', '<u2')]",
                        "(2,)", data, 3));
  for (const char* name : {"latin", "utf8"}) {
    ASSERT_EQ(run(fmt::format("sort {}.npy -o out.npy --by gr\xc3\xb6\xc3\x9f"
                              "e",
                              name))
                  .code,
              0);
    const std::string out = read("out.npy");
    EXPECT_EQ(out[6], 3);
    EXPECT_TRUE(out.ends_with(sorted));
    EXPECT_EQ((out.size() - sorted.size()) % 64, 0u);
    EXPECT_EQ(run("check out.npy --by gr\xc3\xb6\xc3\x9f"
                  "e")
                  .code,
              0);
  }
  write("none.npy", npy(particle, "(0,)", ""));
  ASSERT_EQ(run("sort none.npy -o out.npy --verify --by id,name").code, 0);
  EXPECT_EQ(npy_data(read("out.npy")), "");
  EXPECT_EQ(run("check out.npy --by id").code, 0);
}

// ---------------------------------------------------------------------------------------------
// --record and --key
// ---------------------------------------------------------------------------------------------

std::vector<std::string> random_records(std::size_t count, std::size_t bytes, unsigned letters) {
  std::mt19937 random(17);
  std::vector<std::string> out(count);
  for (auto& r : out)
    for (std::size_t i = 0; i < bytes; ++i)
      r += static_cast<char>(letters == 256 ? random() : 'a' + random() % letters);
  return out;
}

TEST_F(Cli, RawRecordsByBytes) {
  // As the sorting benchmarks have them: 100 bytes, a key of 10.
  const auto records = random_records(20000, 100, 256);
  write("in.bin", joined(records));
  const auto order = order_of(records, [](const auto& a, const auto& b) {
    return std::memcmp(a.data(), b.data(), 10) < 0;
  });
  const std::string key = " --record 100 --key 'bytes[0:10]'";
  Result r = run("sort in.bin -o out.bin --verify" + key);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(read("out.bin") == cut(records, order));
  EXPECT_EQ(run("check out.bin" + key).code, 0);
  EXPECT_EQ(run("check in.bin" + key).code, 1);
  EXPECT_EQ(run("check in.bin out.bin --record 100").code, 0);
  ASSERT_EQ(run("sort in.bin -o order.npy --argsort --verify" + key).code, 0);
  EXPECT_TRUE(npy_data(read("order.npy")) == bytes_of(order));
  r = shell("cat in.bin | $S sort - -o - --quiet" + key);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out == cut(records, order));
  ASSERT_EQ(run("sort in.bin -o out.npy" + key).code, 0);
  EXPECT_NE(read("out.npy").find("'|V100'"), std::string::npos);
}

TEST_F(Cli, RawRecordsByNumbersAnywhere) {
  const auto records = random_records(5000, 37, 3);
  write("in.bin", joined(records));
  const auto expect = [&](const std::string& key, const auto& less) {
    const Result r = run("sort in.bin -o out.bin --verify --record 37 --key '" + key + "'");
    ASSERT_EQ(r.code, 0) << key << r.err;
    EXPECT_TRUE(read("out.bin") == cut(records, order_of(records, less))) << key;
    EXPECT_EQ(run("check out.bin --record 37 --key '" + key + "'").code, 0) << key;
  };
  expect("u8@1:desc,u16@3,i32@5", [](const auto& a, const auto& b) {
    if (a[1] != b[1]) return a[1] > b[1];
    if (get<std::uint16_t>(a, 3) != get<std::uint16_t>(b, 3))
      return get<std::uint16_t>(a, 3) < get<std::uint16_t>(b, 3);
    return get<std::int32_t>(a, 5) < get<std::int32_t>(b, 5);
  });
  expect("bytes[33:37]:desc,f64@7:desc", [](const auto& a, const auto& b) {
    if (const int c = std::memcmp(a.data() + 33, b.data() + 33, 4); c != 0) return c > 0;
    return get<double>(a, 7) > get<double>(b, 7);
  });
  expect("u128@3:desc", [](const auto& a, const auto& b) {
    return std::pair(get<std::uint64_t>(a, 11), get<std::uint64_t>(a, 3)) >
           std::pair(get<std::uint64_t>(b, 11), get<std::uint64_t>(b, 3));
  });
  expect("bytes[0:32],bytes[32:37]", [](const auto& a, const auto& b) { return a < b; });
}

TEST_F(Cli, KeysThatAreWrong) {
  write("in.bin", std::string(120, 'x'));
  const std::string sort = "sort in.bin -o bad.bin --record 24 --key ";
  refuses(sort + "f32@22", 2, {"f32@22", "byte 26", "24 bytes"});
  refuses(sort + "'bytes[20:25]'", 2, {"byte 25", "24"});
  refuses(sort + "'bytes[5:5]'", 2, {"bytes[5:5]", "empty"});
  refuses(sort + "'bytes[7:5]'", 2, {"bytes[7:5]", "empty"});
  refuses("sort in.bin -o bad.bin --record 60 --key 'bytes[0:33]'", 2, {"33 bytes", "32"});
  refuses(sort + "f32@0,u16@2", 2, {"f32@0", "u16@2", "overlap"});
  refuses(sort + "f32@0,f32@0:desc", 2, {"f32@0", "twice"});
  refuses(sort + "''", 2, {"--key is needed"});
  refuses(sort + "f32@0,", 2, {"''", "no field", "bytes[0:10]"});
  for (const char* key : {"f32", "f31@0", "@3", "f32@", "f32@x", "f32@-1", "bytes", "bytes[1]",
                          "bytes[a:b]", "bytes[1:2", "u128"})
    refuses(sort + "'" + key + "'", 2, {key, "no field", "u128"});
  refuses(sort + "f32@0:upward", 2, {"upward", "asc, desc"});
  refuses(sort + "u16@0:nan-last", 2, {"nan-last", "u16"});
  refuses("sort in.bin -o bad.bin --key f32@0", 2, {"--key f32@0", "--record"});
  refuses("sort in.bin -o bad.bin --record 24", 2, {"--record 24", "--key"});
  refuses("check in.bin --record 24", 2, {"--record 24", "--key"});
  refuses("sort in.bin -o bad.bin --record 0 --key u8@0", 2, {"--record", "0"});
  refuses("sort in.bin -o bad.bin --record 257 --key u8@0", 2, {"--record", "257"});
  refuses("sort in.bin -o bad.bin --record 50 --key u8@0", 2,
          {"in.bin", "truncated", "120 bytes", "50"});
  refuses(sort + "u8@0 --type u32", 2, {"--record", "--type"});
  write("f.npy", npy("[('a', '<u4')]", "(1,)", "1234"));
  refuses("sort f.npy -o bad.npy --record 4 --key u32@0", 2, {"f.npy", "--by"});
}

TEST_F(Cli, CheckOfRecords) {
  const auto record = [](float x, const std::string& name) { return bytes_of<float>({x}) + name; };
  write("a.bin", record(1, "ab") + record(2, "aa") + record(2, std::string("\x01\0", 2)));
  Result r = run("check a.bin --record 6 --key 'f32@0,bytes[4:6]'");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("record 2 has f32@0 2, bytes[4:6] '\\x01', after f32@0 2, bytes[4:6] 'aa'"),
            std::string::npos)
      << r.out;
  EXPECT_EQ(run("check a.bin --record 6 --key f32@0").code, 0);
  EXPECT_EQ(run("check a.bin --record 6 --key f32@0:desc --quiet").out, "");
  // The same keys but other records are no permutation.
  write("b.bin", record(2, "aa") + record(1, "ab") + record(2, "aa"));
  r = run("check a.bin b.bin --record 6 --key 'bytes[4:6]'");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("not a permutation"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("1 times in a.bin and 0 times in b.bin"), std::string::npos) << r.out;
  write("c.bin", record(1, "ab") + record(2, "aa"));
  r = run("check c.bin a.bin --record 6");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("0 times in c.bin and 1 times in a.bin"), std::string::npos) << r.out;
  EXPECT_EQ(run("check a.bin a.bin --record 6").code, 0);
  write("x.npy", npy("[('x', '<f4')]", "(1,)", "1234"));
  write("y.npy", npy("[('x', '>f4')]", "(1,)", "1234"));
  refuses("check x.npy y.npy --by x", 2, {"x.npy", "<f4", "y.npy", ">f4"});
}

TEST(Records, MistakesAreSeen) {
  std::vector<std::uint32_t> in{3, 10, 1, 11, 3, 12, 2, 13}, out{1, 11, 2, 13, 3, 10, 3, 12},
      positions{1, 3, 0, 2};
  sortium::RecordProblem p{.count = 4,
                           .columns = {{8, sortium::Moved::out}},
                           .key = {{.type = sortium::KeyType::u32}},
                           .position_bytes = 4};
  const auto wrong = [&] {
    const void* const i[] = {in.data()};
    void* const o[] = {out.data()};
    return app::find_record_mistake(p, {i, o, positions.data()}).has_value();
  };
  EXPECT_FALSE(wrong());
  std::swap(out[5], out[7]);  // ties in the wrong order
  EXPECT_TRUE(wrong());
  std::swap(out[5], out[7]);
  std::swap(positions[2], positions[3]);
  EXPECT_TRUE(wrong());
  std::swap(positions[2], positions[3]);
  out[1] = 99;  // what moves with the key
  EXPECT_TRUE(wrong());
  out[1] = 11;
  p.key[0].order = sortium::Order::descending;
  EXPECT_TRUE(wrong());
}

// ---------------------------------------------------------------------------------------------
// --segments
// ---------------------------------------------------------------------------------------------

TEST_F(Cli, SegmentsAreSortedByThemselves) {
  std::mt19937 random(23);
  for (const std::size_t count : {std::size_t{3000}, std::size_t{50000}}) {
    std::vector<std::uint32_t> offsets{0};
    while (offsets.back() < count)
      offsets.push_back(static_cast<std::uint32_t>(std::min<std::size_t>(
          count, offsets.back() + random() % (random() % 8 == 0 ? 5000 : 20))));
    std::vector<std::int16_t> keys(count);
    std::vector<std::uint32_t> ids(count);
    for (auto& k : keys) k = static_cast<std::int16_t>(random() % 100 - 50);
    std::iota(ids.begin(), ids.end(), 7u);
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
      std::stable_sort(order.begin() + offsets[s], order.begin() + offsets[s + 1],
                       [&](auto a, auto b) { return keys[a] > keys[b]; });
    std::vector<std::int16_t> sorted;
    std::vector<std::uint32_t> moved;
    for (const auto i : order) {
      sorted.push_back(keys[i]);
      moved.push_back(ids[i]);
    }
    write("k.npy", npy("'>i2'", fmt::format("({},)", count), bytes_of(keys, true)));
    write("o.npy", npy("'>u4'", fmt::format("({},)", offsets.size()), bytes_of(offsets, true)));
    write("o.bin", bytes_of(std::vector<std::uint64_t>(offsets.begin(), offsets.end())));
    write("v.bin", bytes_of(ids));
    const std::string down = " --descending --verify";
    Result r = run(
        "sort k.npy -o out.npy --segments o.npy --values v.bin --value-bytes 4 -o2 v2.bin" + down);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.err.find(fmt::format("in {} segments", offsets.size() - 1)), std::string::npos)
        << r.err;
    EXPECT_TRUE(npy_data(read("out.npy")) == bytes_of(sorted, true));
    EXPECT_TRUE(read("v2.bin") == bytes_of(moved));
    r = run("sort k.npy -o order.bin --argsort --segments o.bin --offset-bytes 8" + down);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(read("order.bin") == bytes_of(order));
    r = run("check out.npy --descending --segments o.npy");
    EXPECT_EQ(r.code, 0);
    EXPECT_NE(
        r.out.find(fmt::format("in {} segments, each in descending order", offsets.size() - 1)),
        std::string::npos)
        << r.out;
    EXPECT_EQ(run("check out.npy --descending").code, 1);
    EXPECT_EQ(run("check k.npy --descending --segments o.npy").code, 1);
    // Values that no sort moves.
    std::string wide, wide_moved;
    for (const auto i : ids) wide += fmt::format("{:>11}", i);
    for (const auto i : moved) wide_moved += fmt::format("{:>11}", i);
    write("w.bin", wide);
    r = run("sort k.npy -o out.npy --segments o.npy --values w.bin --value-bytes 11 -o2 w2.bin" +
            down);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(read("w2.bin") == wide_moved);
  }
}

TEST_F(Cli, SegmentsThatAreWrong) {
  write("k.bin", bytes_of<std::uint32_t>({4, 3, 2, 1}));
  const auto offsets = [&](const std::vector<std::uint32_t>& numbers) {
    write("o.bin", bytes_of(numbers));
  };
  const std::string sort = "sort k.bin --type u32 -o bad.bin --segments o.bin --offset-bytes 4";
  offsets({0, 2, 1, 4});
  refuses(sort, 2, {"o.bin", "offset 2 is 1", "2", "ascend"});
  refuses("check k.bin --type u32 --segments o.bin --offset-bytes 4", 2,
          {"o.bin", "offset 2 is 1"});
  offsets({1, 4});
  refuses(sort, 2, {"o.bin", "offset 0 is 1"});
  offsets({0, 3});
  refuses(sort, 2, {"o.bin", "last offset is 3", "4"});
  offsets({});
  refuses(sort, 2, {"o.bin", "no offsets"});
  offsets({0});
  refuses(sort, 2, {"o.bin", "last offset is 0", "4"});
  offsets({0, 4});
  refuses("sort k.bin --type u32 -o bad.bin --segments o.bin", 2, {"o.bin", "--offset-bytes"});
  refuses("sort k.bin --type u32 -o bad.bin --segments o.bin --offset-bytes 2", 2,
          {"--offset-bytes", "2"});
  refuses("sort k.bin --type u32 -o bad.bin --segments none.bin --offset-bytes 4", 2,
          {"none.bin", "No such file"});
  refuses(sort + " --algorithm std::sort", 2, {"std::sort", "segments"});
  refuses(sort + " --algorithm lsd", 3, {"lsd"});
  refuses("check k.bin k.bin --type u32 --segments o.bin --offset-bytes 4", 2,
          {"--segments o.bin"});
  write("o.npy", npy("'<i4'", "(2,)", bytes_of<std::int32_t>({0, 4})));
  refuses("sort k.bin --type u32 -o bad.bin --segments o.npy", 2, {"o.npy", "<i4", "u4 and u8"});
  write("o8.npy", npy("'<u8'", "(2,)", bytes_of<std::uint64_t>({0, 4})));
  refuses("sort k.bin --type u32 -o bad.bin --segments o8.npy --offset-bytes 4", 2,
          {"o8.npy", "8 bytes"});
  ASSERT_EQ(run("sort k.bin --type u32 -o out.bin --segments o8.npy --verify").code, 0);
  EXPECT_EQ(read("out.bin"), bytes_of<std::uint32_t>({1, 2, 3, 4}));
  // No records: no segments, and empty ones.
  write("none.bin", "");
  offsets({0});
  EXPECT_EQ(run("sort none.bin --type u32 -o out.bin --segments o.bin --offset-bytes 4").code, 0);
  EXPECT_EQ(run("check none.bin --type u32 --segments o.bin --offset-bytes 4").code, 0);
  offsets({0, 0, 0});
  EXPECT_EQ(
      run("sort none.bin --type u32 -o out.bin --segments o.bin --offset-bytes 4 --verify").code,
      0);
  EXPECT_EQ(read("out.bin"), "");
}

// ---------------------------------------------------------------------------------------------
// topk
// ---------------------------------------------------------------------------------------------

TEST_F(Cli, TopkIsTheStartOfTheSort) {
  std::mt19937 random(29);
  std::vector<float> keys(30000);
  for (auto& k : keys) k = static_cast<float>(random() % 5000) - 2500;
  keys[100] = keys[200] = std::nanf("");
  std::vector<std::uint64_t> ids(keys.size());
  std::iota(ids.begin(), ids.end(), std::uint64_t{1} << 33);
  write("k.npy", npy("'>f4'", "(30000,)", bytes_of(keys, true)));
  write("v.npy", npy("'<u8'", "(30000,)", bytes_of(ids)));
  for (const bool largest : {false, true}) {
    std::vector<std::uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, [&](auto a, auto b) {
      if (std::isnan(keys[a]) || std::isnan(keys[b]))
        return !std::isnan(keys[a]) && std::isnan(keys[b]);
      return largest ? keys[a] > keys[b] : keys[a] < keys[b];
    });
    for (const std::size_t k : {1, 100, 20000, 30000}) {
      std::vector<float> best;
      std::vector<std::uint64_t> moved;
      for (std::size_t i = 0; i < k; ++i) {
        best.push_back(keys[order[i]]);
        moved.push_back(ids[order[i]]);
      }
      const std::string topk =
          fmt::format("topk {} k.npy --verify{}", k, largest ? " --largest" : "");
      Result r = run(topk + " -o out.npy --values v.npy -o2 v2.npy");
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_TRUE(npy_data(read("out.npy")) == bytes_of(best, true)) << topk;
      EXPECT_NE(read("out.npy").find(fmt::format("'shape': ({},)", k)), std::string::npos);
      EXPECT_TRUE(npy_data(read("v2.npy")) == bytes_of(moved)) << topk;
      EXPECT_NE(r.err.find(fmt::format("the first {} of 30000 f32 keys", k)), std::string::npos)
          << r.err;
      r = run(topk + " -o order.bin --argsort");
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_TRUE(read("order.bin") ==
                  bytes_of(std::vector<std::uint32_t>(
                      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k))))
          << topk;
      ASSERT_EQ(run(topk + " -o out.bin").code, 0);
      EXPECT_TRUE(read("out.bin") == bytes_of(best)) << topk;
    }
  }
  std::string wide;
  for (const auto i : ids) wide += fmt::format("{:013}", i - ids[0]);
  write("w.bin", wide);
  const Result r =
      run("topk 50 k.npy -o out.npy --values w.bin --value-bytes 13 -o2 w2.bin --verify");
  ASSERT_EQ(r.code, 0) << r.err;
  ASSERT_EQ(run("topk 50 k.npy -o order.bin --argsort").code, 0);
  std::string expected;
  for (const auto i : numbers_of<std::uint32_t>(read("order.bin")))
    expected += wide.substr(i * 13, 13);
  EXPECT_EQ(read("w2.bin"), expected);
  EXPECT_EQ(shell("printf '5\\n9\\n7\\n' | $S topk 2 - --text --type u8 --largest -o -").out,
            "9\n7\n");
}

TEST_F(Cli, TopkThatIsWrong) {
  write("k.bin", bytes_of<std::uint32_t>({4, 3, 2, 1}));
  refuses("topk 0 k.bin --type u32 -o bad.bin", 2, {"K 0"});
  refuses("topk 5 k.bin --type u32 -o bad.bin", 2, {"K 5", "k.bin", "4 records"});
  refuses("topk some k.bin --type u32 -o bad.bin", 2, {"K", "some"});
  refuses("topk 2", 2, {"IN"});
  refuses("topk 2 k.bin --type u32 -o bad.bin --algorithm std::sort", 2,
          {"std::sort", "first records"});
  refuses("topk 2 k.bin --type u32 -o bad.bin --algorithm lsd", 3, {"lsd"});
  refuses("topk 2 k.bin --type u32 -o bad.bin --by x", 2, {"--by", "--type"});
  refuses("topk 2 k.bin -o bad.bin --by x", 2, {"--by", "k.bin", "--record"});
  refuses("topk 2 k.bin -o bad.bin --record 8 --key u32@0 --largest", 2,
          {"--record", "--largest", "desc"});
  refuses("topk 2 k.bin -o bad.bin --record 8", 2, {"--key is needed"});
  refuses("topk 3 k.bin -o bad.bin --record 8 --key u32@0", 2, {"K 3", "k.bin", "2 records"});
  refuses("topk 2 k.bin -o bad.bin --record 8 --key u32@0 --values k.bin -o2 bad2.bin", 2,
          {"--values", "whole records"});
  refuses("topk 2 k.bin -o bad.bin --record 8 --key u32@0 --algorithm lsd", 3, {"lsd"});
  refuses("topk 2 k.bin -o bad.bin --type u32 --segments k.bin", 2, {"--segments"});
}

TEST_F(Cli, TopkOfRecords) {
  const auto records = particles(20000);
  write("in.npy", npy(particle, "(20000,)", joined(records)));
  write("in.bin", joined(records));
  const auto first = [](const std::vector<std::uint32_t>& order, std::size_t k) {
    return std::vector(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k));
  };
  const auto by_several = order_of(records, by_energy_name_t);
  const auto by_id = order_of(records, [](const auto& a, const auto& b) {
    return get<std::uint16_t>(a, id_at) > get<std::uint16_t>(b, id_at);
  });
  for (const std::size_t k : {1, 100, 20000}) {
    const auto several = first(by_several, k), one = first(by_id, k);
    for (const char* verify : {"", " --verify"}) {
      const Result r = run(fmt::format(
          "topk {} in.npy -o out.npy --by energy:desc:nan-first,name,t:desc{}", k, verify));
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_TRUE(npy_data(read("out.npy")) == cut(records, several)) << k;
      EXPECT_NE(r.err.find(fmt::format("the first {} of 20000 records of 42 bytes by energy", k)),
                std::string::npos)
          << r.err;
      EXPECT_NE(read("out.npy").find(fmt::format("'shape': ({},)", k)), std::string::npos);
      EXPECT_NE(read("out.npy").find(particle), std::string::npos);
    }
    ASSERT_EQ(
        run(fmt::format("topk {} in.bin -o out.bin --record 42 --key u16@4:desc --verify", k)).code,
        0);
    EXPECT_TRUE(read("out.bin") == cut(records, one)) << k;
    ASSERT_EQ(
        run(fmt::format(
                "topk {} in.bin -o order.npy --argsort --record 42 --key u16@4:desc --verify", k))
            .code,
        0);
    EXPECT_TRUE(npy_data(read("order.npy")) == bytes_of(one)) << k;
  }
  EXPECT_EQ(run("check out.bin --record 42 --key u16@4:desc").code, 0);
  EXPECT_TRUE(read("in.npy") == npy(particle, "(20000,)", joined(records))) << "the input stays";
  ASSERT_EQ(run("topk 7 in.npy -o in.npy --by id:desc --quiet").code, 0) << "over the input";
  EXPECT_TRUE(npy_data(read("in.npy")) == cut(records, first(by_id, 7)));
}

// ---------------------------------------------------------------------------------------------
// --values of other sizes
// ---------------------------------------------------------------------------------------------

TEST_F(Cli, ValuesOfAnySize) {
  std::mt19937 random(31);
  std::vector<std::uint8_t> keys(4000);
  for (auto& k : keys) k = static_cast<std::uint8_t>(random() % 50);
  write("k.bin", bytes_of(keys));
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](auto i) { return keys[i]; });
  for (const std::size_t bytes : {1, 2, 3, 12, 16, 100, 256}) {
    const auto values = random_records(keys.size(), bytes, 256);
    write("v.bin", joined(values));
    const Result r = run(fmt::format(
        "sort k.bin --type u8 -o out.bin --values v.bin --value-bytes {} -o2 v2.bin --verify",
        bytes));
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(read("v2.bin") == cut(values, order)) << bytes;
    EXPECT_NE(r.err.find(fmt::format("+ {}-byte values", bytes)), std::string::npos) << r.err;
  }
  const auto values = random_records(keys.size(), 12, 256);
  for (const char* descr : {"'<U3'", "'|S12'", "[('x', '<f4'), ('y', '>f8')]"}) {
    write("v.npy", npy(descr, "(4000,)", joined(values)));
    const Result r =
        run("sort k.bin --type u8 -o out.bin --values v.npy -o2 v2.npy --algorithm std::sort");
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(npy_data(read("v2.npy")) == cut(values, order)) << descr;
    EXPECT_NE(read("v2.npy").find(descr), std::string::npos);
  }
  write("none.bin", "");
  EXPECT_EQ(run("sort none.bin --type u8 -o out.bin --values none.bin --value-bytes 3 -o2 v2.bin "
                "--verify")
                .code,
            0);
  EXPECT_EQ(read("v2.bin"), "");
}

}  // namespace
