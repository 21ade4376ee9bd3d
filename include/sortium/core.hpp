// The headers that know no devices, in one: types, order of keys, problem, algorithm's info.
#pragma once

#include <sortium/algorithm_info.hpp>
#include <sortium/order.hpp>
#include <sortium/problem.hpp>
#include <sortium/types.hpp>
