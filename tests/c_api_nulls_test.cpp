// The C interface with null pointers and numbers that no enumeration has: every function refuses
// them, or needs no such argument. A crash is a failure.
#include <gtest/gtest.h>
#include <sortium/distributed.h>
#include <sortium/sortium.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support.hpp"

namespace {

// Replaces an argument by null, or by a number that its enumeration does not have. Returns false if
// it is neither a pointer nor an enumeration.
template <class T>
bool spoil(T& argument) {
  if constexpr (std::is_pointer_v<T>) {
    argument = nullptr;
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    argument = static_cast<T>(77);
    return true;
  } else {
    return false;
  }
}

template <class R, class... P, std::size_t... I>
void call_spoilt(const char* name, R (*function)(P...), const std::tuple<P...>& valid,
                 std::index_sequence<I...>) {
  const auto call = [&](auto index) {
    std::tuple<P...> arguments = valid;
    if (!spoil(std::get<index>(arguments))) return;
    if constexpr (std::is_same_v<R, sortium_status>) {
      const sortium_status status = std::apply(function, arguments);
      EXPECT_TRUE(status == SORTIUM_OK || status == SORTIUM_INVALID_ARGUMENT)
          << name << ", argument " << index << ": " << status << ", " << sortium_last_error();
      if (status != SORTIUM_OK) {
        EXPECT_STRNE(sortium_last_error(), "") << name << ", argument " << index;
      }
    } else {
      std::apply(function, arguments);
    }
  };
  (call(std::integral_constant<std::size_t, I>()), ...);
}

// Calls a function with each argument in turn spoilt.
template <class R, class... P>
void call_spoilt(const char* name, R (*function)(P...), std::type_identity_t<P>... valid) {
  call_spoilt(name, function, std::tuple<P...>(valid...), std::index_sequence_for<P...>());
}
#define SPOILT(function, ...) call_spoilt(#function, function, __VA_ARGS__)

// Valid arguments for all functions.
class CNulls : public testing::Test {
 protected:
  static constexpr unsigned count = 40;

  void SetUp() override {
    sortium_problem_init(&problem_);
    problem_.count = count;
    problem_.payload = SORTIUM_VALUES;
    keys_only_ = problem_;
    keys_only_.payload = SORTIUM_NO_PAYLOAD;
    sortium_field_init(&field_);
    sortium_record_problem_init(&records_);
    records_.count = count;
    records_.columns = &column_;
    records_.column_count = 1;
    records_.key = &field_;
    records_.field_count = 1;
    options_.device = spec_.c_str();
    ASSERT_EQ(sortium_device_find(options_.device, &device_), SORTIUM_OK);
    ASSERT_EQ(sortium_queue_create(device_, 0, &queue_), SORTIUM_OK);
    for (auto& buffer : buffers_)
      ASSERT_EQ(sortium_buffer_create(device_, 1 << 20, &buffer), SORTIUM_OK);
    for (unsigned i = 0; i < count; ++i) a_[i] = b_[i] = i;
  }
  void TearDown() override {
    for (auto* buffer : buffers_) sortium_buffer_release(buffer);
    sortium_queue_release(queue_);
    sortium_device_release(device_);
  }
  [[nodiscard]] sortium_memory memory(std::size_t i) const {
    return sortium_buffer_memory(buffers_[i]);
  }

  const std::string spec_ = sortium::test::test_device()->info().id;
  std::array<std::uint32_t, count> a_{}, b_{}, c_{}, d_{}, e_{};
  std::uint32_t offsets_[2] = {0, count};
  const void* in_[1] = {a_.data()};
  void* out_[1] = {b_.data()};
  std::uint64_t number_ = 0;
  sortium_problem problem_{}, keys_only_{};
  sortium_field field_{};
  sortium_column column_{4, SORTIUM_MOVED_IN_PLACE};
  sortium_record_problem records_{};
  sortium_options options_{};
  sortium_device* device_ = nullptr;
  sortium_queue* queue_ = nullptr;
  std::array<sortium_buffer*, 10> buffers_{};
};

TEST_F(CNulls, Structures) {
  SPOILT(sortium_problem_init, &problem_);
  SPOILT(sortium_field_init, &field_);
  SPOILT(sortium_record_problem_init, &records_);
  sortium_capabilities capabilities;
  SPOILT(sortium_capabilities_init, &capabilities);
  sortium_communicator communicator;
  SPOILT(sortium_communicator_init, &communicator);
}

TEST_F(CNulls, HostMemory) {
  SPOILT(sortium_sort, SORTIUM_U32, a_.data(), count, SORTIUM_ASCENDING, &options_);
  SPOILT(sortium_sort_pairs, SORTIUM_U32, a_.data(), b_.data(), 4, count, SORTIUM_ASCENDING,
         &options_);
  SPOILT(sortium_argsort, SORTIUM_U32, a_.data(), b_.data(), 4, count, SORTIUM_ASCENDING,
         &options_);
  SPOILT(sortium_sort_host, &problem_, a_.data(), b_.data(), c_.data(), d_.data(), &options_);
  problem_.segments = 1;
  SPOILT(sortium_sort_segments_host, &problem_, a_.data(), b_.data(), c_.data(), d_.data(),
         offsets_, &options_);
  SPOILT(sortium_topk, SORTIUM_U32, a_.data(), count, 3, b_.data(), SORTIUM_ASCENDING, &options_);
  SPOILT(sortium_topk_pairs, SORTIUM_U32, a_.data(), b_.data(), 4, count, 3, c_.data(), d_.data(),
         SORTIUM_ASCENDING, &options_);
  SPOILT(sortium_argtopk, SORTIUM_U32, a_.data(), b_.data(), 4, count, 3, SORTIUM_ASCENDING,
         &options_);
}

TEST_F(CNulls, Operations) {
  SPOILT(sortium_is_sorted, &keys_only_, a_.data(), &number_, &options_);
  SPOILT(sortium_unique, &problem_, a_.data(), b_.data(), c_.data(), d_.data(), e_.data(), 4,
         &number_, &options_);
  SPOILT(sortium_merge, &problem_, count / 2, a_.data(), a_.data(), b_.data(), c_.data(), c_.data(),
         d_.data(), &options_);
  SPOILT(sortium_search, &keys_only_, a_.data(), b_.data(), count, c_.data(), SORTIUM_LOWER_BOUND,
         &options_);
  SPOILT(sortium_nth_element, &problem_, 3, a_.data(), b_.data(), c_.data(), d_.data(), &options_);
  SPOILT(sortium_gather, a_.data(), offsets_, b_.data(), 1, 4, 4, count, &options_);
  SPOILT(sortium_scatter, a_.data(), offsets_, b_.data(), 1, 4, 4, count, &options_);
}

TEST_F(CNulls, Records) {
  SPOILT(sortium_sort_records, a_.data(), 4, count, &field_, 1, &options_);
  SPOILT(sortium_sort_records_host, &records_, in_, out_, c_.data(), &options_);
  SPOILT(sortium_topk_records, a_.data(), 4, count, &field_, 1, 3, b_.data(), &options_);
  auto segments = records_;
  segments.segments = 1;
  SPOILT(sortium_sort_record_segments_host, &segments, in_, out_, c_.data(), offsets_, &options_);
  // Members that are null, and numbers that are none.
  for (const unsigned wrong : {0u, 1u, 2u, 3u, 4u, 5u, 6u}) {
    auto problem = records_;
    auto field = field_;
    auto column = column_;
    const void* null_in[1] = {nullptr};
    problem.key = &field;
    problem.columns = &column;
    if (wrong == 0) problem.columns = nullptr;
    if (wrong == 1) problem.key = nullptr;
    if (wrong == 2) field.type = 77;
    if (wrong == 3) field.column = ~0u;
    if (wrong == 4) column.moved = static_cast<sortium_moved>(77);
    if (wrong == 5) problem.column_count = ~std::size_t{0};
    EXPECT_EQ(
        sortium_sort_records_host(&problem, wrong == 6 ? null_in : in_, out_, nullptr, &options_),
        SORTIUM_INVALID_ARGUMENT)
        << wrong;
  }
}

TEST_F(CNulls, Enumerations) {
  const auto refuses = [&](auto sortium_problem::*member) {
    auto problem = keys_only_;
    problem.key = SORTIUM_F32;
    spoil(problem.*member);
    EXPECT_EQ(sortium_sort_host(&problem, a_.data(), b_.data(), nullptr, nullptr, &options_),
              SORTIUM_INVALID_ARGUMENT);
    sortium_plan* plan = nullptr;
    EXPECT_EQ(sortium_plan_create(device_, &problem, &options_, &plan), SORTIUM_INVALID_ARGUMENT);
    EXPECT_EQ(plan, nullptr);
  };
  refuses(&sortium_problem::key);
  refuses(&sortium_problem::payload);
  refuses(&sortium_problem::order);
  refuses(&sortium_problem::nan);
  refuses(&sortium_problem::zeros);
  sortium_capabilities capabilities;
  const auto refuses_capability = [&](auto sortium_capabilities::*member) {
    sortium_capabilities_init(&capabilities);
    spoil(capabilities.*member);
    EXPECT_EQ(sortium_plan_scratch_bytes_for(&problem_, &capabilities, nullptr, &number_),
              SORTIUM_INVALID_ARGUMENT);
  };
  refuses_capability(&sortium_capabilities::backend);
  refuses_capability(&sortium_capabilities::kind);
  refuses_capability(&sortium_capabilities::sub_group_words);
}

TEST_F(CNulls, DevicesAndQueues) {
  sortium_device* found = nullptr;
  SPOILT(sortium_device_at, 0, &found);
  SPOILT(sortium_device_find, options_.device, &found);
  sortium_device_release(found);
  SPOILT(sortium_device_id, device_);
  SPOILT(sortium_device_name, device_);
  sortium_capabilities capabilities;
  SPOILT(sortium_device_capabilities, device_, &capabilities);
  sortium_buffer* buffer = nullptr;
  SPOILT(sortium_buffer_create, device_, 8, &buffer);
  EXPECT_EQ(buffer, nullptr);
  SPOILT(sortium_buffer_memory, buffers_[0]);
  sortium_queue* queue = nullptr;
  SPOILT(sortium_queue_create, device_, 0, &queue);
  EXPECT_EQ(queue, nullptr);
  SPOILT(sortium_queue_device, queue_, &found);
  SPOILT(sortium_queue_write, queue_, memory(0), a_.data(), sizeof a_);
  SPOILT(sortium_queue_read, queue_, a_.data(), memory(0), sizeof a_);
  SPOILT(sortium_queue_finish, queue_);
  EXPECT_EQ(sortium_queue_wrap_opencl(nullptr, nullptr, &queue), SORTIUM_INVALID_ARGUMENT);
  EXPECT_NE(sortium_queue_wrap_cuda(nullptr, nullptr, &queue), SORTIUM_OK);
  // Device memory that is none.
  const sortium_memory none{};
  EXPECT_EQ(sortium_queue_write(queue_, none, a_.data(), sizeof a_), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_queue_read(queue_, a_.data(), none, sizeof a_), SORTIUM_INVALID_ARGUMENT);
  const auto short_memory = [&] {
    auto m = memory(0);
    m.bytes = sizeof a_ - 1;
    return m;
  }();
  EXPECT_EQ(sortium_queue_write(queue_, short_memory, a_.data(), sizeof a_),
            SORTIUM_INVALID_ARGUMENT);
  EXPECT_STREQ(sortium_last_error(), "to has 159 bytes; 160 are needed");
  EXPECT_EQ(sortium_queue_read(queue_, a_.data(), short_memory, sizeof a_),
            SORTIUM_INVALID_ARGUMENT);
  sortium_verdict verdict;
  SPOILT(sortium_verify, queue_, &keys_only_, memory(0), memory(1), 0, &verdict);
  EXPECT_EQ(sortium_verify(queue_, &keys_only_, none, none, 0, &verdict), SORTIUM_INVALID_ARGUMENT);
}

TEST_F(CNulls, Plans) {
  sortium_plan* plan = nullptr;
  sortium_capabilities capabilities;
  sortium_capabilities_init(&capabilities);
  SPOILT(sortium_plan_scratch_bytes_for, &problem_, &capabilities, &options_, &number_);
  SPOILT(sortium_record_plan_scratch_bytes_for, &records_, &capabilities, &options_, &number_);
  ASSERT_EQ(sortium_plan_create(device_, &keys_only_, nullptr, &plan), SORTIUM_OK);
  SPOILT(sortium_plan_scratch_bytes, plan);
  SPOILT(sortium_plan_algorithm, plan);
  SPOILT(sortium_plan_parameters, plan);
  SPOILT(sortium_plan_run_length, plan);
  sortium_operands operands{};
  operands.keys_in = memory(0);
  operands.keys_out = memory(1);
  operands.scratch = memory(2);
  SPOILT(sortium_plan_run, plan, queue_, &operands);
  std::size_t phases = 0;
  sortium_phase phase;
  EXPECT_NE(sortium_plan_profile(nullptr, queue_, &operands, &phase, 1, &phases), SORTIUM_OK);
  EXPECT_NE(sortium_plan_profile(plan, nullptr, &operands, &phase, 1, &phases), SORTIUM_OK);
  EXPECT_NE(sortium_plan_profile(plan, queue_, nullptr, &phase, 1, &phases), SORTIUM_OK);
  EXPECT_NE(sortium_plan_profile(plan, queue_, &operands, nullptr, 1, &phases), SORTIUM_OK);
  EXPECT_NE(sortium_plan_profile(plan, queue_, &operands, &phase, 1, nullptr), SORTIUM_OK);
  operands.keys_in = {};
  EXPECT_EQ(sortium_plan_run(plan, queue_, &operands), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_queue_finish(queue_), SORTIUM_OK);
  sortium_plan_release(plan);

  sortium_record_plan* record_plan = nullptr;
  ASSERT_EQ(sortium_record_plan_create(device_, &records_, nullptr, &record_plan), SORTIUM_OK);
  SPOILT(sortium_record_plan_scratch_bytes, record_plan);
  SPOILT(sortium_record_plan_algorithm, record_plan);
  const sortium_memory columns[1] = {memory(0)};
  sortium_record_operands record_operands{columns, nullptr, {}, memory(2), {}};
  SPOILT(sortium_record_plan_run, record_plan, queue_, &record_operands);
  record_operands.columns_in = nullptr;
  EXPECT_EQ(sortium_record_plan_run(record_plan, queue_, &record_operands),
            SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_queue_finish(queue_), SORTIUM_OK);
  sortium_record_plan_release(record_plan);
  for (auto* none : {static_cast<const sortium_problem*>(nullptr)})
    EXPECT_EQ(sortium_plan_create(device_, none, nullptr, &plan), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_plan_create(nullptr, &problem_, nullptr, &plan), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_plan_create(device_, &problem_, nullptr, nullptr), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_record_plan_create(device_, &records_, nullptr, nullptr),
            SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_record_plan_create(nullptr, &records_, nullptr, &record_plan),
            SORTIUM_INVALID_ARGUMENT);

  const sortium_permute_problem permute_problem{SORTIUM_GATHER, 1, 4, 4, count};
  sortium_permute* permute = nullptr;
  EXPECT_EQ(sortium_permute_create(nullptr, &permute_problem, &permute), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_permute_create(device_, nullptr, &permute), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_permute_create(device_, &permute_problem, nullptr), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_permute_run(nullptr, queue_, memory(0), memory(1), memory(2)),
            SORTIUM_INVALID_ARGUMENT);
}

TEST_F(CNulls, Companions) {
  sortium_companion* companion = nullptr;
  EXPECT_EQ(sortium_companion_is_sorted(device_, &keys_only_, nullptr), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_companion_is_sorted(device_, nullptr, &companion), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_companion_is_sorted(nullptr, &keys_only_, &companion),
            SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_companion_unique(nullptr, &keys_only_, 4, &companion),
            SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_companion_merge(nullptr, &keys_only_, 1, &companion), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(
      sortium_companion_search(device_, &keys_only_, 1, static_cast<sortium_bound>(77), &companion),
      SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_companion_nth_element(nullptr, &keys_only_, 1, &companion),
            SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(companion, nullptr);
  ASSERT_EQ(sortium_companion_is_sorted(device_, &keys_only_, &companion), SORTIUM_OK);
  SPOILT(sortium_companion_scratch_bytes, companion);
  sortium_companion_operands operands{};
  EXPECT_EQ(sortium_companion_run(companion, queue_, &operands), SORTIUM_INVALID_ARGUMENT);
  operands.keys_in = memory(0);
  operands.result = memory(1);
  operands.scratch = memory(2);
  SPOILT(sortium_companion_run, companion, queue_, &operands);
  EXPECT_EQ(sortium_queue_finish(queue_), SORTIUM_OK);
  sortium_companion_release(companion);
  sortium_companion_release(nullptr);
  sortium_permute_release(nullptr);
  sortium_record_plan_release(nullptr);
}

TEST_F(CNulls, AlgorithmsAndSelfTests) {
  sortium_algorithm algorithm;
  SPOILT(sortium_algorithm_at, 0, &algorithm);
  EXPECT_EQ(sortium_algorithm_at(~std::size_t{0}, &algorithm), SORTIUM_NOT_FOUND);
  const sortium_self_test_result* results = nullptr;
  std::size_t tests = 0;
  const char* const name = std::string_view(spec_) == "cpu:0" ? "sample" : "lsd";
  EXPECT_EQ(sortium_self_test(nullptr, name, &results, &tests), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_self_test(device_, name, nullptr, &tests), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_self_test(device_, name, &results, nullptr), SORTIUM_INVALID_ARGUMENT);
}

int no_work(const sortium_communicator*, void*) { return 0; }

TEST_F(CNulls, Ranks) {
  sortium_communicator alone;
  sortium_communicator_init(&alone);
  std::uint64_t begin = 0, part = 0;
  SPOILT(sortium_distributed_part, &alone, count, SORTIUM_BALANCE_EVEN, &begin, &part);
  SPOILT(sortium_distributed_sort_host, &alone, &problem_, SORTIUM_BALANCE_KEPT, a_.data(),
         b_.data(), c_.data(), d_.data(), &options_);
  SPOILT(sortium_distributed_sort_records_host, &alone, &records_, SORTIUM_BALANCE_KEPT, in_, out_,
         c_.data(), &options_);
  SPOILT(sortium_run_ranks, 1, no_work, nullptr, 10.0);
  sortium_communicator nccl;
  EXPECT_EQ(sortium_nccl_communicator_create(&alone, "cpu:0", 10.0, nullptr),
            SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_nccl_communicator_create(&alone, nullptr, 10.0, &nccl),
            SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_nccl_communicator_create(nullptr, "cpu:0", 10.0, &nccl),
            SORTIUM_INVALID_ARGUMENT);
  sortium_communicator_init(&nccl);
  sortium_nccl_communicator_release(&nccl);  // was never created
  sortium_nccl_communicator_release(nullptr);
  sortium_device_sorter* sorter = nullptr;
  EXPECT_EQ(sortium_device_sorter_create(nullptr, device_, &sorter), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_device_sorter_create(&alone, nullptr, &sorter), SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_device_sorter_create(&alone, device_, nullptr), SORTIUM_INVALID_ARGUMENT);
  const sortium_operands none{};
  SPOILT(sortium_device_sorter_sort, nullptr, queue_, &problem_, SORTIUM_BALANCE_KEPT, &none,
         &options_);
  const sortium_record_operands no_records{};
  SPOILT(sortium_device_sorter_sort_records, nullptr, queue_, &records_, SORTIUM_BALANCE_KEPT,
         &no_records, &options_);
  EXPECT_EQ(sortium_device_sorter_memory_bytes(nullptr), 0u);
  sortium_device_sorter_release(nullptr);
  alone.size = 2;  // without functions
  EXPECT_EQ(sortium_distributed_part(&alone, count, SORTIUM_BALANCE_EVEN, &begin, &part),
            SORTIUM_INVALID_ARGUMENT);
  alone.rank = 5;
  EXPECT_EQ(sortium_distributed_part(&alone, count, SORTIUM_BALANCE_EVEN, &begin, &part),
            SORTIUM_INVALID_ARGUMENT);
  EXPECT_EQ(sortium_run_ranks(0, no_work, nullptr, 10.0), SORTIUM_INVALID_ARGUMENT);
}

}  // namespace
