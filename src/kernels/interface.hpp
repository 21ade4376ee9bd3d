// The interface of a kernel source: its kernels with their parameters, and the defines that the
// host must set. Read once from the source text when a module is built.
#pragma once

#include <map>
#include <sortium/device.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kernels.hpp"

namespace sortium::kernels {

// A kernel as it stands in a source text. Positions count characters from the text's start.
struct KernelText {
  struct Parameter {
    std::string_view text;  // "GLOBAL const ukey_t* keys"
    std::string_view type;  // "GLOBAL const ukey_t*"
    std::string_view name;  // "keys"
    unsigned bytes;         // 4 or 8 for a number; 0: a pointer
  };
  std::string name;
  std::vector<Parameter> parameters;
  std::string_view local_struct;  // the type of its LOCAL_STRUCT; empty if it has none
  std::size_t parameters_begin;   // the position after the "("
  std::size_t parameters_end;     // the position of the ")"
  std::size_t body;               // the position after the "{"
};

// Returns the kernels of `source` in the order of the text. Throws Error(build_failed) naming the
// source, kernel and parameter if a parameter is not a `GLOBAL` pointer, u32 or u64, if a macro
// makes the kernel's name, or if a kernel has two LOCAL_STRUCTs: CUDA would put both at the same
// address.
[[nodiscard]] std::vector<KernelText> find_kernels(const Source& source);

using Signatures = std::map<std::string, std::shared_ptr<const Signature>, std::less<>>;

// The signatures of all kernels in `sources`. `defines` states the bytes of each LOCAL_STRUCT.
[[nodiscard]] Signatures signatures(const std::vector<Source>& sources, const Defines& defines);

// Compares the lines PARAMETER(NAME) of `sources` with `defines`. Throws Error(build_failed) naming
// the source and the parameter if a parameter is not defined, or if no source declares a define.
void check_parameters(const std::vector<Source>& sources, const Defines& defines);

}  // namespace sortium::kernels
