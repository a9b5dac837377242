# ouro_embed(variable): a generated table that holds every *.ouro below the current folder, parsed
# and lowered by the stage-0 tool; `variable` names its object file. The rows of the operations in
# ops/ are a second generated file, which ouro_ops links (ir/CMakeLists.txt).
#
# Stage 0 links the frontend and what stands below it, never the runtime or ouro_ops, so there is no cycle; and
# it leaves its output alone when nothing changed in it, so a change in the frontend that lowers the
# library as before compiles nothing again.
add_executable(ouro_stage0 ${PROJECT_SOURCE_DIR}/tools/stage0/stage0.cpp ${PROJECT_SOURCE_DIR}/tools/stage0/rows.cpp)
target_link_libraries(ouro_stage0 PRIVATE ouro_frontend)

function(ouro_embed variable)
  file(GLOB_RECURSE scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.ouro)
  list(SORT scripts)
  set(out ${CMAKE_BINARY_DIR}/generated/stdlib/embedded.cpp)
  set(rows ${CMAKE_BINARY_DIR}/generated/stdlib/operations.cpp)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/stdlib)
  # The list is a file, so that a script that is added or removed makes the output out of date.
  list(JOIN scripts "\n" lines)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/stdlib/scripts.txt CONTENT "${lines}\n" @ONLY)
  add_custom_command(
    OUTPUT ${out} ${rows}
    COMMAND ouro_stage0 ${CMAKE_CURRENT_SOURCE_DIR}
            ${CMAKE_BINARY_DIR}/generated/stdlib/scripts.txt ${out} ${rows}
    DEPENDS ouro_stage0 ${scripts} ${CMAKE_BINARY_DIR}/generated/stdlib/scripts.txt VERBATIM)
  # A library of its own, so that it waits for stage 0 and not for what ouro_stdlib links.
  add_library(ouro_embedded OBJECT ${out})
  add_library(ouro_operations OBJECT ${rows})
  set(${variable} $<TARGET_OBJECTS:ouro_embedded> PARENT_SCOPE)
endfunction()
