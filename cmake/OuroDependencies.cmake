# Third-party libraries as interface targets. Their headers are SYSTEM: no warnings from them.
#   ouro_llvm   LLVM 19: ORC JIT, x86 and NVPTX code generation, passes
#   ouro_antlr  the ANTLR 4.9 C++ run time
#   ouro_zlib   zlib (gzip'ed data sets)
#   ouro_jpeg   libjpeg-turbo (pictures)
#   ouro_bigint big integers
#   ouro_edit   libedit (the prompt)
# oneDNN, OpenCL, CUDA and MPI are opened at run time, when first needed.
find_package(LLVM 19.1 REQUIRED CONFIG)
find_package(antlr4-runtime CONFIG REQUIRED)
find_package(Threads REQUIRED)

set(static_z ${CMAKE_STATIC_LIBRARY_PREFIX}z${CMAKE_STATIC_LIBRARY_SUFFIX})
find_library(OURO_Z_STATIC ${static_z} REQUIRED)
find_library(OURO_ZSTD_STATIC libzstd.a REQUIRED)

add_library(ouro_zlib INTERFACE)
target_link_libraries(ouro_zlib INTERFACE ${OURO_Z_STATIC})

find_library(OURO_JPEG_STATIC libjpeg.a REQUIRED)
find_library(OURO_JPEG_SHARED libjpeg.so REQUIRED)
add_library(ouro_jpeg INTERFACE)
# Debian's archive is not position independent: libouro.so needs the shared one.
target_link_libraries(ouro_jpeg INTERFACE
  $<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>,${OURO_JPEG_SHARED},${OURO_JPEG_STATIC}>)

find_library(OURO_TOMMATH NAMES libtommath.a tommath REQUIRED)
add_library(ouro_bigint INTERFACE)
target_link_libraries(ouro_bigint INTERFACE ${OURO_TOMMATH})

add_library(ouro_llvm INTERFACE)
target_include_directories(ouro_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
if(OURO_LLVM_STATIC)
  # llvm-config's own list: the CMake targets would add z3 and libxml2, which are not needed.
  execute_process(
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --libs
            orcjit x86codegen x86asmparser nvptxcodegen nvptxdesc nvptxinfo passes
    OUTPUT_VARIABLE llvm_static_libs OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(llvm_static_libs UNIX_COMMAND "${llvm_static_libs}")
  target_link_directories(ouro_llvm INTERFACE ${LLVM_LIBRARY_DIR})
  target_link_libraries(ouro_llvm INTERFACE ${llvm_static_libs} ouro_zlib ${OURO_ZSTD_STATIC})
  # An exported LLVM would interpose the one inside an OpenCL driver.
  target_link_options(ouro_llvm INTERFACE -Wl,--exclude-libs,ALL)
else()
  target_link_libraries(ouro_llvm INTERFACE ${LLVM_LIBRARY_DIR}/libLLVM-19.so)
endif()
target_link_libraries(ouro_llvm INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

add_library(ouro_antlr INTERFACE)
target_include_directories(ouro_antlr SYSTEM INTERFACE ${ANTLR4_INCLUDE_DIR})
# Debian's archive is not position independent: libouro.so needs the shared one.
set(head_type $<TARGET_PROPERTY:TYPE>)
target_link_libraries(ouro_antlr INTERFACE
  $<IF:$<STREQUAL:${head_type},SHARED_LIBRARY>,antlr4_shared,antlr4_static> Threads::Threads)
# The 4.7 tool writes u8"..." into std::string, the run time's headers misplace attributes.
target_compile_options(ouro_antlr INTERFACE -fno-char8_t -Wno-attributes -Wno-deprecated)

add_library(ouro_edit INTERFACE)
find_library(OURO_EDIT libedit.a)
find_library(OURO_BSD libbsd.a)
find_library(OURO_MD libmd.a)
find_library(OURO_TINFO libtinfo.a)
if(OURO_EDIT AND OURO_BSD AND OURO_MD AND OURO_TINFO)
  target_link_libraries(ouro_edit INTERFACE ${OURO_EDIT} ${OURO_BSD} ${OURO_MD} ${OURO_TINFO})
else()
  target_link_libraries(ouro_edit INTERFACE edit)
endif()
