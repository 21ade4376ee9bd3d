// The program `sortium`: keys of several fields.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cli_records.hpp"

namespace {

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
  // Types that cannot be keys, and headers that cannot be read.
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
  // A title, a field that is an array of one item, Python 2's long integers, spaces, and all format
  // versions.
  for (const int version : {1, 2, 3}) {
    write("in.npy",
          npy("[ (('a title', 'a'), '<u2') , ( 'b' , '|S1', (2L,) ) ]", "(2,)", data, version));
    const Result r = run("sort in.npy -o out.npy --by a");
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(npy_data(read("out.npy")), sorted);
  }
  // Non-ASCII letters: versions 1 and 2 use Latin-1, version 3 uses UTF-8. Output has version 3.
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

}  // namespace
