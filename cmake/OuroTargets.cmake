# ouro_library(name [EXTRA source...] [PUBLIC lib...] [PRIVATE lib...])
#   The library of the current folder: every *.cpp below it and the EXTRA (generated) sources. With
#   no sources yet it is an INTERFACE library, so that what links it still configures.
#   Like CMake's own: PUBLIC libraries are part of the interface, PRIVATE ones' headers are not.
function(ouro_library name)
  cmake_parse_arguments(arg "" "" "EXTRA;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(APPEND sources ${arg_EXTRA})
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
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
