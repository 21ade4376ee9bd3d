// Files that the build embeds in the program: the parts of the page of `sortium report`.
#pragma once

#include <string_view>

namespace app::report_files {

extern const std::string_view echarts_js, charts_js, page_js, page_css, page_html;

}  // namespace app::report_files
