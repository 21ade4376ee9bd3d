// JavaScript, run inside of the program: Duktape, for libraries that draw and need no browser for
// it.
#pragma once

#include <initializer_list>
#include <string>

struct duk_hthread;

namespace app {

class Javascript {
 public:
  Javascript();
  ~Javascript();
  Javascript(const Javascript&) = delete;
  Javascript& operator=(const Javascript&) = delete;

  // Both throw std::runtime_error with the script's error. `name` is for that message.
  void run(const char* name, const std::string& source);
  // What object.function(arguments…) returns, a string.
  [[nodiscard]] std::string call(const char* object, const char* function,
                                 std::initializer_list<std::string> arguments);

 private:
  [[noreturn]] void fail(const char* what);

  duk_hthread* context_;
};

}  // namespace app
