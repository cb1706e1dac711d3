# What `make install` installs for other programs: libsluice.a, libsluice.so, the headers, a CMake package (Sluice::sluice,
# Sluice::sluice_static) and a pkg-config file. Included with SLUICE_LIBRARY, by the preset `library`, which compiles
# everything once more: position-independent, and hidden but for what SLUICE_EXPORT marks. The server's own objects are
# compiled without that, because calls and data would cost it an indirection.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library_layers base redis net algorithm client document store policy telemetry engine library)
# Shared libraries: Debian's static ones are not position-independent.
set(library_needs ssl crypto nghttp2 yaml-cpp fmt z pthread)

# One archive with the objects of all layers: a program that links it gets those that it needs.
add_library(sluice_static STATIC)
foreach(layer ${library_layers})
  target_sources(sluice_static PRIVATE $<TARGET_OBJECTS:sluice_${layer}>)
endforeach()
set_target_properties(sluice_static PROPERTIES OUTPUT_NAME sluice LINKER_LANGUAGE CXX)
target_link_libraries(sluice_static INTERFACE ${library_needs})

# The objects with the public functions, and what they need of the archive. The version script hides the rest: also
# what the compiler makes of the standard library's templates.
set(version_script ${CMAKE_SOURCE_DIR}/src/library/exports.map)
add_library(sluice_shared SHARED $<TARGET_OBJECTS:sluice_library>)
set_target_properties(sluice_shared PROPERTIES OUTPUT_NAME sluice EXPORT_NAME sluice LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${version_script})
target_link_libraries(sluice_shared PRIVATE sluice_static)
target_link_options(sluice_shared PRIVATE LINKER:--version-script=${version_script} LINKER:--no-undefined
  LINKER:--as-needed)

foreach(target sluice_static sluice_shared)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
endforeach()
add_custom_target(sluice_package DEPENDS sluice_static sluice_shared)

install(TARGETS sluice_static sluice_shared EXPORT SluiceTargets COMPONENT library)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/sluice TYPE INCLUDE COMPONENT library)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)
install(EXPORT SluiceTargets FILE SluiceConfig.cmake NAMESPACE Sluice:: DESTINATION ${package_directory} COMPONENT library)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/SluiceConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/SluiceConfigVersion.cmake DESTINATION ${package_directory} COMPONENT library)

list(TRANSFORM library_needs PREPEND -l OUTPUT_VARIABLE library_flags)
list(JOIN library_flags " " library_flags)
configure_file(${CMAKE_SOURCE_DIR}/cmake/sluice.pc.in sluice.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sluice.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
