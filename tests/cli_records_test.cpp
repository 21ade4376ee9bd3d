// The program `sortium`: raw records with keys at any offset.
#include "cli_records.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "io/record_check.hpp"

namespace {

TEST_F(Cli, RawRecordsByBytes) {
  // The records of the sorting benchmarks: 100 bytes with a key of 10.
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
  refuses(sort + "''", 2, {"--key: its value is empty"});
  refuses(sort + "f32@0,", 2, {"''", "is not a field", "bytes[0:10]"});
  for (const char* key : {"f32", "f31@0", "@3", "f32@", "f32@x", "f32@-1", "bytes", "bytes[1]",
                          "bytes[a:b]", "bytes[1:2", "u128"})
    refuses(sort + "'" + key + "'", 2, {key, "is not a field", "u128"});
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
  // Files with equal keys but different records are not permutations.
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
  out[1] = 99;  // a byte outside the key
  EXPECT_TRUE(wrong());
  out[1] = 11;
  p.key[0].order = sortium::Order::descending;
  EXPECT_TRUE(wrong());
}

}  // namespace
