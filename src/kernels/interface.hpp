// What a kernel source declares to the host: its kernels with their parameters, and the defines
// that it must be given. Read once from the source text when a module is built.
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
    unsigned bytes;         // of a number: 4 or 8; 0: a pointer
  };
  std::string name;
  std::vector<Parameter> parameters;
  std::string_view local_struct;  // the type of its LOCAL_STRUCT; empty: it has none
  std::size_t parameters_begin;   // behind the "("
  std::size_t parameters_end;     // at the ")"
  std::size_t body;               // behind the "{"
};

// The kernels of `source` in the order of their text. Throws Error(build_failed) naming the source,
// kernel and parameter for a parameter that is no `GLOBAL` pointer, u32 or u64, for a name that a
// macro makes, and for a second LOCAL_STRUCT in one kernel: CUDA would put both at one place.
[[nodiscard]] std::vector<KernelText> find_kernels(const Source& source);

using Signatures = std::map<std::string, std::shared_ptr<const Signature>, std::less<>>;

// The signatures of all kernels in `sources`. `defines` has the bytes of each LOCAL_STRUCT.
[[nodiscard]] Signatures signatures(const std::vector<Source>& sources, const Defines& defines);

// Compares the lines PARAMETER(NAME) of `sources` with `defines`. Throws Error(build_failed) naming
// the source and the parameter if one is not defined, or if a define is nobody's parameter.
void check_parameters(const std::vector<Source>& sources, const Defines& defines);

}  // namespace sortium::kernels
