# Writes OUT, a header with the commit, if the commit has changed: otherwise nothing needs to be compiled again.
# The environment variable SORTIUM_COMMIT names the commit if there is no git.
set(commit $ENV{SORTIUM_COMMIT})
if(NOT commit)
  execute_process(COMMAND git describe --always --abbrev=40 --exclude * "--dirty= with changes"
                  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT "${failed}" STREQUAL "0" OR commit STREQUAL "")
    set(commit unknown)
  endif()
endif()
string(REGEX REPLACE "[\"\\\\\n]" "" commit "${commit}")
set(text "inline constexpr char commit[] = \"${commit}\";\n")
set(before "")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
