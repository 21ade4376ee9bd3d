// Devices, queues, plans, and memory of a device.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "module.hpp"

namespace pysortium {

namespace {

using sortium::Buffer, sortium::Capabilities, sortium::Device, sortium::IsSortedPlan,
    sortium::Memory, sortium::MergePlan, sortium::Method, sortium::NthElementPlan, sortium::Plan,
    sortium::Problem, sortium::Queue, sortium::RecordPlan, sortium::SearchPlan, sortium::UniquePlan;

nb::dict facts(const Device& device) {
  const auto& info = device.info();
  nb::dict d;
  d["id"] = info.id;
  d["name"] = info.name;
  d["vendor"] = info.vendor;
  d["driver"] = info.driver;
  d["language"] = info.language;
  d["backend"] = std::string(sortium::name(info.claimed.backend));
  d["kind"] = std::string(sortium::name(info.claimed.kind));
  d["compute_units"] = info.claimed.compute_units;
  d["global_memory"] = info.claimed.global_memory;
  return d;
}

nb::list self_tests(Device& device, const std::string& algorithm) {
  std::vector<sortium::SelfTest> results;
  {
    const nb::gil_scoped_release released;
    results = sortium::self_test(device, algorithm);
  }
  nb::list out;
  for (const auto& r : results) {
    nb::dict d;
    d["algorithm"] = r.algorithm;
    d["key"] = std::string(info(r.problem.key).name);
    d["supported"] = r.supported;
    d["failure"] = r.failure;
    out.append(d);
  }
  return out;
}

// The capabilities of NVIDIA's H200, as its driver reports them and the probe measured them.
Capabilities h200() {
  Capabilities c;
  c.backend = sortium::Backend::cuda;
  c.sub_group_words = sortium::SubGroupWords::cuda;
  c.compute_units = 132;
  c.max_work_group = 1024;
  c.local_memory = 49152;
  c.local_struct = 232448;
  c.forward_progress = c.atomics64 = c.ordered_local_atomics = true;
  c.cluster_groups = 16;
  return c;
}

Method method(std::string algorithm, std::string parameters, std::uint64_t max_scratch_bytes) {
  return {std::move(algorithm), std::move(parameters), max_scratch_bytes};
}

// Enqueues, without the GIL: cpu:0 sorts before the call returns.
template <class AnyPlan, class... Operands>
void run(const AnyPlan& plan, Queue& queue, const Operands&... operands) {
  const nb::gil_scoped_release released;
  plan.run(queue, operands...);
}

// Makes a plan without the GIL: a compiler may run for seconds.
template <class AnyPlan, class... Arguments>
void construct(AnyPlan* at, const Arguments&... arguments) {
  const nb::gil_scoped_release released;
  new (at) AnyPlan(arguments...);
}

void bind_memory(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Memory>(m, "Memory", "A place in a device's memory; owns nothing.")
      .def(
          "__init__",
          [](Memory* at, Address handle, std::uint64_t offset, std::uint64_t bytes) {
            new (at) Memory{out(handle), offset, bytes};
          },
          "handle"_a = 0, "offset"_a = 0, "bytes"_a = 0);
  nb::class_<Buffer>(m, "Buffer", "Memory of a device, freed with the object.")
      .def_prop_ro("handle",
                   [](const Buffer& b) { return reinterpret_cast<Address>(b.memory().handle); });

  nb::class_<Queue>(m, "Queue", "An in-order queue of a device.")
      .def_prop_ro("device", [](Queue& q) { return q.device().shared_from_this(); })
      .def_prop_ro("native", [](const Queue& q) { return reinterpret_cast<Address>(q.native()); })
      .def("finish", &Queue::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("copy",
           [](Queue& q, Memory to, Memory from, std::uint64_t bytes) { q.copy(to, from, bytes); })
      .def("write",
           [](Queue& q, Memory to, Address from, std::uint64_t bytes) {
             const nb::gil_scoped_release released;
             q.write(to, in(from), bytes);
           })
      .def("read", [](Queue& q, Address to, Memory from, std::uint64_t bytes) {
        const nb::gil_scoped_release released;
        q.read(out(to), from, bytes);
      });
  m.def(
      "wrap_cuda",
      [](Address context, Address stream) { return sortium::wrap_cuda(out(context), out(stream)); },
      "context"_a, "stream"_a);
  m.def(
      "wrap_opencl",
      [](Address context, Address queue) { return sortium::wrap_opencl(out(context), out(queue)); },
      "context"_a, "queue"_a);
}

void bind_devices(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Device>(m, "Device", "A device of this machine.")
      .def_prop_ro("facts", &facts)
      .def_prop_ro("context",
                   [](Device& d) { return reinterpret_cast<Address>(d.native_context()); })
      .def_prop_ro("free_memory", &Device::free_memory)
      .def("make_queue", [](Device& d) { return d.make_queue(); })
      .def("allocate", &Device::allocate, "bytes"_a);
  m.def("devices", &sortium::devices, nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "find_device", [](const std::string& spec) { return sortium::find_device(spec); },
      "spec"_a = "", nb::call_guard<nb::gil_scoped_release>());
  m.def("backends", [] {
    nb::list all;
    for (const auto& b : sortium::backends())
      all.append(nb::make_tuple(std::string(sortium::name(b.backend)), b.devices, b.why));
    return all;
  });
  m.def("algorithms", [] {
    nb::list all;
    for (const auto& a : sortium::algorithms()) {
      nb::dict d;
      d["name"] = a.name;
      d["title"] = a.title;
      d["stable"] = a.stable;
      d["partial"] = a.partial;
      d["host"] = a.host;
      all.append(d);
    }
    return all;
  });
  m.def("self_test", &self_tests, "device"_a, "algorithm"_a = "");
}

void bind_plans(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Plan>(m, "Plan", "A sort of one problem on one device.")
      .def(
          "__init__",
          [](Plan* at, const std::shared_ptr<Device>& device, const Problem& p,
             const std::string& algorithm, const std::string& parameters,
             std::uint64_t max_scratch_bytes) {
            construct(at, device, p, method(algorithm, parameters, max_scratch_bytes));
          },
          "device"_a, "problem"_a, "algorithm"_a = "auto", "parameters"_a = "",
          "max_scratch_bytes"_a = 0)
      .def_prop_ro("scratch_bytes", &Plan::scratch_bytes)
      .def_prop_ro("algorithm", [](const Plan& p) { return p.algorithm().name; })
      .def_prop_ro("stable", [](const Plan& p) { return p.algorithm().stable; })
      .def_prop_ro("parameters", &Plan::parameters)
      .def(
          "run",
          [](const Plan& plan, Queue& queue, Memory keys_in, Memory keys_out, Memory values_in,
             Memory values_out, Memory scratch, Memory offsets) {
            run(plan, queue,
                sortium::Operands{keys_in, keys_out, values_in, values_out, scratch, offsets});
          },
          "queue"_a, "keys_in"_a, "keys_out"_a, "values_in"_a, "values_out"_a, "scratch"_a,
          "offsets"_a)
      .def(
          "run_at",
          [](const Plan& plan, Queue& queue, Address keys, Address keys_out, Address positions,
             Address scratch) {
            run(plan, queue,
                sortium::Operands{.keys_in = {out(keys)},
                                  .keys_out = {out(keys_out)},
                                  .values_out = {out(positions)},
                                  .scratch = {out(scratch)}});
          },
          "queue"_a, "keys"_a, "keys_out"_a, "positions"_a, "scratch"_a,
          "Runs on arrays whose sizes the caller vouches for; 0: there is none.");
  m.def(
      "scratch_bytes_for",
      [](const Problem& p, const std::string& backend, const std::string& algorithm,
         std::uint64_t max_scratch_bytes) {
        const Capabilities c =
            backend == "cuda" ? h200() : capabilities(*sortium::find_device("cpu:0"));
        return Plan::scratch_bytes_for(p, c, method(algorithm, "", max_scratch_bytes));
      },
      "problem"_a, "backend"_a, "algorithm"_a = "auto", "max_scratch_bytes"_a = 0);

  nb::class_<RecordPlan>(m, "RecordPlan", "A sort of records on one device.")
      .def(
          "__init__",
          [](RecordPlan* at, const std::shared_ptr<Device>& device, const sortium::RecordProblem& p,
             const std::string& algorithm, const std::string& parameters,
             std::uint64_t max_scratch_bytes) {
            construct(at, device, p, method(algorithm, parameters, max_scratch_bytes));
          },
          "device"_a, "problem"_a, "algorithm"_a = "auto", "parameters"_a = "",
          "max_scratch_bytes"_a = 0)
      .def_prop_ro("scratch_bytes", &RecordPlan::scratch_bytes)
      .def(
          "run",
          [](const RecordPlan& plan, Queue& queue, const std::vector<Memory>& columns_in,
             const std::vector<Memory>& columns_out, Memory positions, Memory scratch,
             Memory offsets) {
            run(plan, queue,
                sortium::RecordOperands{columns_in, columns_out, positions, scratch, offsets});
          },
          "queue"_a, "columns_in"_a, "columns_out"_a, "positions"_a, "scratch"_a, "offsets"_a);
}

void bind_operations(nb::module_& m) {
  using namespace nb::literals;
  using Devices = const std::shared_ptr<Device>&;
  nb::class_<IsSortedPlan>(m, "IsSortedPlan")
      .def("__init__",
           [](IsSortedPlan* at, Devices device, const Problem& p) { construct(at, device, p); })
      .def_prop_ro("scratch_bytes", &IsSortedPlan::scratch_bytes)
      .def("run",
           [](const IsSortedPlan& plan, Queue& queue, Memory keys, Memory result, Memory scratch) {
             run(plan, queue, IsSortedPlan::Operands{keys, result, scratch});
           });
  nb::class_<UniquePlan>(m, "UniquePlan")
      .def("__init__", [](UniquePlan* at, Devices device, const Problem& p,
                          unsigned length_bytes) { construct(at, device, p, length_bytes); })
      .def_prop_ro("scratch_bytes", &UniquePlan::scratch_bytes)
      .def("run", [](const UniquePlan& plan, Queue& queue, Memory keys_in, Memory keys_out,
                     Memory values_in, Memory values_out, Memory lengths, Memory runs,
                     Memory scratch) {
        run(plan, queue,
            UniquePlan::Operands{keys_in, keys_out, values_in, values_out, lengths, runs, scratch});
      });
  nb::class_<MergePlan>(m, "MergePlan")
      .def("__init__", [](MergePlan* at, Devices device, const Problem& p,
                          std::uint64_t a_count) { construct(at, device, p, a_count); })
      .def_prop_ro("scratch_bytes", &MergePlan::scratch_bytes)
      .def("run", [](const MergePlan& plan, Queue& queue, Memory a_keys, Memory b_keys,
                     Memory keys_out, Memory a_values, Memory b_values, Memory values_out,
                     Memory scratch) {
        run(plan, queue,
            MergePlan::Operands{a_keys, b_keys, keys_out, a_values, b_values, values_out, scratch});
      });
  nb::class_<SearchPlan>(m, "SearchPlan")
      .def("__init__",
           [](SearchPlan* at, Devices device, const Problem& p, std::uint64_t needles, bool upper) {
             construct(at, device, p, needles,
                       upper ? sortium::Bound::upper : sortium::Bound::lower);
           })
      .def("run",
           [](const SearchPlan& plan, Queue& queue, Memory keys, Memory needles, Memory places) {
             run(plan, queue, SearchPlan::Operands{keys, needles, places});
           });
}

}  // namespace

void bind_device(nb::module_& m) {
  bind_memory(m);
  bind_devices(m);
  bind_plans(m);
  bind_operations(m);
}

}  // namespace pysortium
