// Sorts in JAX's compiled programs: handlers that XLA calls through its foreign function interface,
// on its own memory and stream.
#include <xla/ffi/api/ffi.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "module.hpp"

namespace pysortium {

namespace {

namespace ffi = xla::ffi;
using sortium::KeyType, sortium::Payload, sortium::Problem;
using Result = ffi::Result<ffi::AnyBuffer>;

std::optional<KeyType> key_type(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::PRED:
    case ffi::DataType::U8:
      return KeyType::u8;
    case ffi::DataType::U16:
      return KeyType::u16;
    case ffi::DataType::U32:
      return KeyType::u32;
    case ffi::DataType::U64:
      return KeyType::u64;
    case ffi::DataType::S8:
      return KeyType::i8;
    case ffi::DataType::S16:
      return KeyType::i16;
    case ffi::DataType::S32:
      return KeyType::i32;
    case ffi::DataType::S64:
      return KeyType::i64;
    case ffi::DataType::F16:
      return KeyType::f16;
    case ffi::DataType::BF16:
      return KeyType::bf16;
    case ffi::DataType::F32:
      return KeyType::f32;
    case ffi::DataType::F64:
      return KeyType::f64;
    default:
      return std::nullopt;
  }
}

// The sort of the rows of `x`: its last axis. pysortium.jax has checked types and shapes, and that
// x has elements.
Problem problem_of(const ffi::AnyBuffer& x, const ffi::AnyBuffer& result, bool descending,
                   bool positions) {
  const auto key = key_type(x.element_type());
  if (!key)
    throw sortium::Error(sortium::ErrorCode::invalid_argument, "x has a type without an order");
  Problem p{.key = *key, .count = x.element_count()};
  p.order = descending ? sortium::Order::descending : sortium::Order::ascending;
  if (positions) {
    p.payload = Payload::positions;
    p.value_bytes = static_cast<unsigned>(ffi::ByteWidth(result.element_type()));
    p.keys_out = false;
  }
  const std::uint64_t rows = p.count / static_cast<std::uint64_t>(x.dimensions().back());
  if (rows > 1) {
    p.segments = rows;
    p.offset_bytes = 0;
  }
  return p;
}

// XLA must not see exceptions.
template <class Work>
ffi::Error without_exceptions(const Work& work) {
  try {
    work();
    return ffi::Error::Success();
  } catch (const sortium::Error& e) {
    const std::string message = e.log().empty() ? e.what() : e.what() + ("\n" + e.log());
    switch (e.code()) {
      case sortium::ErrorCode::invalid_argument:
        return ffi::Error::InvalidArgument(message);
      case sortium::ErrorCode::out_of_memory:
        return {ffi::ErrorCode::kResourceExhausted, message};
      default:
        return ffi::Error::Internal(message);
    }
  } catch (const std::exception& e) {
    return ffi::Error::Internal(e.what());
  }
}

ffi::Error sort_on_host(ffi::AnyBuffer x, Result result, bool descending, bool positions) {
  return without_exceptions([&] {
    const Problem p = problem_of(x, *result, descending, positions);
    sortium::HostOperands operands{.keys_in = x.untyped_data()};
    (positions ? operands.values_out : operands.keys_out) = result->untyped_data();
    sortium::sort_host(p, operands, {.device = "cpu:0"});
  });
}

struct Ready {
  std::unique_ptr<sortium::Queue> queue;
  std::unique_ptr<sortium::Plan> plan;
};

// Plans by device, stream and problem, so that only the first run of a program builds kernels.
class ReadyPlans {
 public:
  std::shared_ptr<const Ready> get(std::int32_t ordinal, void* stream, const Problem& p) {
    const Key key{ordinal, stream, p.key, p.count, p.payload, p.order, p.value_bytes, p.segments};
    const std::lock_guard lock(mutex_);
    if (const auto found = ready_.find(key); found != ready_.end()) return found->second;
    const auto device = sortium::find_device("cuda:" + std::to_string(ordinal));
    auto made = std::make_shared<Ready>();
    made->plan = std::make_unique<sortium::Plan>(device, p);
    made->queue = sortium::wrap_cuda(device->native_context(), stream);
    if (ready_.size() >= most_kept) ready_.clear();  // what runs now, its callers keep
    return ready_.emplace(key, std::move(made)).first->second;
  }

 private:
  static constexpr std::size_t most_kept = 512;
  using Key = std::tuple<std::int32_t, void*, KeyType, std::uint64_t, Payload, sortium::Order,
                         unsigned, std::uint64_t>;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Ready>> ready_;
};

ffi::Error sort_on_cuda(void* stream, std::int32_t ordinal, ffi::ScratchAllocator scratch,
                        ffi::AnyBuffer x, Result result, bool descending, bool positions) {
  static ReadyPlans& plans = *new ReadyPlans;  // never destroyed: XLA's threads may outlive main()
  return without_exceptions([&] {
    const Problem p = problem_of(x, *result, descending, positions);
    const auto ready = plans.get(ordinal, stream, p);
    sortium::Operands operands{.keys_in = {x.untyped_data()}};
    (positions ? operands.values_out : operands.keys_out) = {result->untyped_data()};
    if (const std::uint64_t bytes = ready->plan->scratch_bytes(); bytes != 0) {
      // XLA refuses alignments over 16 bytes.
      constexpr std::uintptr_t alignment = 512;
      const auto memory = scratch.Allocate(bytes + alignment, 16);
      if (!memory)
        throw sortium::Error(sortium::ErrorCode::out_of_memory,
                             "XLA has no " + std::to_string(bytes) + " bytes for scratch memory");
      const auto address = reinterpret_cast<std::uintptr_t>(*memory);
      operands.scratch = {
          reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment)};
    }
    ready->plan->run(*ready->queue, operands);
  });
}

XLA_FFI_DEFINE_HANDLER(host_handler, sort_on_host,
                       ffi::Ffi::Bind()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<bool>("descending")
                           .Attr<bool>("positions"));
XLA_FFI_DEFINE_HANDLER(cuda_handler, sort_on_cuda,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<void*>>()
                           .Ctx<ffi::DeviceOrdinal>()
                           .Ctx<ffi::ScratchAllocator>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<bool>("descending")
                           .Attr<bool>("positions"));

}  // namespace

void bind_jax(nb::module_& m) {
  m.def(
      "jax_handlers",
      [] {
        nb::dict handlers;
        handlers["cpu"] = nb::capsule(reinterpret_cast<void*>(host_handler));
        handlers["CUDA"] = nb::capsule(reinterpret_cast<void*>(cuda_handler));
        return handlers;
      },
      "The handlers of sorts, by the platform's name.");
}

}  // namespace pysortium
