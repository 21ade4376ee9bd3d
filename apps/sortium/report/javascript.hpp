// Runs JavaScript inside the program (Duktape), for libraries that draw without a browser.
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

  // Both throw std::runtime_error with the script's error. `name` appears in that message.
  void run(const char* name, const std::string& source);
  // Returns the string that object.function(arguments…) returns.
  [[nodiscard]] std::string call(const char* object, const char* function,
                                 std::initializer_list<std::string> arguments);

 private:
  [[noreturn]] void fail(const char* what);

  duk_hthread* context_;
};

}  // namespace app
