// Compiles the kernels of what is no plain sort: records, companions, distributed sorts. What a
// compiler refuses is a failure of the test that calls.
#pragma once

#include <sortium/permute.hpp>
#include <sortium/plan.hpp>
#include <sortium/records.hpp>
#include <sortium/search.hpp>

#include "algorithms/parts/boundary_partition.hpp"
#include "compiling_device.hpp"
#include "distributed/device_steps.hpp"

namespace sortium::test {

// Makes a call that compiles; reports its error.
template <class Call>
void compile_call(const std::string& what, const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    ADD_FAILURE() << what << ": " << e.what() << '\n' << e.log();
  }
}

// Fields of every kind; elements of every unit; 4- and 8-byte positions.
inline void compile_records(const std::shared_ptr<CompilingDevice>& device) {
  const std::vector<Field> key{
      {0, 1, KeyType::f32, Order::descending, NanOrder::first, ZeroOrder::distinct},
      {1, 0, FieldType::bytes(13)},
      {1, 2, FieldType::i128()},
      {0, 0, KeyType::f64, {}, NanOrder::bits},
      {0, 8, KeyType::u64, {}, {}, {}, 3, 40}};
  for (const std::uint64_t count : {few, many}) {
    for (const unsigned bytes : {1u, 2u, 4u, 6u, 8u, 12u, 16u, 48u})
      for (const auto direction : {Direction::gather, Direction::scatter})
        compile_call(fmt::format("elements of {} bytes", bytes), [&] {
          const Permute permute(device, {direction, count, bytes, count == few ? 4u : 8u});
        });
    compile_call("records", [&] {
      const RecordPlan plan(device, {count, {{16}, {24, Moved::out}}, key});
      EXPECT_EQ(plan.word_bits().size(), 6u);
    });
    for (const unsigned offset_bytes : {0u, 4u, 8u})
      if (offset_bytes != 4 || count == few)
        compile_call("the first records of segments", [&] {
          const RecordPlan first(device, {.count = count / 7 * 7,
                                          .columns = {{4, Moved::out}, {24, Moved::out}},
                                          .key = {{}},
                                          .segments = 7,
                                          .offset_bytes = offset_bytes,
                                          .limit = 3});
        });
  }
}

// Sorts along another axis than the last one: short rows, which are sorted where they are, and long
// ones, which are copied.
inline void compile_strides(const std::shared_ptr<CompilingDevice>& device) {
  for (const auto key : {KeyType::u8, KeyType::i16, KeyType::f32, KeyType::u64})
    for (const auto payload : {Payload::none, Payload::values, Payload::positions})
      for (const std::uint64_t length : {20u, 300u})
        compile_call("columns", [&] {
          const Plan plan(device, {.key = key,
                                   .count = length * 1000,
                                   .payload = payload,
                                   .value_bytes = 8,
                                   .segments = 1000,
                                   .offset_bytes = 0,
                                   .stride = 1000});
        });
}

// Long lists of records, which are sorted by the bits in which they differ.
inline void compile_varying_records(const std::shared_ptr<CompilingDevice>& device) {
  const std::vector<Field> key{{0, 0, KeyType::f32, Order::descending, NanOrder::first},
                               {0, 4, FieldType::bytes(11), Order::descending},
                               {1, 0, KeyType::i16},
                               {1, 2, KeyType::f64}};
  for (const unsigned position_bytes : {0u, 8u})
    compile_call("records by the bits that differ", [&] {
      const RecordPlan plan(device, {.count = 1u << 20,
                                     .columns = {{15}, {10, Moved::out}, {3}},
                                     .key = key,
                                     .position_bytes = position_bytes});
      EXPECT_EQ(plan.word_bits(), (std::vector<unsigned>{64, 64, 64, 8}));
    });
}

inline void compile_companions(const std::shared_ptr<CompilingDevice>& device) {
  for (const Problem& p :
       {Problem{.key = KeyType::u32, .count = few},
        Problem{.key = KeyType::f64, .count = many, .payload = Payload::values, .value_bytes = 8},
        Problem{.key = KeyType::i16,
        .count = many,
        .payload = Payload::values,
        .value_bytes = 8,
        .begin_bit = 3,
        .end_bit = 9}})
    compile_call(std::string(info(p.key).name), [&] {
      const IsSortedPlan is_sorted(device, p);
      const UniquePlan unique(device, p, 8);
      Problem elements = p;
      elements.payload = Payload::values;
      elements.value_bytes = 12;
      const UniquePlan unique_with_elements(device, elements);
      const MergePlan merge(device, p, 10);
      const SearchPlan search(device, p, 100, Bound::upper);
      const NthElementPlan nth_element(device, p, 5);
    });
}

// Distributed sorts of device memory. Their launches match the kernels.
inline void compile_distributed(const std::shared_ptr<CompilingDevice>& device) {
  const auto queue = device->make_queue(false);
  const Memory memory{reinterpret_cast<void*>(1)};
  for (Problem p : compiled_problems) {
    p.keys_out = true;
    compile_call(std::string(info(p.key).name), [&] {
      for (const unsigned boundaries : {3u, 7u, 15u, 31u, 255u}) {
        ScratchLayout layout;
        BoundaryPartition partition(p, device->info().claimed, boundaries, layout);
        partition.build(*device, device->info().claimed);
        if (p.count != few) continue;
        const Operands o{memory, memory, memory, memory, memory};
        const std::vector<std::uint64_t> bounds{5, 7};
        (void)partition.count(*queue, o, bounds);
        partition.scatter(*queue, o, bounds, {}, 0);
      }
      distributed::DeviceSteps steps(device, p);
      (void)steps.ranks_at(*queue, memory, std::vector<std::uint64_t>{0, 1});
      (void)steps.places(*queue, memory, std::vector<distributed::RankSearch>{{1, 0, 2}});
      steps.add_to_positions(*queue, memory, 1, 1);
    });
  }
}

inline void compile_all_calls(const std::shared_ptr<CompilingDevice>& device) {
  compile_records(device);
  compile_varying_records(device);
  compile_companions(device);
  compile_distributed(device);
  EXPECT_GT(device->compilations, 50u);
}

}  // namespace sortium::test
