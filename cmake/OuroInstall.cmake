# `cmake --install`: the command, the library, its headers, and what find_package(Ouro) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Ouro)
install(TARGETS ouro_shared EXPORT OuroTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(PROGRAMS ${CMAKE_BINARY_DIR}/ouro DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ouro DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT OuroTargets FILE OuroTargets.cmake NAMESPACE Ouro:: DESTINATION ${config_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/OuroConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/generated/OuroConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/OuroConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/OuroConfig.cmake ${CMAKE_BINARY_DIR}/generated/OuroConfigVersion.cmake
        DESTINATION ${config_dir})
