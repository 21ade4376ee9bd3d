// Files that the build puts into the program: what the page of `sortium report` is made of.
#pragma once

#include <string_view>

namespace app::report_files {

extern const std::string_view echarts_js, charts_js, page_js, page_css, page_html;

}  // namespace app::report_files
