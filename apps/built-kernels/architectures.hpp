// The GPUs that packages have kernels for.
#pragma once

#include <sortium/device.hpp>
#include <vector>

#include "device/built_kernels.hpp"

namespace builder {

// What the GPUs of an architecture have in common.
struct Architecture {
  sortium::cuda::Target target;
  unsigned local_struct;    // most bytes of a work-group's local memory
  unsigned cluster_groups;  // what the probe finds
  unsigned compute_units;   // of a usual GPU. The kernels are the same for any number.
};

// Sources: CUDA's programming guide for the local memory of a work-group (163, 99 and 227 KB), and
// NVIDIA's data sheets for the compute units.
inline const std::vector<Architecture> architectures{
    {{80}, 166912, 1, 108},        // A100
    {{86}, 101376, 1, 84},         // A40; RTX 4090, L40 and others of sm_89 run these kernels
    {{90}, 232448, 16, 132},       // H100, H200, GH200
    {{100}, 232448, 16, 148},      // B200, GB200
    {{120}, 101376, 8, 170},       // RTX 5090
    {{90, true}, 232448, 16, 132}  // later architectures
};

}  // namespace builder
