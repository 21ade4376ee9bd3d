#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends.hpp"

namespace sortium::backend {
namespace {

[[noreturn]] void mismatch(const Kernel& kernel, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("kernel {}: {}", kernel.name(), what));
}

std::string kind(unsigned bytes) {
  return bytes == 0 ? "a pointer to memory" : fmt::format("a number of {} bytes", bytes);
}

}  // namespace

void check_arguments(const Launch& launch) {
  const Kernel& kernel = launch.kernel;
  if (launch.cluster != 1 && (launch.cluster == 0 || launch.groups % launch.cluster != 0))
    mismatch(kernel, fmt::format("clusters of {} work-groups in a launch of {}", launch.cluster,
                                 launch.groups));
  if (kernel.signature() == nullptr)
    mismatch(kernel, "it has no signature; kernels::build makes kernels that can be launched");
  const auto& parameters = kernel.signature()->parameters;
  if (launch.args.size() != parameters.size()) {
    std::vector<std::string_view> names;
    for (const auto& p : parameters) names.push_back(p.name);
    mismatch(kernel, fmt::format("{} arguments; it has {} ({})", launch.args.size(),
                                 parameters.size(), fmt::join(names, ", ")));
  }
  if (parameters.size() > most_arguments)
    mismatch(kernel,
             fmt::format("{} arguments; {} are allowed", parameters.size(), most_arguments));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Arg& given = launch.args[i];
    const auto& wanted = parameters[i];
    if (!kernel.is_parameter(i, given.name))
      mismatch(kernel, fmt::format("argument {} is '{}'; the kernel has '{}' there", i + 1,
                                   given.name, wanted.name));
    const unsigned bytes = given.is_memory ? 0 : given.size;
    if (bytes != wanted.bytes)
      mismatch(kernel, fmt::format("argument '{}' is {}; the kernel has {}", wanted.name,
                                   kind(bytes), kind(wanted.bytes)));
  }
}

}  // namespace sortium::backend

namespace sortium {

void Kernel::declare(std::shared_ptr<const Signature> signature) {
  names_ = std::make_unique<std::atomic<const char*>[]>(signature->parameters.size());
  signature_ = std::move(signature);
}

bool Kernel::compare_name(std::size_t i, const char* name) const {
  if (signature_->parameters[i].name != name) return false;
  names_[i].store(name, std::memory_order_relaxed);
  return true;
}

}  // namespace sortium
