# ouro_library(name [PLAIN] [ONLY folder...] [EXCEPT folder...] [EXTRA source...] [PUBLIC lib...] [PRIVATE lib...])
#   The library of the current folder: every *.cpp below it (below the ONLY, not below the EXCEPT folders) and the EXTRA
#   (generated) sources. With no sources yet it is an INTERFACE library, so that what links it still configures.
#   Like CMake's own: PUBLIC libraries are part of the interface, PRIVATE ones' headers are not.
#   Its sources find the standard library's headers and fmt's precompiled (support/precompiled.h), unless PLAIN is given.
function(ouro_library name)
  cmake_parse_arguments(arg "PLAIN" "" "ONLY;EXCEPT;EXTRA;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(JOIN arg_ONLY "|" only)
  list(JOIN arg_EXCEPT "|" except)
  if(only)
    list(FILTER sources INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${only})/")
  endif()
  if(except)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${except})/")
  endif()
  list(APPEND sources ${arg_EXTRA})
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    if(OURO_PRECOMPILE AND NOT arg_PLAIN)
      if(name STREQUAL "ouro_support")
        target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/support/precompiled.h)
        # What ccache takes for the contents of the precompiled header (CCACHE_PCH_EXTSUM): its bytes differ between
        # clones.
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/support/precompiled.h)
        file(SHA256 ${PROJECT_SOURCE_DIR}/support/precompiled.h sum)
        file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum
             "${sum} ${CMAKE_CXX_COMPILER_VERSION}\n")
      else()
        target_precompile_headers(${name} REUSE_FROM ouro_support)
      endif()
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_PUBLIC})
  endif()
endfunction()

# ouro_program(name source... [LIBS lib...]): an executable, when its first source exists.
function(ouro_program name)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  list(GET arg_UNPARSED_ARGUMENTS 0 main)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${main} OR EXISTS ${main})
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${name} PRIVATE ${arg_LIBS})
  endif()
endfunction()
