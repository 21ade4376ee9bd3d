// A line a room: what registry.cpp lists.
#pragma once

#include "algorithm.hpp"

namespace sortium::rooms {

const Algorithm& bitonic();
const Algorithm& bitonic_local();
const Algorithm& lsd();
const Algorithm& radix();

}  // namespace sortium::rooms
