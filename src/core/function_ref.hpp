// A reference to a callable. Loops and phases take one instead of a template parameter, so that
// they are compiled once and not once for each lambda.
#pragma once

#include <type_traits>
#include <utility>

namespace sortium {

template <class Signature>
class FunctionRef;

// Refers to a callable that must outlive it. Calls it as const.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<F, FunctionRef>>>
  FunctionRef(const F& f)  // NOLINT: a callable may be given instead
      : callable_(&f), call_([](const void* callable, Arguments... arguments) -> Result {
          return (*static_cast<const F*>(callable))(std::forward<Arguments>(arguments)...);
        }) {}
  Result operator()(Arguments... arguments) const {
    return call_(callable_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* callable_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace sortium
