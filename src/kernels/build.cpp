#include <algorithm>

#include "../core/environment.hpp"
#include "device_modules.hpp"
#include "embedded.hpp"
#include "interface.hpp"
#include "kernels.hpp"

namespace sortium::kernels {

Defines& Defines::problem(const Problem& p) {
  const auto& k = info(p.key);
  const unsigned end = p.end_bit == 0 ? k.bits() : p.end_bit;
  return set("KEY_BITS", k.bits())
      .set("KEY_SIGNED", int{k.is_signed})
      .set("KEY_FLOAT", int{k.is_float})
      .set("KEY_INFINITY", k.infinity)
      .set("KEY_NAN", static_cast<int>(p.nan))
      .set("KEY_ZEROS", static_cast<int>(p.zeros))
      .set("KEY_DESCENDING", int{p.order == Order::descending})
      .set("ORDER_SHIFT", p.begin_bit)
      .set("ORDER_BITS", end - p.begin_bit)
      .set("VALUE_BYTES", p.payload == Payload::none ? 0 : p.value_bytes)
      .set("INDEX_BITS", 8 * index_bytes(p.count));
}

Defines& Defines::local_struct(std::string_view type, std::uint64_t bytes) {
  local_bytes_.insert_or_assign(std::string(type), static_cast<unsigned>(bytes));
  return define(fmt::format("{}_BYTES", type), bytes);
}

unsigned Defines::local_bytes(std::string_view type) const {
  const auto found = local_bytes_.find(type);
  return found == local_bytes_.end() ? 0 : found->second;
}

void Defines::note_parameter(std::string_view name) {
  if (std::ranges::find(parameters_, name) != parameters_.end())
    throw Error(ErrorCode::invalid_argument, fmt::format("parameter {} is set twice", name));
  parameters_.emplace_back(name);
}

unsigned index_bytes(std::uint64_t count) { return count < (std::uint64_t{1} << 31) ? 4 : 8; }

std::uint64_t scan_bytes(const Problem& problem, const Capabilities& c, std::uint64_t work_items) {
  const std::uint64_t lanes = std::min(c.sub_group_size, 32u);
  const std::uint64_t words = c.sub_group_words == SubGroupWords::emulated
                                  ? 2 * work_items
                                  : std::max<std::uint64_t>(work_items / lanes, 1);
  return words * index_bytes(problem.count);
}

std::uint64_t rank_bytes(const Capabilities& c, std::uint64_t work_items, std::uint64_t bins) {
  return work_items / std::min(c.sub_group_size, 32u) * (c.ordered_local_atomics ? 1 : 2) * bins *
         4;
}

namespace {

// Returns the two OpenCL parameters that replace a pointer: the buffer, and the offset of the
// pointer's first byte in it.
std::string as_buffer(const KernelText::Parameter& p) {
  const auto before_name = p.text.substr(0, p.text.size() - p.name.size());
  return fmt::format("{}{}_buffer, u64 {}_begin", before_name, p.name, p.name);
}

// Returns the statement that computes the pointer from buffer and offset.
std::string as_pointer(const KernelText::Parameter& p) {
  return fmt::format(" {0} {1} = ({0})((GLOBAL const u8 *){1}_buffer + {1}_begin);", p.type,
                     p.name);
}

std::string opencl_parameters(const KernelText& kernel) {
  std::string out;
  for (const auto& p : kernel.parameters) {
    if (!out.empty()) out += ',';
    out += p.bytes == 0 ? as_buffer(p) : std::string(p.text);
  }
  return out;
}

std::string prologue(const KernelText& kernel, Backend backend) {
  if (backend == Backend::cuda) return " KERNEL_BEGIN";
  std::string out;
  for (const auto& p : kernel.parameters)
    if (p.bytes == 0) out += as_pointer(p);
  return out;
}

// Returns the source with the statements that the device's language needs at the beginning of every
// kernel. Line numbers do not change, so those in the compiler's messages stay right.
//
// OpenCL passes whole buffers to a kernel. A sub-buffer for each slice is slow and, with some
// drivers, unsafe (see docs/design.md). So a parameter `GLOBAL T* p` becomes the buffer and p's
// offset in it.
std::string with_prologues(const Source& source, Backend backend) {
  const auto text = source.text;
  std::string out;
  std::size_t done = 0;
  for (const auto& kernel : find_kernels(source)) {
    if (backend != Backend::cuda) {
      out += text.substr(done, kernel.parameters_begin - done);
      out += opencl_parameters(kernel);
      done = kernel.parameters_end;
    }
    out += text.substr(done, kernel.body - done);
    out += prologue(kernel, backend);
    done = kernel.body;
  }
  return out += text.substr(done);
}

// Returns the first line of a source for OpenCL, which holds compiler options; empty if there are
// none. On NVIDIA's OpenCL, where KERNEL_RESIDENT(WG, RESIDENT) has no effect, an option limits the
// registers of a work-item. A compute unit has 65536 registers. Without the option the compiler
// uses up to 255 for a work-item, so only one work-group fits a compute unit.
std::string options_line(const Capabilities& c, unsigned resident) {
  std::string options;
  if (c.sub_group_words == SubGroupWords::ptx && resident != 0)
    options = fmt::format(" -cl-nv-maxrregcount={}", std::min(255u, 65536 / resident / 8 * 8));
  const char* const more = environment("SORTIUM_OPENCL_OPTIONS");
  if (c.backend == Backend::opencl && more != nullptr && *more != '\0')
    options += fmt::format(" {}", more);
  return options.empty() ? "" : fmt::format("//!{}\n", options);
}

Defines device_words(const Capabilities& c) {
  Defines d;
  d.set("SG_LANES", std::min(c.sub_group_size, 32u)).set("SG_HARDWARE", c.sub_group_size);
  d.set("SG_NATIVE", int{c.sub_group_words != SubGroupWords::emulated});
  d.set("ORDERED_LOCAL_ATOMICS", int{c.ordered_local_atomics});
  if (c.sub_group_words == SubGroupWords::ptx) d.set("SG_WORDS_PTX", 1);
  if (c.sub_group_words == SubGroupWords::khr) d.set("SG_WORDS_KHR", 1);
  return d;
}

}  // namespace

std::string full_text(const Capabilities& c, const std::vector<Source>& sources,
                      const Defines& defines) {
  std::vector<Source> all{embedded::primitives_cl};
  all.insert(all.end(), sources.begin(), sources.end());
  check_parameters(all, defines);
  const bool is_cuda = c.backend == Backend::cuda;
  std::string text = options_line(c, defines.resident_work_items());
  text += device_words(c).text() + defines.text();
  text += is_cuda ? embedded::dialect_cuda_h.text : embedded::dialect_opencl_h.text;
  text += embedded::key_order_h.text;
  for (const auto& source : all)  // compiler errors name the source and its line
    text += fmt::format("\n#line 1 \"{}\"\n{}", source.name, with_prologues(source, c.backend));
  return text;
}

Modules& modules(Device& device) {
  return static_cast<Modules&>(
      device.state([]() -> std::unique_ptr<DeviceState> { return std::make_unique<Modules>(); }));
}

std::string device_key(const Device& device) {
  const auto& d = device.info();
  return fmt::format("{}|{}|{}|{}|{}|{}\n", version(), name(d.claimed.backend), d.platform, d.name,
                     d.driver, d.language);
}

namespace {

// Wraps the device's module, and gives each kernel its signature.
class SignedModule final : public Module {
 public:
  SignedModule(std::unique_ptr<Module> module, Signatures signatures)
      : module_(std::move(module)), signatures_(std::move(signatures)) {}

  std::unique_ptr<Kernel> kernel(const std::string& name) override {
    const auto found = signatures_.find(name);
    if (found == signatures_.end())
      throw Error(ErrorCode::build_failed, fmt::format("no source has a kernel {}", name));
    auto kernel = module_->kernel(name);
    kernel->declare(found->second);
    return kernel;
  }

 private:
  std::unique_ptr<Module> module_;
  Signatures signatures_;
};

std::unique_ptr<Module> load_or_compile(Device& device, const std::string& text) {
  const std::string key = device_key(device) + text;
  std::vector<std::byte> binary;
  if (cache::load(key, binary)) {
    try {
      return device.load(binary);
    } catch (const Error&) {
      // The driver changed but kept its version: compile again.
    }
  }
  auto module = device.compile(text, binary);
  if (!binary.empty()) cache::store(key, binary);
  return module;
}

}  // namespace

std::shared_ptr<Module> build(Device& device, const Capabilities& capabilities,
                              const std::vector<Source>& sources, const Defines& defines) {
  auto& cached = modules(device);
  const std::string text = full_text(capabilities, sources, defines);
  // If two threads need the same kernels, the second waits for the first. Other kernels are
  // compiled concurrently.
  std::promise<std::shared_ptr<Module>> promise;
  {
    std::unique_lock lock(cached.mutex);
    const auto [entry, mine] = cached.built.try_emplace(text);
    if (!mine) {
      const auto theirs = entry->second;
      lock.unlock();
      return theirs.get();
    }
    entry->second = promise.get_future();
  }
  try {
    const auto module =
        std::make_shared<SignedModule>(load_or_compile(device, text), signatures(sources, defines));
    promise.set_value(module);
    return module;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(cached.mutex);
    cached.built.erase(text);  // the next call tries again
    throw;
  }
}

}  // namespace sortium::kernels
