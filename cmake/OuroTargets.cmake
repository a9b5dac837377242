# ouro_unite(target source...): with OURO_UNITY, six sources of a folder at a time are one unit for the compiler.
#   Their headers and the templates that they share are compiled once then. It asks for names in anonymous namespaces
#   that differ within a folder.
function(ouro_unite target)
  if(NOT OURO_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${folder} group)
    list(APPEND in_${group} ${source})
    list(LENGTH in_${group} count)
    math(EXPR batch "(${count} - 1) / 6")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${batch})
  endforeach()
endfunction()

# ouro_library(name [PLAIN] [ONLY folder...] [EXCEPT folder...] [SEPARATE folder...] [EXTRA source...] [PUBLIC lib...] [PRIVATE lib...])
#   The library of the current folder: every *.cpp below it (below the ONLY, not below the EXCEPT folders) and the EXTRA
#   (generated) sources. With no sources yet it is an INTERFACE library, so that what links it still configures.
#   Like CMake's own: PUBLIC libraries are part of the interface, PRIVATE ones' headers are not.
#   Sources below SEPARATE folders are not united: each is a row of a table, and has the names that all rows have.
#   Its sources find the standard library's headers and fmt's precompiled (support/precompiled.h), unless PLAIN is given.
function(ouro_library name)
  cmake_parse_arguments(arg "PLAIN" "" "ONLY;EXCEPT;SEPARATE;EXTRA;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(JOIN arg_ONLY "|" only)
  list(JOIN arg_EXCEPT "|" except)
  if(only)
    list(FILTER sources INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${only})/")
  endif()
  if(except)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${except})/")
  endif()
  set(united ${sources})
  list(JOIN arg_SEPARATE "|" separate)
  if(separate)
    list(FILTER united EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${separate})/")
  endif()
  list(APPEND sources ${arg_EXTRA})
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    ouro_unite(${name} ${united})
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
