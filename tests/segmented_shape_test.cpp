// Tests the shape of `segmented`: which class of kernels sorts segments of which lengths, and
// whether the kernels' local memory fits the device. These are pure functions of the problem and
// the capabilities.
#include "algorithms/segmented/segmented_shape.hpp"

#include <gtest/gtest.h>

#include <sortium/plan.hpp>
#include <string_view>

#include "algorithms/segmented/segmented_small.hpp"
#include "expect_error.hpp"

namespace sortium::segmented {
namespace {

constexpr std::uint64_t many = 1u << 20;  // records

Capabilities gpu(std::uint64_t local_struct = 227 << 10) {
  Capabilities c;
  c.backend = Backend::cuda;
  c.sub_group_words = SubGroupWords::cuda;
  c.compute_units = 132;
  c.max_work_group = 1024;
  c.local_memory = 48 << 10;
  c.local_struct = local_struct;
  return c;
}

Problem segments_of(KeyType key, Payload payload, unsigned value_bytes = 4) {
  return {
      .key = key, .count = many, .payload = payload, .value_bytes = value_bytes, .segments = 1000};
}

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const auto key : {KeyType::u8, KeyType::u32, KeyType::f32, KeyType::u64, KeyType::f64})
    for (const auto payload : {Payload::none, Payload::values})
      all.push_back(segments_of(key, payload, info(key).bytes == 8 ? 8 : 4));
  return all;
}

GpuShape shape_of(const Problem& p, const Capabilities& device, std::string_view parameters = {}) {
  return make_gpu_shape(p, device, {parameters, find_algorithm("segmented").info()});
}

TEST(SegmentedShape, ClassesCoverAllLengths) {
  for (const auto& p : problems()) {
    const auto shape = shape_of(p, gpu());
    const Lists& lists = shape.lists;
    EXPECT_EQ(lists.longest_of(0), lists.row);
    EXPECT_EQ(lists.blocks, shape.blocks.size());
    for (unsigned k = 1; k < lists.tiny + lists.blocks; ++k) {
      // The first block class with `spread` has the lengths of the last tiny class.
      if (lists.spread && k == lists.tiny)
        EXPECT_EQ(lists.longest_of(k), lists.longest_of(k - 1));
      else
        EXPECT_GT(lists.longest_of(k), lists.longest_of(k - 1)) << info(p.key).name << ", " << k;
    }
    EXPECT_EQ(lists.longest(), lists.longest_of(lists.tiny + lists.blocks - 1));
    EXPECT_LE(lists.merged, lists.longest()) << "a merged bucket is sorted by a block class";
  }
}

TEST(SegmentedShape, BlocksHoldTheirSegments) {
  for (const auto& p : problems()) {
    const auto shape = shape_of(p, gpu());
    ASSERT_FALSE(shape.blocks.empty());
    for (unsigned b = 0; b < shape.blocks.size(); ++b) {
      const Block& block = shape.blocks[b];
      const std::uint64_t records = std::uint64_t{block.work_group} * block.items;
      EXPECT_GE(records, shape.lists.longest_of(shape.lists.tiny + b));
      EXPECT_GE(std::uint64_t{1} << block.position_bits, records);
      EXPECT_LE(block.resident * block.bytes, gpu().local_struct);
      EXPECT_EQ(block.leaves, shape.lists.spread && b == 0);
      // Floats without values need no positions: keys that tie get their own bits back after the
      // sort.
      EXPECT_EQ(block.composite, p.payload != Payload::none) << info(p.key).name;
      EXPECT_TRUE(block.drops ||
                  key_bits(p) + (block.composite ? block.position_bits : 0) <= block.sort_bits);
    }
  }
}

TEST(SegmentedShape, ShortNeighboursFitLocalMemory) {
  for (auto p : problems()) {
    const auto classify = shape_of(p, gpu()).classify;
    EXPECT_EQ(classify.shorts.longest, 32u);
    EXPECT_EQ(classify.lanes, 4u);
    EXPECT_EQ(classify.shorts.sort_bits, 32u);
    EXPECT_LE(4 * classify.bytes, gpu().local_struct) << "four work-groups share a compute unit";
    // Orders of 32 bits need no positions: the keys of an integer, and of a float that cannot tie.
    const bool plain = p.payload == Payload::none && info(p.key).bits() <= 32;
    EXPECT_EQ(classify.shorts.composite, !plain) << info(p.key).name;
    p.end_bit = 5;
    EXPECT_TRUE(shape_of(p, gpu()).classify.shorts.composite) << "a range of bits may tie";
    EXPECT_TRUE(shape_of(p, gpu()).blocks.back().composite) << "a range of bits may tie";
    p.segments = many / 10;
    EXPECT_EQ(shape_of(p, gpu()).classify.shorts.longest, 16u) << "short on average";
  }
}

TEST(SegmentedShape, TilesOfLongSegmentsFitLocalMemory) {
  for (const auto& p : problems()) {
    const auto shape = shape_of(p, gpu());
    EXPECT_GE(shape.long_items, 1u);
    EXPECT_LE(shape.long_resident * shape.scatter_bytes, gpu().local_struct);
    EXPECT_EQ(shape.lists.part % (std::uint64_t{shape.long_work_group} * shape.long_items), 0u);
  }
}

TEST(SegmentedShape, LessLocalMemoryMeansFewerClasses) {
  const Problem p = segments_of(KeyType::u64, Payload::values, 8);
  const auto large = shape_of(p, gpu()), small = shape_of(p, gpu(32 << 10));
  EXPECT_LT(small.lists.blocks, large.lists.blocks);
  EXPECT_LT(small.lists.longest(), large.lists.longest());
  EXPECT_LE(small.scatter_bytes, 32u << 10);
  EXPECT_LE(small.classify.bytes, 32u << 10);
  test::expect_error([&] { (void)shape_of(p, gpu(4 << 10)); }, ErrorCode::unsupported,
                     {"local memory", "4096"});
}

TEST(SegmentedShape, ListsHoldAllSegmentsOfAClass) {
  for (const std::uint64_t segments : {std::uint64_t{1}, std::uint64_t{1000}, many}) {
    Problem p = segments_of(KeyType::u32, Payload::none);
    p.segments = segments;
    auto lists = shape_of(p, gpu()).lists;
    ScratchLayout layout;
    lists.lay_out(p, layout);
    for (unsigned k = 1; k < lists.tiny + lists.blocks; ++k) {
      const unsigned shorter = lists.spread && k == lists.tiny ? k - 2 : k - 1;
      const std::uint64_t fit = p.count / (lists.longest_of(shorter) + 1);
      EXPECT_GE(lists.capacity(k, p), std::min(segments, fit)) << "class " << k;
    }
    EXPECT_GE(lists.most_longs, std::min(segments, p.count / (lists.longest() + 1)));
    EXPECT_EQ(lists.begins.size(), lists.tiny + lists.blocks + 1);
  }
}

TEST(SegmentedShape, ItemsHoldKeyAndPosition) {
  const auto items = [](KeyType key, Payload payload) {
    return items_of(segments_of(key, payload), 16, 12);
  };
  EXPECT_FALSE(items(KeyType::u32, Payload::none).composite);
  EXPECT_EQ(items(KeyType::u32, Payload::none).sort_bits, 32u);
  EXPECT_EQ(items(KeyType::u32, Payload::values).sort_bits, 64u);
  EXPECT_FALSE(items(KeyType::u32, Payload::values).wide);
  EXPECT_TRUE(items(KeyType::u64, Payload::values).wide);
  EXPECT_TRUE(items(KeyType::f32, Payload::none).gathers) << "NaN has more than one pattern";
  EXPECT_TRUE(shape_of(segments_of(KeyType::u32, Payload::values), gpu()).tiny_drops);
  EXPECT_FALSE(shape_of(segments_of(KeyType::u32, Payload::none), gpu()).tiny_drops);
}

TEST(SegmentedShape, ParametersAreObeyed) {
  const Problem p = segments_of(KeyType::u32, Payload::none);
  const auto shape = shape_of(p, gpu(), "blocks=2,groups=7");
  EXPECT_EQ(shape.lists.blocks, 2u + shape.lists.spread);
  EXPECT_EQ(shape.groups, 7u);
}

TEST(SegmentedShape, UnsupportedNumbersOfSegmentsAreNamed) {
  for (const std::uint64_t segments : {std::uint64_t{0}, std::uint64_t{1} << 32}) {
    Problem p = segments_of(KeyType::u32, Payload::none);
    p.segments = segments;
    test::expect_error([&] { (void)shape_of(p, gpu()); }, ErrorCode::unsupported,
                       {"segments is", std::to_string(segments)});
    test::expect_error([&] { (void)make_cpu_lists(p, 8); }, ErrorCode::unsupported,
                       {"segments is", std::to_string(segments)});
  }
  auto small = gpu();
  small.max_work_group = 128;
  test::expect_error([&] { (void)shape_of(segments_of(KeyType::u32, Payload::none), small); },
                     ErrorCode::unsupported, {"work-groups of 128"});
}

TEST(SegmentedShape, PartsOfTheCpuVariantAreLong) {
  const Problem p = segments_of(KeyType::u32, Payload::none);
  EXPECT_EQ(make_cpu_lists(p, 8).part, many / 8);
  EXPECT_EQ(make_cpu_lists(p, many).part, 1u << 14);
}

Problem small_problem(KeyType key) {
  Problem p = segments_of(key, Payload::none);
  p.count = 30'000;
  return p;
}

SmallShape small_shape_of(const Problem& p, const Capabilities& device,
                          std::string_view parameters = {}) {
  return make_small_shape(p, device, {parameters, find_algorithm("segmented").info()});
}

TEST(SmallShape, PiecesOfAShareFitTheirWorkGroup) {
  for (const std::uint64_t local_struct : {227u << 10, 48u << 10, 16u << 10})
    for (const std::uint64_t count : {1u, 1000u, 1024u, 1025u, 30'000u, 1u << 17})
      for (auto p : problems()) {
        p.count = count;
        const auto shape = small_shape_of(p, gpu(local_struct));
        EXPECT_LE(shape.block.resident * shape.bytes, local_struct);
        EXPECT_GE(shape.share, 1u);
        EXPECT_LE(shape.share, shape.short_most);
        EXPECT_LE(shape.short_most, shape.piece);
        EXPECT_LE(shape.share + shape.short_most,
                  std::uint64_t{shape.block.work_group} * shape.short_items);
        EXPECT_LE(shape.piece, shape.whole);
        EXPECT_LE(shape.whole, shape.block.work_group * shape.block.items);
        EXPECT_EQ(shape.merges(p), count > shape.whole);
        EXPECT_EQ(shape.gathers, composite(p));
      }
}

TEST(SmallShape, LessLocalMemoryMeansShorterPieces) {
  const Problem p = small_problem(KeyType::u64);
  EXPECT_LT(small_shape_of(p, gpu(16 << 10)).piece, small_shape_of(p, gpu()).piece);
  test::expect_error([&] { (void)small_shape_of(p, gpu(64)); }, ErrorCode::unsupported,
                     {"local memory", "64"});
}

// One launch is enough if no segment can have more records than a work-group sorts.
TEST(SmallShape, WorkGroupsHoldAllRecordsOrSegmentsOfAverageLength) {
  Problem p = segments_of(KeyType::f32, Payload::none);
  const auto capacity = [&](std::uint64_t count, std::uint64_t segments) {
    p.count = count;
    p.segments = segments;
    const Block block = small_shape_of(p, gpu()).block;
    return std::uint64_t{block.work_group} * block.items;
  };
  EXPECT_EQ(capacity(4'608, 3), 4'608u);
  EXPECT_EQ(capacity(4'608, 1'000), 4'608u);
  EXPECT_EQ(capacity(4'608, 1'100), 9'216u) << "a sample for each segment";
  EXPECT_EQ(capacity(4'609, 3), 9'216u);
  EXPECT_EQ(capacity(9'217, 3), 19'456u);
  EXPECT_EQ(capacity(19'456, 1'000), 19'456u);
  EXPECT_EQ(capacity(19'457, 10), 4'608u);
  EXPECT_EQ(capacity(19'457, 1'100), 9'216u) << "a sample for each segment";
  EXPECT_EQ(capacity(64 * 512, 64), 4'608u);
  EXPECT_EQ(capacity(100 * 700, 100), 9'216u) << "a work-item for each record of a segment";
  EXPECT_EQ(capacity(131'072, 64), 4'608u);
  EXPECT_EQ(capacity(131'072, 16), 9'216u);
  EXPECT_EQ(capacity(130'000, 10), 19'456u);
  EXPECT_EQ(capacity(130'000, 1), 9'216u);
}

TEST(SmallShape, RowsThatFitNeedNoMerge) {
  Problem p = small_problem(KeyType::u32);
  EXPECT_TRUE(small_shape_of(p, gpu()).merges(p));
  p.offset_bytes = 0;
  EXPECT_FALSE(small_shape_of(p, gpu()).merges(p));
}

TEST(SmallShape, ParametersAreObeyed) {
  const Problem p = small_problem(KeyType::u32);
  EXPECT_EQ(small_shape_of(p, gpu(), "piece=16384").block.items, 19u);
  EXPECT_EQ(small_shape_of(p, gpu(), "piece=64").piece, 64u);
  test::expect_error([&] { (void)small_shape_of(p, gpu(), "piece=65"); }, ErrorCode::unsupported,
                     {"piece=65", "power of two"});
  test::expect_error([&] { (void)small_shape_of(p, gpu(16 << 10), "piece=8192"); },
                     ErrorCode::unsupported, {"piece=8192", "local memory"});
}

TEST(SmallShape, LargeProblemsAreRefused) {
  Problem p = small_problem(KeyType::u32);
  p.count = 1 << 17;
  EXPECT_TRUE(is_small(p, gpu()));
  p.segments = 1 << 17;
  EXPECT_TRUE(is_small(p, gpu()));
  Problem more_records = p, more_segments = p;
  ++more_records.count;
  ++more_segments.segments;
  for (const auto& large : {more_records, more_segments}) {
    EXPECT_FALSE(is_small(large, gpu()));
    test::expect_error([&] { (void)small_shape_of(large, gpu()); }, ErrorCode::unsupported,
                       {std::to_string(large.count), std::to_string(large.segments)});
  }
}

// Each work-item takes two samples of the segments, and then one segment near a sample.
TEST(SmallShape, FewWorkItemsFindFewerSegments) {
  auto device = gpu();
  device.max_work_group = 64;
  Problem p = small_problem(KeyType::u32);
  p.segments = 2 * 64 * 64;
  EXPECT_TRUE(is_small(p, device));
  ++p.segments;
  EXPECT_FALSE(is_small(p, device));
}

// Short columns are sorted where they are, without scratch memory, if they fill the lanes.
TEST(Columns, AreSortedWhereTheyAre) {
  Capabilities device = gpu();
  device.kind = DeviceKind::gpu;
  device.sub_group_size = 32;
  device.compiles = true;
  const auto needs_scratch = [&](KeyType key, Payload payload, std::uint64_t length,
                                 std::uint64_t stride) {
    return Plan::scratch_bytes_for({.key = key,
                                    .count = 100 * length * stride,
                                    .payload = payload,
                                    .segments = 100 * stride,
                                    .offset_bytes = 0,
                                    .stride = stride},
                                   device) != 0;
  };
  for (const std::uint64_t length : {1, 10, 64, 100, 256})
    EXPECT_FALSE(needs_scratch(KeyType::f32, Payload::none, length, 1000)) << length;
  EXPECT_FALSE(needs_scratch(KeyType::u64, Payload::values, 128, 1000));
  EXPECT_TRUE(needs_scratch(KeyType::u64, Payload::values, 129, 1000));
  EXPECT_TRUE(needs_scratch(KeyType::f32, Payload::none, 257, 1000));
  EXPECT_FALSE(needs_scratch(KeyType::f32, Payload::none, 50, 22));  // 22 of 32 lanes
  EXPECT_TRUE(needs_scratch(KeyType::f32, Payload::none, 50, 21));
  // Places in a matrix must have less than 32 bits.
  EXPECT_TRUE(needs_scratch(KeyType::f32, Payload::none, 100, std::uint64_t{1} << 26));
}

}  // namespace
}  // namespace sortium::segmented
