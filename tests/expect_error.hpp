#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <sortium/core.hpp>
#include <string>
#include <string_view>

namespace sortium::test {

// `call` must throw an Error with this code whose message contains all of these words.
template <class F>
void expect_error(F&& call, ErrorCode code, std::initializer_list<std::string_view> words) {
  try {
    call();
  } catch (const Error& e) {
    const std::string what = e.what();
    EXPECT_EQ(e.code(), code) << what;
    for (const auto word : words)
      EXPECT_NE(what.find(word), what.npos) << "no '" << word << "' in: " << what;
    return;
  }
  std::string all;
  for (const auto word : words) (all += ' ') += word;
  ADD_FAILURE() << "nothing was thrown; an error that says" << all << " was due";
}

}  // namespace sortium::test
