#include "report/javascript.hpp"

#include <duktape.h>
#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <stdexcept>

namespace app {

Javascript::Javascript()
    : context_(duk_create_heap(nullptr, nullptr, nullptr, nullptr,
                               [](void*, const char*) { std::abort(); })) {
  if (context_ == nullptr) throw std::bad_alloc();
  // Libraries request a timer for animations, which a still picture does not have.
  run("timers", "function setTimeout() {}");
}
Javascript::~Javascript() { duk_destroy_heap(context_); }

void Javascript::fail(const char* what) {
  const std::string message = duk_safe_to_stacktrace(context_, -1);
  duk_set_top(context_, 0);
  throw std::runtime_error(fmt::format("{}: {}", what, message));
}

void Javascript::run(const char* name, const std::string& source) {
  duk_push_string(context_, name);
  if (duk_pcompile_lstring_filename(context_, 0, source.data(), source.size()) != 0 ||
      duk_pcall(context_, 0) != 0)
    fail(name);
  duk_pop(context_);
}

std::string Javascript::call(const char* object, const char* function,
                             std::initializer_list<std::string> arguments) {
  duk_get_global_string(context_, object);
  duk_push_string(context_, function);
  for (const auto& argument : arguments)
    duk_push_lstring(context_, argument.data(), argument.size());
  const int failed = duk_pcall_prop(context_, -2 - static_cast<duk_idx_t>(arguments.size()),
                                    static_cast<duk_idx_t>(arguments.size()));
  if (failed != 0) fail(function);
  duk_size_t size = 0;
  const char* const text = duk_get_lstring(context_, -1, &size);
  if (text == nullptr)
    throw std::runtime_error(fmt::format("{}.{} does not return a string", object, function));
  std::string out(text, size);
  duk_pop_2(context_);
  return out;
}

}  // namespace app
