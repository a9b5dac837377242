# Language, warnings, floating point, linker and sanitizers: what holds for every target.
option(OURO_LLVM_STATIC "Link LLVM statically (the program that people get)" OFF)
option(OURO_STATIC_CXX "Link libstdc++ and libgcc statically into programs" OFF)
option(OURO_LIBRARY "Build libouro.so too, for programs that embed Ouro" OFF)
option(OURO_STRIP "Strip symbols at link time" OFF)
option(OURO_FIXED_ADDRESS "Link programs at a fixed address: no relocations when they start" OFF)
option(OURO_ASSERTS "Internal checks: assert, the verifier after every pass, _GLIBCXX_ASSERTIONS" ON)
option(OURO_PRECOMPILE "Precompile the headers that most sources include" ON)
option(OURO_UNITY "Compile sources of a folder together" OFF)
option(OURO_WERROR "Warnings are errors" OFF)
set(OURO_SANITIZE "" CACHE STRING "Value of -fsanitize=, or empty")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

find_program(OURO_CCACHE ccache)
if(OURO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${OURO_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${OURO_CCACHE})
endif()

# Results are the same bits in every mode: the compiler may never contract a*b+c on its own.
add_compile_options(-ffp-contract=off -ffunction-sections -fdata-sections)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-march=x86-64-v2)
endif()
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
if(OURO_UNITY)
  add_compile_options(-Wno-subobject-linkage)  # it takes a united source for a header
endif()
if(OURO_WERROR)
  add_compile_options(-Werror)
endif()
if(OURO_ASSERTS)
  add_compile_definitions(OURO_ASSERTS=1 _GLIBCXX_ASSERTIONS)
else()
  add_compile_definitions(NDEBUG)
endif()

# -B: plain -fuse-ld=lld would take Debian's default lld 14.
if(EXISTS /usr/lib/llvm-19/bin/ld.lld)
  add_link_options(-fuse-ld=lld -B/usr/lib/llvm-19/bin)
endif()
add_link_options(-Wl,--gc-sections)
# What tells one build's compiled code from another's (jit/cache/build_id.h).
add_link_options(-Wl,--build-id=sha1)
# Not into libouro.so: its interface has types of the C++ library that its host is linked with.
if(OURO_STATIC_CXX)
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-static-libstdc++>
                   $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-static-libgcc>)
endif()
if(OURO_STRIP)
  add_link_options(-s)
endif()
if(OURO_FIXED_ADDRESS)
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
if(OURO_SANITIZE)
  # Without vptr, which needs the type information that LLVM leaves out, and without null and
  # alignment, which double the time of compilation: the address sanitizer sees a null pointer too.
  add_compile_options(-fsanitize=${OURO_SANITIZE} -fno-sanitize=vptr,null,alignment
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${OURO_SANITIZE})
endif()

if(OURO_PRECOMPILE)
  # ccache reads from the preprocessed text which precompiled header was taken.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()

# `#include "ir/anf.h"`: the include root is the repository.
include_directories(${PROJECT_SOURCE_DIR})
