// Floor 0 in one include, for sources that need most of it.
#pragma once

#include <sortium/algorithm_info.hpp>
#include <sortium/order.hpp>
#include <sortium/problem.hpp>
#include <sortium/types.hpp>
