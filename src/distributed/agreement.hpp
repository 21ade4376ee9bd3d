// How ranks learn that one of them failed: each phase ends with one small reduction.
#pragma once

#include <functional>
#include <sortium/distributed.hpp>
#include <string>

namespace sortium::distributed {

// Runs `work`, which must not use the communicator, on every rank. If it throws on any rank, all
// ranks throw an Error that names the first such rank and its message.
void together(Communicator& communicator, const std::function<void()>& work);

// Throws the same Error(invalid_argument) on all ranks unless all pass the same text, which
// describes their call.
void agree_on(Communicator& communicator, const std::string& call);

}  // namespace sortium::distributed
