# What `cmake --install` copies: headers, both libraries, files for find_package and pkg-config, the program, its man
# pages and completions. Every path inside is relative, so the tree may be moved. And the Debian package.
include(CMakePackageConfigHelpers)

# The shared library has the static one's objects, and Highway's.
add_library(sortium-shared SHARED $<TARGET_OBJECTS:sortium>)
set_target_properties(sortium-shared PROPERTIES OUTPUT_NAME sortium VERSION ${PROJECT_VERSION} SOVERSION ${abi}
                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/sortium.map)
target_include_directories(sortium-shared PUBLIC ${PROJECT_SOURCE_DIR}/include)
target_link_options(sortium-shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/sortium.map)
if(NOT SORTIUM_SANITIZE)
  target_link_options(sortium-shared PRIVATE -Wl,-z,defs)
endif()
target_link_libraries(sortium-shared PRIVATE LibLZMA::LibLZMA fmt::fmt Threads::Threads ${CMAKE_DL_LIBS})
if(hwy_targets AND TBB_FOUND)
  target_link_libraries(sortium-shared PRIVATE TBB::tbb ${hwy_targets})
endif()

# The installed static library contains Highway where this build compiled it.
if(TARGET highway)
  get_target_property(highway_imported highway IMPORTED)
endif()
if(TARGET highway AND NOT highway_imported)
  target_sources(sortium PRIVATE $<TARGET_OBJECTS:highway>)
  set(static_packages TBB)
  set(static_targets TBB::tbb)
  set(static_flags -ltbb)
elseif(hwy_targets AND TBB_FOUND)
  set(static_packages TBB HWY)
  set(static_targets TBB::tbb hwy::hwy_contrib hwy::hwy)
  set(static_flags "-lhwy_contrib -lhwy -ltbb")
endif()

install(TARGETS sortium-cli sortium sortium-shared RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET sortium-mpi)
  install(TARGETS sortium-mpi ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS sortium-mpi-module LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sortium)
endif()
install(DIRECTORY include/sortium DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(documents ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md cmake/debian/copyright DESTINATION ${documents})

# find_package(sortium)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/sortium)
set(shared_library ${CMAKE_INSTALL_LIBDIR}/libsortium.so.${PROJECT_VERSION})
set(static_library ${CMAKE_INSTALL_LIBDIR}/libsortium.a)
set(mpi_library ${CMAKE_INSTALL_LIBDIR}/libsortium-mpi.a)  # where this build found an MPI
configure_package_config_file(cmake/sortiumConfig.cmake.in sortiumConfig.cmake INSTALL_DESTINATION ${package_directory}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR shared_library static_library mpi_library)
write_basic_package_version_file(sortiumConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sortiumConfig.cmake ${PROJECT_BINARY_DIR}/sortiumConfigVersion.cmake
        DESTINATION ${package_directory})

# pkg-config
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name sortium sortium-static)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Man pages and completions, which the program's own description of its commands makes.
set(pages ${PROJECT_BINARY_DIR}/pages)
find_program(SORTIUM_GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${pages}/made COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages} COMMAND sortium-pages ${pages}
                   COMMAND ${SORTIUM_GZIP} -9 -n -r ${pages}/man1
                   COMMAND ${SORTIUM_GZIP} -9 -n -c ${PROJECT_SOURCE_DIR}/CHANGELOG.md > ${pages}/changelog.gz
                   COMMAND ${CMAKE_COMMAND} -E touch ${pages}/made
                   DEPENDS sortium-pages CHANGELOG.md COMMENT "Writing man pages and completions")
add_custom_target(sortium-pages-made ALL DEPENDS ${pages}/made)
install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${pages}/changelog.gz DESTINATION ${documents})
install(FILES ${pages}/sortium.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sortium)
install(FILES ${pages}/_sortium DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${pages}/sortium.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

if(SORTIUM_BUILT_KERNELS)
  install(DIRECTORY ${built_kernels}/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/sortium-kernels
          FILES_MATCHING PATTERN "sm_*" PATTERN "ptx_*")
endif()

# The Debian package, for the system that it is built on: dpkg-shlibdeps determines its dependencies.
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)  # 5.7 instead of 9.2 MB, without built kernels
set(CPACK_PACKAGE_CONTACT "The Sortium developers <sortium@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "The program sortium sorts files. The library, for C and C++, sorts arrays
in the memory of the host or of a GPU, by CUDA or OpenCL, which it finds
at run time: keys of 8 to 64 bits with values, records, segments, and the
first records.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopencl1, libcuda1, openmpi-bin, libfmt-dev, libtbb-dev")
include(CPack)
