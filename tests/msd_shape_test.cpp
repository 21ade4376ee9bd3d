// Tests the shapes that msd and the radix passes choose, at the counts where they change. These are
// pure functions, so no device is needed.
#include "algorithms/msd/msd_shape.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <tuple>

#include "algorithms/parts/radix_passes.hpp"
#include "expect_error.hpp"

namespace sortium::test {
namespace {

using namespace sortium::msd;

constexpr std::uint64_t million = std::uint64_t{1} << 20;

// A device with 132 compute units and this local memory for a work-group.
Capabilities gpu(std::uint64_t local_bytes) {
  Capabilities c;
  c.kind = DeviceKind::gpu;
  c.backend = Backend::cuda;
  c.compute_units = 132;
  c.max_work_group = 1024;
  c.sub_group_words = SubGroupWords::cuda;
  c.sub_group_size = 32;
  c.forward_progress = true;
  c.local_memory = 49152;
  c.local_struct = local_bytes;
  return c;
}
const Capabilities much = gpu(232448), little = gpu(49152);

Problem keys(std::uint64_t count, KeyType key = KeyType::u32) {
  return {.key = key, .count = count};
}
Problem pairs(std::uint64_t count, KeyType key = KeyType::u32, unsigned value_bytes = 4) {
  return {.key = key, .count = count, .payload = Payload::values, .value_bytes = value_bytes};
}

Parameters parameters(std::string_view text) { return {text, find_algorithm("msd").info()}; }
Shape shape_of(const Problem& p, const Capabilities& c = much, std::string_view text = {}) {
  return make_shape(p, c, parameters(text));
}
void expect_unsupported(const Problem& p, const Capabilities& c, std::string_view text,
                        std::initializer_list<std::string_view> words) {
  expect_error([&] { (void)make_shape(p, c, parameters(text)); }, ErrorCode::unsupported, words);
}

TEST(MsdShape, WithoutACompilerParametersAreFew) {
  Capabilities device = much;
  device.compiles = false;
  std::set<unsigned> bits, map_bits, runs, items, shares;
  for (const unsigned compute_units : {28u, 84u, 132u, 188u}) {
    device.compute_units = compute_units;
    for (std::uint64_t n = 10'000; n < 1024 * million; n += n / 7)
      for (const auto key : {KeyType::u32, KeyType::u64}) {
        const Shape shape = shape_of(keys(n, key), device);
        bits.insert(shape.bits);
        map_bits.insert(shape.map.bits);
        runs.insert(shape.keys.run);
        shares.insert(shape.mapped_local.shares);
        if (shape.tiles.count != 0) items.insert(shape.tiles.items);
      }
  }
  EXPECT_EQ(bits, (std::set<unsigned>{8, 12, 16}));
  EXPECT_EQ(map_bits, (std::set<unsigned>{0, 12, 16}));
  EXPECT_EQ(runs, (std::set<unsigned>{1, 8}));
  EXPECT_EQ(shares, (std::set<unsigned>{1, 16}));
  EXPECT_EQ(items, (std::set<unsigned>{1, 3, 5, 9, 17, 31, 47}));
}

TEST(MsdShape, LeadingBitsGrowWithTheList) {
  EXPECT_EQ(shape_of(keys(2 * million, KeyType::u64)).bits, 8u);
  EXPECT_EQ(shape_of(keys(2 * million + 1, KeyType::u64)).bits, 10u);
  EXPECT_EQ(shape_of(pairs(2 * million)).bits, 8u);
  EXPECT_EQ(shape_of(pairs(2 * million + 1)).bits, 12u);  // so that items have 32 bits
  EXPECT_EQ(shape_of(keys(4 * million)).bits, 8u);        // small keys: one digit goes further
  EXPECT_EQ(shape_of(keys(4 * million + 1)).bits, 11u);
  EXPECT_EQ(shape_of(keys(256 * million)).bits, 16u);
  EXPECT_EQ(shape_of(keys(1024 * million)).bits, 16u);  // never more
  EXPECT_EQ(shape_of(keys(million), much, "bits=12").bits, 12u);
}

TEST(MsdShape, ItemsAreNarrowIfThatNeedsFewBitsMore) {
  // 32 - bits open bits and the position fit 32 bits together.
  const Shape s = shape_of(pairs(64 * million));
  EXPECT_EQ(s.local.sort_bits, 32u);
  EXPECT_LE(32 - s.bits + s.local.position_bits, 32u);
  // Keys of 64 bits never do; open bits and position fit 64.
  const Shape wide = shape_of(pairs(million, KeyType::u64, 8));
  EXPECT_EQ(wide.local.sort_bits, 64u);
  EXPECT_LE(64 - wide.bits + wide.local.position_bits, 64u);
  EXPECT_GT(wide.bits, 8u);
}

TEST(MsdShape, BucketsFitTheLocalSort) {
  for (const auto& device : {much, little})
    for (std::uint64_t count = 1024; count <= 64 * million; count *= 2)
      for (const auto& p : {keys(count), keys(count, KeyType::u64), keys(count, KeyType::f32)}) {
        const Shape s = shape_of(p, device);
        EXPECT_GE(s.local.capacity(), count >> s.bits) << count;
        EXPECT_LE(s.local.bytes, device.local_struct) << count;
        EXPECT_EQ(bucket_capacity(p, s), s.local.capacity());
      }
}

// Work-items have more records instead of doubling the work-group.
TEST(MsdShape, WorkGroupsOfLocalSortsAreSmall) {
  const auto local = [](const Problem& p, const Capabilities& c = much) {
    const auto shape = shape_of(p, c);
    return std::tuple(shape.bits, shape.local.work_group, shape.local.items);
  };
  EXPECT_EQ(local(keys(64 * million)), std::tuple(14, 256, 19));
  EXPECT_EQ(local(keys(10'000'000)), std::tuple(12, 128, 25));
  EXPECT_EQ(local(keys(25'000'000)), std::tuple(13, 128, 31));
  EXPECT_EQ(local(keys(100'000'000)), std::tuple(15, 256, 19));  // may be equalized
  EXPECT_EQ(local(pairs(10'000'000)), std::tuple(13, 128, 19));
  EXPECT_EQ(local(keys(10'000'000, KeyType::u64)), std::tuple(12, 256, 19));
  EXPECT_EQ(local(keys(64 * million, KeyType::f32)), std::tuple(15, 256, 31));
  EXPECT_EQ(local(keys(100'000'000, KeyType::f32)), std::tuple(16, 256, 19));
  EXPECT_EQ(local(keys(150'000'000, KeyType::f32)), std::tuple(16, 512, 19));
  EXPECT_EQ(local(pairs(256 * million, KeyType::f32)), std::tuple(16, 512, 31));
  // Values that come late let two such work-groups share a compute unit.
  EXPECT_EQ(shape_of(pairs(256 * million, KeyType::f32)).local.resident, 2);
  // Fewer records would often be too few for the densest bucket of spread orders.
  for (std::uint64_t n = 4 * million; n < 256 * million; n += n / 7)
    for (const Problem& p : {keys(n, KeyType::f32), pairs(n, KeyType::f32)}) {
      const Shape s = shape_of(p);
      EXPECT_GE(static_cast<double>(s.local.capacity() << s.bits), 3.1 * static_cast<double>(n));
    }
  // Late values would overwrite keys that stay in local memory.
  for (const auto key : {KeyType::u32, KeyType::f32})
    for (const unsigned end_bit : {0u, 24u, 31u})
      for (std::uint64_t n = 4 * million; n < 512 * million; n += n / 7)
        for (Problem p : {keys(n, key), pairs(n, key)}) {
          p.end_bit = end_bit;
          const auto shape = shape_of(p).local;
          EXPECT_FALSE(shape.keep_keys && shape.values_late) << n << " " << end_bit;
        }
  Capabilities package = much;
  package.compiles = false;
  EXPECT_EQ(std::get<2>(local(keys(10'000'000), package)), 19);
}

TEST(MsdShape, ShortListsAreCountedTileByTile) {
  const auto long_keys = [](std::uint64_t n) { return keys(n, KeyType::u64); };
  const Shape at = shape_of(long_keys(2 * million)), above = shape_of(long_keys(2 * million + 1));
  EXPECT_EQ(at.tiles.work_group, 512u);
  EXPECT_EQ(at.tiles.count, (2 * million + at.tiles.work_group * at.tiles.items - 1) /
                                (at.tiles.work_group * at.tiles.items));
  EXPECT_EQ(at.tiles.items % 2, 1u);
  EXPECT_LE(at.tiles.bytes, much.local_struct);
  EXPECT_FALSE(at.samples_keys);
  EXPECT_EQ(above.tiles.count, 0u);
  EXPECT_EQ(shape_of(long_keys(2 * million), little).tiles.work_group, 256u);
  EXPECT_EQ(shape_of(long_keys(2 * million), much, "bits=10").tiles.count, 0u);  // two digits
  EXPECT_EQ(shape_of(keys(million, KeyType::f32), little).tiles.count, 0u);      // spread orders
}

// Keys of up to 32 bits: the radix passes partition a list by its leading digit, or sort it.
TEST(MsdShape, PassesPartitionShortListsOfShortKeys) {
  const auto by_passes = [](const Problem& p, const Capabilities& c = much,
                            std::string_view text = {}) {
    const Shape shape = shape_of(p, c, text);
    EXPECT_FALSE(shape.passes_partition && shape.tiles.count != 0);
    EXPECT_EQ(shape.counts_buckets(), !shape.passes_partition && shape.tiles.count == 0);
    return shape.passes_partition;
  };
  for (const auto key : {KeyType::u32, KeyType::i32}) {
    EXPECT_TRUE(by_passes(keys(1, key)));
    EXPECT_TRUE(by_passes(keys(2 * million, key)));
    EXPECT_TRUE(by_passes(keys(3'000'000, key)));
    EXPECT_FALSE(by_passes(keys(3'100'000, key)));  // tiles of more items than are fast
    EXPECT_TRUE(by_passes(pairs(2 * million, key)));
    EXPECT_FALSE(by_passes(pairs(2 * million + 1, key)));  // two digits
    EXPECT_TRUE(by_passes(pairs(2'300'000, key), much, "bits=8"));
    EXPECT_FALSE(by_passes(keys(million, key), much, "sample=1"));
    EXPECT_TRUE(by_passes(pairs(million, key, 8)));
  }
  Problem some_bits = keys(million, KeyType::u64);
  EXPECT_FALSE(by_passes(some_bits));
  some_bits.begin_bit = 20, some_bits.end_bit = 52;
  EXPECT_TRUE(by_passes(some_bits));
  EXPECT_FALSE(by_passes(keys(million, KeyType::f32)));  // do not spread by leading bits
  EXPECT_FALSE(by_passes(pairs(million), much, "bits=10"));
  EXPECT_FALSE(by_passes(pairs(million), little));  // keys and values take turns in local memory
  Capabilities small = much;
  small.compute_units = 16;
  EXPECT_TRUE(by_passes(keys(million / 8), small));
  EXPECT_FALSE(by_passes(keys(2 * million), small));  // more tiles than work-groups at a time
}

TEST(MsdShape, ShortListsMayBeSortedByCells) {
  const auto cells = [](const Problem& p, const Capabilities& c = much,
                        std::string_view text = {}) { return shape_of(p, c, text).tiles.cells; };
  for (const auto key : {KeyType::u64, KeyType::i64, KeyType::f64}) {
    EXPECT_NE(cells(keys(million, key)), 0u);
    EXPECT_EQ(cells(keys(million / 16, key)), 0u);
    EXPECT_EQ(cells(keys(3 * million, key)), 0u);
    EXPECT_EQ(cells(keys(million, key), little), 0u);
    EXPECT_EQ(cells(pairs(million / 2, key)), 0u);
    const Shape s = shape_of(keys(million, key));
    EXPECT_LE(s.local.bytes, much.local_struct);
    EXPECT_LE(s.tiles.bytes, much.local_struct);
    EXPECT_EQ(s.spread_bits, 0u);
    EXPECT_FALSE(s.samples_keys);
    EXPECT_EQ(s.tiles.cells % s.local.work_group, 0u);
  }
  EXPECT_EQ(cells(keys(million)), 0u);
  Problem some_bits = keys(million, KeyType::u64);
  some_bits.end_bit = 60;
  EXPECT_EQ(cells(some_bits), 0u);
  // Parameters ask for spread orders.
  EXPECT_EQ(cells(keys(million, KeyType::f64), much, "sample=1"), 0u);
  EXPECT_EQ(cells(keys(million, KeyType::f64), much, "bits=8"), 0u);
  Capabilities no_compiler = much;
  no_compiler.compiles = false;
  EXPECT_EQ(cells(keys(million, KeyType::u64), no_compiler), 0u);
}

TEST(MsdShape, OneTileForOneRecord) {
  const Shape s = shape_of(keys(1, KeyType::u64));
  EXPECT_EQ(s.tiles.count, 1u);
  EXPECT_EQ(s.tiles.items, 1u);
}

TEST(MsdShape, KeysWithoutValuesNeedNoStablePartition) {
  EXPECT_NE(shape_of(keys(8 * million)).keys.items, 0u);
  EXPECT_NE(shape_of(keys(8 * million, KeyType::u64)).mapped_keys.items, 0u);
  EXPECT_NE(shape_of(keys(8 * million, KeyType::f32)).keys.items, 0u);
  EXPECT_EQ(shape_of(pairs(8 * million)).keys.items, 0u);
  EXPECT_EQ(shape_of(pairs(8 * million, KeyType::u64)).mapped_keys.items, 0u);
  Problem some_bits = keys(8 * million);
  some_bits.end_bit = 28;  // ties can be told apart by the other bits
  EXPECT_EQ(shape_of(some_bits).keys.items, 0u);
  Problem positions = keys(8 * million);
  positions.payload = Payload::positions;
  EXPECT_EQ(shape_of(positions).keys.items, 0u);
}

TEST(MsdShape, TilesOfKeysFitTwiceIntoLocalMemory) {
  const Shape s = shape_of(keys(256 * million));
  EXPECT_EQ(s.keys.items, 47u);
  EXPECT_EQ(s.keys.run, 8u);
  EXPECT_EQ(s.keys.groups, 264u);
  EXPECT_LE(2 * (s.keys.bytes + 1024), much.local_struct);
  // A list shorter than a tile makes the tile shorter: by a power of two.
  EXPECT_EQ(shape_of(keys(1000, KeyType::f32), much, "sample=1").keys.items, 2u);
  EXPECT_EQ(shape_of(keys(255, KeyType::f32), much, "sample=1").keys.items, 0u);
}

TEST(MsdShape, LongListsOfFloatsSetKeysAside) {
  EXPECT_EQ(shape_of(keys(4 * million, KeyType::f32)).aside_tile, 256u * 47);
  EXPECT_EQ(shape_of(keys(4 * million - 1, KeyType::f32)).aside_tile, 0u);
  EXPECT_NE(shape_of(keys(2 * million, KeyType::f64)).aside_tile, 0u);
  EXPECT_EQ(shape_of(pairs(64 * million, KeyType::f32)).aside_tile, 0u);
  EXPECT_EQ(shape_of(keys(64 * million)).aside_tile, 0u);  // integers have no such keys
  // A parameter makes short lists do it.
  EXPECT_NE(shape_of(keys(5000, KeyType::f32), much, "bits=9").aside_tile, 0u);
  EXPECT_EQ(shape_of(pairs(5000, KeyType::f64, 8), much, "bits=12").aside_tile, 0u);
  EXPECT_NE(shape_of(keys(5000, KeyType::f32), little, "bits=9").aside_tile, 0u);
}

TEST(MsdShape, KeysWithoutClassesAreNotSetAside) {
  Problem p = keys(64 * million, KeyType::f64);
  EXPECT_TRUE(has_classes(p));
  p.nan = NanOrder::bits;
  EXPECT_TRUE(has_classes(p));  // zeros tie
  p.zeros = ZeroOrder::distinct;
  EXPECT_FALSE(has_classes(p));
  EXPECT_EQ(shape_of(p).aside_tile, 0u);
  p.nan = NanOrder::first;
  EXPECT_TRUE(has_classes(p));
  p.end_bit = 60;  // no spread orders
  EXPECT_FALSE(has_classes(p));
}

TEST(MsdShape, FrequentKeysAreCountedOrEncodedInLongLists) {
  const auto samples = [](const Problem& p, const Capabilities& c = much,
                          std::string_view text = {}) {
    return shape_of(p, c, text).frequent.samples;
  };
  EXPECT_EQ(samples(keys(8 * million - 1)), 0u);
  EXPECT_EQ(samples(keys(8 * million)), 4096u);
  EXPECT_EQ(samples(keys(10'000'000, KeyType::f64)), 4096u);
  EXPECT_EQ(samples(keys(100 * million, KeyType::i64)), 8192u);
  EXPECT_EQ(samples(keys(1000, KeyType::f32), much, "sample=1"), 1024u);
  EXPECT_EQ(samples(pairs(32 * million - 1)), 0u);
  EXPECT_EQ(samples(pairs(32 * million)), 8192u);
  EXPECT_EQ(samples(pairs(16 * million - 1, KeyType::f64, 8)), 0u);
  EXPECT_EQ(samples(pairs(16 * million, KeyType::f64, 8)), 8192u);
  EXPECT_EQ(make_frequent_shape(keys(0xffff0000), much, true).samples, 0u);
  Problem some_bits = keys(64 * million);
  some_bits.end_bit = 28;  // equal keys may differ in the other bits
  EXPECT_EQ(samples(some_bits), 0u);
  Capabilities without_compiler = much;
  without_compiler.compiles = false;
  EXPECT_EQ(samples(keys(64 * million), without_compiler), 0u);

  for (const auto& device : {much, little})
    for (const auto key : {KeyType::u32, KeyType::u64})
      for (const auto& p : {keys(100 * million, key), pairs(100 * million, key)}) {
        const FrequentShape s = shape_of(p, device).frequent;
        EXPECT_NE(s.samples, 0u);
        EXPECT_GE(s.slots, s.samples);
        EXPECT_LE(s.bytes, device.local_struct);
        EXPECT_LE(s.codes_bytes, device.local_struct);
        EXPECT_LE(s.insert_bytes, device.local_struct);
        EXPECT_EQ(s.encodes, p.payload != Payload::none);
        EXPECT_EQ(s.most_singles(4096) != 0, s.encodes);
      }
}

TEST(MsdShape, CountsOfTilesTakeLittleMemory) {
  const Problem p = keys(100 * million, KeyType::f32);
  const Shape s = shape_of(p);
  EXPECT_EQ(s.aside_bytes(p), 4 * (4 + 2 * (100 * million / s.aside_tile + 2)));
  EXPECT_LT(s.aside_bytes(p), p.count * 4 / 1000);
  EXPECT_LE(2 * (s.keys_beside_aside.bytes + 1024), much.local_struct);
}

TEST(MsdShape, WideKeysMayBeMapped) {
  for (const auto key : {KeyType::u64, KeyType::i64, KeyType::f64})
    for (const auto& p : {keys(1, key), pairs(1, key, 8)}) EXPECT_TRUE(maps_keys(p));
  EXPECT_FALSE(maps_keys(keys(1)));
  EXPECT_FALSE(maps_keys(keys(1, KeyType::f32)));
  Problem some_bits = keys(1, KeyType::u64);
  some_bits.end_bit = 60;
  EXPECT_FALSE(maps_keys(some_bits));
  // Integers of shorter lists are not sampled.
  for (const auto key : {KeyType::u64, KeyType::f64}) {
    EXPECT_EQ(shape_of(keys(4 * million, key)).map.cells, 0u);
    EXPECT_EQ(shape_of(keys(4 * million + 1, key)).map.cells, 1024u);
    EXPECT_EQ(shape_of(pairs(8 * million, key, 8)).map.cells, 1024u);
  }
  // A parameter maps short lists.
  EXPECT_EQ(shape_of(keys(5000, KeyType::u64), much, "bits=9,sample=1").map.bits, 11u);
}

TEST(MsdShape, IntegersOf32BitsMayBeEqualized) {
  for (const auto key : {KeyType::u32, KeyType::i32}) {
    EXPECT_TRUE(may_be_equalized(keys(1, key)));
    EXPECT_FALSE(shape_of(keys(32 * million, key)).equalizer.possible());
    EXPECT_FALSE(shape_of(pairs(24 * million, key)).equalizer.possible());
    EXPECT_TRUE(shape_of(pairs(25 * million, key)).equalizer.possible());
    for (std::uint64_t count = 33 * million; count <= 110 * million; count = count * 5 / 4)
      for (const auto& p : {keys(count, key), pairs(count, key), pairs(count, key, 8)}) {
        const Shape s = shape_of(p);
        ASSERT_TRUE(s.equalizer.possible()) << count;
        EXPECT_GE(s.local.capacity() << s.equalizer.bits, 22 * count / 10) << count;
        EXPECT_EQ(s.equalizer.bits + s.equalizer.distance_bits(), 34u);
        const unsigned positions = sorts_positions(p) ? s.local.position_bits : 0;
        EXPECT_LE(s.equalizer.distance_bits() + positions, 32u) << count;
        EXPECT_EQ(s.local.sort_bits, 32u);
      }
  }
  EXPECT_FALSE(may_be_equalized(keys(1, KeyType::f32)));
  EXPECT_FALSE(may_be_equalized(keys(1, KeyType::u64)));
  EXPECT_FALSE(
      shape_of(keys(256 * million)).equalizer.possible());  // 2^16 buckets would be too large
  EXPECT_FALSE(shape_of(keys(64 * million), little).equalizer.possible());
  EXPECT_TRUE(shape_of(keys(5000), little, "bits=9,sample=1").equalizer.possible());
  Capabilities driver_alone = much;
  driver_alone.compiles = false;
  EXPECT_FALSE(shape_of(keys(64 * million), driver_alone).equalizer.possible());
  Problem some_bits = keys(64 * million);
  some_bits.end_bit = 31;
  EXPECT_FALSE(shape_of(some_bits).equalizer.possible());
}

TEST(MsdShape, MappedBucketsHaveCapacityToSpare) {
  for (std::uint64_t count = 5 * million; count <= 512 * million; count = count * 3 / 2)
    for (const auto& p : {keys(count, KeyType::u64), keys(count, KeyType::f64),
                          pairs(count, KeyType::i64), pairs(count, KeyType::u64, 8)}) {
      const Shape s = shape_of(p);
      EXPECT_GE(s.mapped_local.capacity(), 2 * (count >> s.map.bits)) << count;
      EXPECT_LE(s.mapped_local.bytes, much.local_struct) << count;
      EXPECT_TRUE(s.lists_overfull());
      EXPECT_EQ(s.map.buckets() % s.mapped_local.joined, 0u);
    }
  const Problem p = keys(64 * million, KeyType::u64);
  EXPECT_LT(2 * most_listed(p, shape_of(p)) + 8, p.count);  // scratch memory holds them twice
}

TEST(MsdShape, LongListsOfIntegersMayBeStretched) {
  for (const auto key : {KeyType::u32, KeyType::i32, KeyType::u64, KeyType::i64})
    for (const auto& p : {keys(8 * million + 1, key), pairs(8 * million + 1, key)}) {
      const Shape s = shape_of(p);
      EXPECT_TRUE(s.stretch.possible);
      // The bits that differ in a bucket choose among all bins.
      EXPECT_GE(key_bits(p) - s.bits - s.stretch.most,
                static_cast<unsigned>(std::bit_width(s.local.bins() - 1)));
    }
  EXPECT_FALSE(shape_of(keys(8 * million)).stretch.possible);
  EXPECT_FALSE(shape_of(keys(16 * million, KeyType::f32)).stretch.possible);
  EXPECT_TRUE(shape_of(keys(256 * million)).stretch.possible);
  Problem some_bits = keys(16 * million);
  some_bits.end_bit = 31;
  EXPECT_FALSE(shape_of(some_bits).stretch.possible);
  EXPECT_TRUE(shape_of(keys(5000), much, "bits=9,sample=1").stretch.possible);
}

TEST(MsdShape, SpreadBitsAreSignAndExponent) {
  EXPECT_EQ(spread_bits(keys(1, KeyType::f32)), 9u);
  EXPECT_EQ(spread_bits(keys(1, KeyType::f64)), 12u);
  EXPECT_EQ(spread_bits(keys(1)), 0u);
  Problem some_bits = keys(1, KeyType::f32);
  some_bits.begin_bit = 1;
  some_bits.end_bit = 32;
  EXPECT_EQ(spread_bits(some_bits), 0u);
}

TEST(MsdShape, TilesOfMappedKeysLeaveMemoryToTheCache) {
  const Problem u64 = keys(64 * million, KeyType::u64);
  const Shape s = shape_of(u64);
  EXPECT_LE(2 * (s.mapped_keys.bytes + 1024), 132u * 1024 + 1024);
  EXPECT_TRUE(s.mapped_keys.local_map);
  EXPECT_FALSE(shape_of(u64, little).mapped_keys.local_map);  // little memory: it is not copied
}

TEST(MsdShape, AllBitsOfShortKeysArePartitioned) {
  const Shape s = shape_of(pairs(32 * million, KeyType::u16));
  EXPECT_EQ(s.bits, 16u);
  EXPECT_TRUE(partition_sorts(pairs(32 * million, KeyType::u16), s));
  EXPECT_EQ(s.second_digit_bits(pairs(32 * million, KeyType::u16)), 8u);
  EXPECT_EQ(s.local.work_group, 0u);
  Problem ten = pairs(32 * million);
  ten.end_bit = 10;
  EXPECT_EQ(shape_of(ten).second_digit_bits(ten), 5u);
}

TEST(MsdShape, Refusals) {
  expect_unsupported(keys(std::uint64_t{1} << 32), much, "", {"count is 4294967296"});
  expect_unsupported(keys(million, KeyType::u8), much, "", {"8 bits are to be sorted"});
  expect_unsupported(keys(million, KeyType::u16), much, "", {"16 bits are to be sorted"});
  expect_unsupported(pairs(million, KeyType::u16), much, "bits=9", {"bits=9", "16 bits"});
  expect_unsupported(pairs(1024 * million), much, "bits=8", {"8 leading bits", "local memory"});
  expect_unsupported(keys(2048 * million), much, "", {"16 leading bits", "32769 records"});
  expect_unsupported(pairs(million), gpu(8192), "bits=8", {"bytes of local memory"});
}

TEST(MsdShape, SamplesAreTakenOfLongLists) {
  const auto count_of = [](const Problem& p, const Capabilities& c, bool few_digits,
                           std::string_view text = {}) {
    return make_count_shape(p, c, shape_of(p, c, text), few_digits);
  };
  EXPECT_FALSE(shape_of(keys(4 * million)).samples_keys);
  EXPECT_TRUE(shape_of(keys(4 * million + 1)).samples_keys);
  EXPECT_TRUE(shape_of(keys(3 * million, KeyType::f32)).samples_keys);  // the table is made of them
  EXPECT_EQ(count_of(keys(4 * million), much, false).sampled, 0u);
  EXPECT_EQ(count_of(keys(8 * million), much, false).sampled, 4096u);
  EXPECT_EQ(count_of(keys(64 * million), much, false).sampled, 16384u);
  EXPECT_EQ(count_of(keys(8 * million, KeyType::f32), much, false).sampled, 8192u);
  EXPECT_EQ(count_of(keys(8 * million), much, false).sample_stride, 2047u);
  const CountShape u64 = count_of(keys(8 * million, KeyType::u64), much, false);
  EXPECT_EQ(u64.judged, 4096u);
  EXPECT_EQ(u64.sampled, 8192u);  // for the map
  EXPECT_EQ(count_of(keys(1000, KeyType::f32), much, false).sample_stride, 0u);
  EXPECT_TRUE(count_of(keys(8 * million), much, false).tells_repeats);
  EXPECT_FALSE(count_of(keys(8 * million, KeyType::f32), much, false).tells_repeats);
  EXPECT_FALSE(count_of(keys(8 * million), much, false).tells_few_digits);
  EXPECT_TRUE(count_of(keys(8 * million), much, true).tells_few_digits);
  EXPECT_FALSE(count_of(keys(8 * million), much, true, "sample=0").tells_few_digits);
}

TEST(MsdShape, CountsBecomeNarrowWhereLocalMemoryIsSmall) {
  const Problem p = keys(256 * million);
  const CountShape wide = make_count_shape(p, much, shape_of(p, much), false);
  EXPECT_EQ(wide.bits, 16u);
  EXPECT_EQ(wide.work_group, 1024u);
  EXPECT_EQ(wide.groups, 132u);
  const CountShape narrow = make_count_shape(p, little, shape_of(p, little), false);
  EXPECT_EQ(narrow.bits, 4u);
  EXPECT_EQ(narrow.work_group, 256u);
  EXPECT_EQ(narrow.groups, 4u * 132);
  EXPECT_LE(narrow.bytes, little.local_struct);
  const Capabilities least = gpu(32768);
  Shape s = shape_of(p, little);
  expect_error([&] { (void)make_count_shape(p, least, s, false); }, ErrorCode::unsupported,
               {"counting by 16 bits", "32768"});
}

TEST(MsdShape, LimitsOfSamplesFollowTheBuckets) {
  const Problem p = keys(256 * million), shorter = keys(8 * million);
  const auto limits_of = [](const Problem& q) {
    const Shape s = shape_of(q);
    return make_sample_limits(q, s, make_count_shape(q, much, s, true));
  };
  // A full bucket has less than one of 16384 samples of 2^28 records: eight and some are no chance.
  EXPECT_GE(limits_of(p).crowd, 8u);
  EXPECT_LE(limits_of(p).crowd, 16u);
  EXPECT_EQ(limits_of(shorter).rare, 4096u / 3);
  EXPECT_GE(limits_of(shorter).repeats, 2u);
  // Lists of records with values may have 16 equal records each.
  const Problem q = pairs(16 * million);
  const auto shape = make_count_shape(q, much, shape_of(q), true);
  EXPECT_TRUE(shape.tells_repeats);
  EXPECT_LE(limits_of(q).repeats * 3 * q.count, 16 * std::uint64_t{shape.judged} * shape.judged);
  // f32 keys with values: 12, or what numbers between 1 and 2 may have in a long list.
  const auto alike = [&](std::uint64_t count) {
    const Problem floats = pairs(count, KeyType::f32);
    const auto s = make_count_shape(floats, much, shape_of(floats), true);
    EXPECT_TRUE(s.tells_repeats);
    return limits_of(floats).repeats * 3.0 * static_cast<double>(count) / s.judged / s.judged;
  };
  EXPECT_NEAR(alike(16 * million), 12, 1);
  EXPECT_NEAR(alike(256 * million), 48, 1);
  for (const auto& floats : {keys(16 * million, KeyType::f32), pairs(16 * million, KeyType::f64)})
    EXPECT_FALSE(make_count_shape(floats, much, shape_of(floats), true).tells_repeats);
  // 4096 samples in 8192 buckets: 1024 pairs share a bucket if keys spread. There are 1.5 times as
  // many if an average key's bucket is 1.5 times as full as the mean; a bucket holds only 1.19
  // times.
  EXPECT_GT(limits_of(pairs(16 * million, KeyType::u64)).pairs, 1024 + 4 * 32u);
  EXPECT_LT(limits_of(pairs(16 * million, KeyType::u64)).pairs, 1400u);
}

// What RadixPasses asks for, on a device with much local memory and on one with little.
RadixPassShape passes_of(const Problem& p, const Capabilities& c, bool small_tiles = false,
                         std::uint64_t segments = 0) {
  return radix_pass_shape(p, c, {}, {.algorithm = "test", .segments = segments},
                          small_tiles ? RadixPassKind::small_tiles : RadixPassKind::plain);
}
RadixPassShape mapped_passes_of(const Problem& p, const Capabilities& c) {
  return radix_pass_shape(p, c, {}, {.algorithm = "test", .map = {.cells = 1024, .bits = 16}},
                          RadixPassKind::mapped);
}

TEST(RadixPassShape, WorkGroupsShareAComputeUnitFrom2To21KeysOn) {
  EXPECT_EQ(passes_of(keys(2 * million), much).work_group, 512u);
  EXPECT_EQ(passes_of(keys(2 * million), much).resident, 1u);
  EXPECT_EQ(passes_of(keys(2 * million + 1), much).work_group, 256u);
  EXPECT_EQ(passes_of(keys(2 * million + 1), much).resident, 2u);
  EXPECT_EQ(passes_of(pairs(2 * million + 1), much).work_group, 512u);
  EXPECT_EQ(passes_of(pairs(2 * million + 1), much, true).work_group, 256u);
  EXPECT_EQ(passes_of(pairs(2 * million + 1), much, true).resident, 2u);
}

TEST(RadixPassShape, KeysAndValuesAlternateWhereLocalMemoryIsSmall) {
  EXPECT_TRUE(passes_of(pairs(million), little).alternating);
  EXPECT_FALSE(passes_of(keys(million), little).alternating);
  EXPECT_FALSE(passes_of(pairs(million), much).alternating);
}

TEST(RadixPassShape, TilesFitLocalMemoryAndPlaces) {
  for (const auto& device : {much, little})
    for (std::uint64_t count = 1; count <= 1024 * million; count *= 4)
      for (const auto& p : {keys(count), pairs(count), pairs(count, KeyType::u64, 8)}) {
        const RadixPassShape s = passes_of(p, device);
        EXPECT_LE(s.resident * (s.local_bytes + (s.resident > 1 && &device == &much ? 1024u : 0u)),
                  device.local_struct * (device.local_struct > 128 * 1024 ? 1 : s.resident));
        EXPECT_EQ(s.items % 2, 1u);
        EXPECT_LT(s.tile(), p.payload == Payload::none ? 65536u : 32768u);
        EXPECT_GE(s.tiles * s.tile(), count);
        EXPECT_LE(s.groups, s.tiles);
        const RadixPassShape mapped = mapped_passes_of(p, device);
        EXPECT_LE(mapped.local_bytes, device.local_struct);
        EXPECT_LE(mapped.items, s.items);
        EXPECT_GE(mapped.tiles * mapped.tile(), count + 255 * mapped.tile());
      }
}

TEST(RadixPassShape, SegmentsNeedTilesOfTheirOwn) {
  const Problem p = pairs(64 * million);
  const auto whole = passes_of(p, much), parts = passes_of(p, much, false, 256);
  EXPECT_GE(parts.tiles, 256 + (p.count + parts.tile() - 1) / parts.tile());
  EXPECT_GE(parts.local_bytes - parts.tile() * 8, whole.local_bytes - whole.tile() * 8 + 1024);
}

TEST(RadixPassShape, ScratchMemoryIsAddedToTheCallersLayout) {
  ScratchLayout layout;
  const auto before = layout.add(100);
  const RadixPasses passes(pairs(million), much, {}, {.algorithm = "test", .cleared_bytes = 64},
                           layout);
  EXPECT_EQ(before.offset, 0u);
  // A copy of the records, at least; the look-back table; the histograms.
  EXPECT_GE(layout.bytes(), 8 * million + 1024);
  EXPECT_EQ(passes.pass_count(), 4u);
  EXPECT_FALSE(passes.tells_few_digits());
}

TEST(RadixPassShape, Refusals) {
  ScratchLayout layout;
  const auto refused = [&](const Capabilities& c, const Problem& p,
                           std::initializer_list<std::string_view> words) {
    expect_error([&] { RadixPasses(p, c, {}, {.algorithm = "test"}, layout); },
                 ErrorCode::unsupported, words);
  };
  Capabilities cpu = much, waits = much;
  cpu.kind = DeviceKind::cpu;
  waits.forward_progress = false;
  refused(cpu, keys(1), {"test", "made for GPUs"});
  refused(waits, keys(1), {"test", "forward progress"});
  refused(much, keys(std::uint64_t{132} << 28), {"132 compute units"});
  refused(gpu(4096), keys(1000), {"items=1", "local memory"});
}

}  // namespace
}  // namespace sortium::test
