# ouro_embed(variable): a generated C++ file that holds every *.ouro below the current folder, made
# by the stage-0 tool; `variable` names it.
add_executable(ouro_stage0 ${PROJECT_SOURCE_DIR}/tools/stage0.cpp)

function(ouro_embed variable)
  file(GLOB_RECURSE scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.ouro)
  list(SORT scripts)
  set(out ${CMAKE_BINARY_DIR}/generated/stdlib/embedded.cpp)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/stdlib)
  # The list is a file, so that a script that is added or removed makes the output out of date.
  list(JOIN scripts "\n" lines)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/stdlib/scripts.txt CONTENT "${lines}\n" @ONLY)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ouro_stage0 ${CMAKE_CURRENT_SOURCE_DIR}
            ${CMAKE_BINARY_DIR}/generated/stdlib/scripts.txt ${out}
    DEPENDS ouro_stage0 ${scripts} ${CMAKE_BINARY_DIR}/generated/stdlib/scripts.txt VERBATIM)
  set(${variable} ${out} PARENT_SCOPE)
endfunction()
