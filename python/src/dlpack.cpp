// DLPack capsules of version 1 and earlier: reads a producer's capsules and makes our own.
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>

#include "module.hpp"

namespace pysortium {

namespace {

// The structures of dlpack.h 1.0, whose layout is an ABI. https://dmlc.github.io/dlpack
struct DlDevice {
  std::int32_t type, id;
};
struct DlType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t dimensions;
  DlType type;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};
struct DlVersioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(DlVersioned*);
  std::uint64_t flags;
  DlTensor tensor;
};
constexpr std::uint64_t flag_read_only = 1;
constexpr const char *name_versioned = "dltensor_versioned", *name_before = "dltensor",
                     *name_versioned_used = "used_dltensor_versioned",
                     *name_before_used = "used_dltensor";

// The tensor that a producer handed over. The destructor releases it.
class Imported {
 public:
  explicit Imported(nb::handle capsule) {
    if (PyCapsule_IsValid(capsule.ptr(), name_versioned)) {
      versioned_ = static_cast<DlVersioned*>(PyCapsule_GetPointer(capsule.ptr(), name_versioned));
      if (versioned_->major != 1) {
        versioned_ = nullptr;
        throw nb::buffer_error("the DLPack capsule is of a version that is not 1");
      }
      PyCapsule_SetName(capsule.ptr(), name_versioned_used);
    } else if (PyCapsule_IsValid(capsule.ptr(), name_before)) {
      before_ = static_cast<DlManaged*>(PyCapsule_GetPointer(capsule.ptr(), name_before));
      PyCapsule_SetName(capsule.ptr(), name_before_used);
    } else {
      throw nb::buffer_error("__dlpack__ returned no unused DLPack capsule");
    }
  }
  Imported(const Imported&) = delete;
  Imported& operator=(const Imported&) = delete;
  ~Imported() {
    if (versioned_ != nullptr && versioned_->deleter != nullptr) versioned_->deleter(versioned_);
    if (before_ != nullptr && before_->deleter != nullptr) before_->deleter(before_);
  }

  [[nodiscard]] const DlTensor& tensor() const {
    return versioned_ != nullptr ? versioned_->tensor : before_->tensor;
  }
  [[nodiscard]] bool is_read_only() const {
    return versioned_ != nullptr && (versioned_->flags & flag_read_only) != 0;
  }
  [[nodiscard]] std::vector<std::int64_t> shape() const {
    return {tensor().shape, tensor().shape + tensor().dimensions};
  }
  // Returns the strides in elements; nothing if the producer omits them, as for contiguous arrays.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> strides() const {
    if (tensor().strides == nullptr) return std::nullopt;
    return std::vector<std::int64_t>(tensor().strides, tensor().strides + tensor().dimensions);
  }

 private:
  DlVersioned* versioned_ = nullptr;
  DlManaged* before_ = nullptr;
};

// The memory of an exported capsule: its shape, and the object that owns the data.
struct Exported {
  DlVersioned versioned{};
  DlManaged before{};
  std::vector<std::int64_t> shape, strides;
  PyObject* owner = nullptr;

  ~Exported() {
    const nb::gil_scoped_acquire held;  // consumers release from any thread
    Py_XDECREF(owner);
  }
};

std::unique_ptr<Exported> exported(Address data, std::vector<std::int64_t> shape, DlType type,
                                   DlDevice device, nb::handle owner) {
  auto e = std::make_unique<Exported>();
  e->shape = std::move(shape);
  e->strides.assign(e->shape.size(), 1);
  for (std::size_t d = e->shape.size(); d > 1; --d)
    e->strides[d - 2] = e->strides[d - 1] * e->shape[d - 1];
  const DlTensor tensor{out(data), device,          static_cast<std::int32_t>(e->shape.size()),
                        type,      e->shape.data(), e->strides.data(),
                        0};
  e->versioned = {
      1, 0, e.get(), [](DlVersioned* v) { delete static_cast<Exported*>(v->context); }, 0, tensor};
  e->before = {tensor, e.get(), [](DlManaged* d) { delete static_cast<Exported*>(d->context); }};
  e->owner = owner.inc_ref().ptr();
  return e;
}

// Deletes the tensor of a capsule that no consumer took.
void drop(PyObject* capsule) {
  for (const char* name : {name_versioned, name_before})
    if (PyCapsule_IsValid(capsule, name))
      delete static_cast<Exported*>(PyCapsule_GetContext(capsule));
}

nb::object make_capsule(Address data, std::vector<std::int64_t> shape, std::uint8_t code,
                        std::uint8_t bits, std::int32_t device_type, std::int32_t device_id,
                        nb::handle owner, bool versioned) {
  auto e = exported(data, std::move(shape), {code, bits, 1}, {device_type, device_id}, owner);
  void* const content = versioned ? static_cast<void*>(&e->versioned) : &e->before;
  nb::object capsule =
      nb::steal(PyCapsule_New(content, versioned ? name_versioned : name_before, drop));
  if (!capsule.is_valid()) throw nb::python_error();
  PyCapsule_SetContext(capsule.ptr(), e.release());
  return capsule;
}

}  // namespace

void bind_dlpack(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Imported>(m, "Imported", "A producer's tensor, given back with the object.")
      .def(nb::init<nb::handle>(), "capsule"_a)
      .def_prop_ro("data",
                   [](const Imported& i) {
                     return reinterpret_cast<Address>(i.tensor().data) + i.tensor().byte_offset;
                   })
      .def_prop_ro("shape", [](const Imported& i) { return nb::tuple(nb::cast(i.shape())); })
      .def_prop_ro("strides",
                   [](const Imported& i) -> nb::object {
                     const auto strides = i.strides();
                     return strides ? nb::object(nb::tuple(nb::cast(*strides))) : nb::none();
                   })
      .def_prop_ro("code", [](const Imported& i) { return i.tensor().type.code; })
      .def_prop_ro("bits", [](const Imported& i) { return i.tensor().type.bits; })
      .def_prop_ro("lanes", [](const Imported& i) { return i.tensor().type.lanes; })
      .def_prop_ro("device",
                   [](const Imported& i) {
                     return nb::make_tuple(i.tensor().device.type, i.tensor().device.id);
                   })
      .def_prop_ro("read_only", &Imported::is_read_only);
  m.def("dlpack_capsule", &make_capsule, "data"_a, "shape"_a, "code"_a, "bits"_a, "device_type"_a,
        "device_id"_a, "owner"_a, "versioned"_a);
}

}  // namespace pysortium
