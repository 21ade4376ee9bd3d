#include <future>
#include <map>
#include <mutex>

#include "embedded.hpp"
#include "kernels.hpp"
#include "probe.hpp"

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

// The source with what the device's language wants in a kernel, in front of its first statement.
// Everything stays on its line, for the compiler's messages. CUDA: KERNEL_BEGIN. OpenCL gives a
// kernel whole buffers, and a sub-buffer for each slice is slow and, with some drivers, unsafe (see
// docs/design.md). So a parameter `GLOBAL T *p` becomes the buffer and the byte where p begins,
// which the kernel puts together.
std::string with_prologues(std::string_view text, Backend backend) {
  std::string out;
  for (auto kernel = text.find("KERNEL"); kernel != text.npos; kernel = text.find("KERNEL")) {
    const auto begin = text.find('(', text.find("void", kernel)) + 1, end = text.find(')', begin);
    const auto body = text.find('{', end) + 1;
    std::string prologue;
    if (backend == Backend::cuda) {
      out += text.substr(0, body);
      prologue = " KERNEL_BEGIN";
    } else {
      out += text.substr(0, begin);
      for (auto at = begin; at < end;) {
        const auto comma = std::min(text.find(',', at), end);
        const auto parameter = text.substr(at, comma - at);
        out += parameter;
        if (const auto star = parameter.find('*'); star != parameter.npos) {
          const auto name = parameter.substr(star + 1);
          out += fmt::format("_buffer, u64 {}_begin", name);
          const auto type =
              parameter.substr(parameter.find("GLOBAL"), star + 1 - parameter.find("GLOBAL"));
          prologue += fmt::format(" {} {} = ({})((GLOBAL const u8 *){}_buffer + {}_begin);", type,
                                  name, type, name, name);
        }
        out += text.substr(comma, 1);
        at = comma + 1;
      }
      out += text.substr(end + 1, body - end - 1);
    }
    out += prologue;
    text.remove_prefix(body);
  }
  return out += text;
}

// For NVIDIA's OpenCL, what KERNEL_RESIDENT(WG, RESIDENT) cannot say there: how many of a compute
// unit's 65536 registers a work-item may have. Left to itself the compiler takes up to 255, and one
// work-group has the unit to itself.
std::string register_bound(unsigned work_items) {
  return work_items == 0 ? ""
                         : fmt::format("//! -cl-nv-maxrregcount={}\n",
                                       std::min(255u, 65536 / work_items / 8 * 8));
}

}  // namespace

std::string full_text(const Capabilities& c, const Source& source, const Defines& defines) {
  Defines device;
  device.set("SG_LANES", std::min(c.sub_group_size, 32u)).set("SG_HARDWARE", c.sub_group_size);
  device.set("SG_NATIVE", int{c.sub_group_words != SubGroupWords::emulated});
  device.set("ORDERED_LOCAL_ATOMICS", int{c.ordered_local_atomics});
  if (c.sub_group_words == SubGroupWords::ptx) device.set("SG_WORDS_PTX", 1);
  if (c.sub_group_words == SubGroupWords::khr) device.set("SG_WORDS_KHR", 1);
  std::string text =
      c.sub_group_words == SubGroupWords::ptx ? register_bound(defines.resident_work_items()) : "";
  text += device.text() + defines.text();
  text +=
      c.backend == Backend::cuda ? embedded::dialect_cuda_h.text : embedded::dialect_opencl_h.text;
  text += embedded::key_order_h.text;
  text += embedded::primitives_cl.text;
  // Compiler errors name the room's own file and line.
  text += fmt::format("\n#line 1 \"{}\"\n", source.name);
  text += with_prologues(source.text, c.backend);
  return text;
}

namespace {

// The modules that were built for a device, for as long as it lives.
struct Modules : Companion {
  std::mutex mutex;
  std::map<std::string, std::shared_future<std::shared_ptr<Module>>> built;  // or being built
  std::once_flag probed;
  Capabilities found;
};

Modules& modules(Device& device) {
  return static_cast<Modules&>(
      device.companion([]() -> std::unique_ptr<Companion> { return std::make_unique<Modules>(); }));
}

std::string device_key(const Device& device) {
  const auto& d = device.info();
  return fmt::format("{}|{}|{}|{}|{}|{}\n", version(), name(d.claimed.backend), d.platform, d.name,
                     d.driver, d.language);
}

std::shared_ptr<Module> load_or_compile(Device& device, const std::string& text) {
  const std::string key = device_key(device) + text;
  std::vector<std::byte> binary;
  if (cache::load(key, binary)) {
    try {
      return device.load(binary);
    } catch (const Error&) {
      // The driver changed under the same name: build anew.
    }
  }
  std::shared_ptr<Module> module = device.compile(text, binary);
  if (!binary.empty()) cache::store(key, binary);
  return module;
}

}  // namespace

std::shared_ptr<Module> build(Device& device, const Capabilities& capabilities,
                              const Source& source, const Defines& defines) {
  auto& cached = modules(device);
  const std::string text = full_text(capabilities, source, defines);
  // A second thread that wants the same kernels waits for them; others are compiled side by side.
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
    auto module = load_or_compile(device, text);
    promise.set_value(module);
    return module;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(cached.mutex);
    cached.built.erase(text);  // it may go better next time
    throw;
  }
}

std::shared_ptr<Module> build_joined(Device& device, const Capabilities& capabilities,
                                     const std::vector<Source>& sources, const Defines& defines) {
  std::string text;
  for (const auto& s : sources)
    text += text.empty() ? std::string(s.text) : fmt::format("#line 1 \"{}\"\n{}", s.name, s.text);
  return build(device, capabilities, {sources.back().name, text}, defines);
}

}  // namespace sortium::kernels

namespace sortium {

const Capabilities& capabilities(Device& device) {
  if (device.info().claimed.backend == Backend::host)
    return device.info().claimed;  // no kernel could find out more
  auto& m = kernels::modules(device);
  std::call_once(m.probed, [&] {
    const std::string key =
        "probe\n" + kernels::device_key(device) + std::string(kernels::embedded::probe_cl.text);
    std::vector<std::byte> kept;
    m.found = device.info().claimed;
    if (kernels::cache::load(key, kept) && kernels::restore(kept, m.found)) return;
    m.found = kernels::probe(device);
    kernels::cache::store(key, kernels::keep(m.found));
  });
  return m.found;
}

}  // namespace sortium
