# The settings and the few functions that every target of the project uses.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_package(Threads REQUIRED)
find_path(CLEAVE_OPENCL_HEADERS CL/cl_layer.h REQUIRED)
find_path(CLEAVE_SPIRV_HEADERS spirv/unified1/spirv.hpp11 REQUIRED)

add_library(cleave_warnings INTERFACE)
# On in `./quickstart test` and in the presets for those who change the code, not in `release`, from which Cleave is installed: a
# newer compiler's new warning is to stop nobody's installation.
option(CLEAVE_WERROR "Treat warnings as errors" OFF)
target_compile_options(cleave_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${CLEAVE_WERROR}>:-Werror>)
# Which mutex guards what (src/base/threads/thread_annotations.h) is checked by Clang alone.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(cleave_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
endif()
# GCC 12 warns of "text" + std::string at -O3 without a cause (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(cleave_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()

# What all our code is compiled with. Deprecated functions are part of what we stand in for, hence the macros.
add_library(cleave_options INTERFACE)
target_include_directories(cleave_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                                                    ${CMAKE_SOURCE_DIR})
target_include_directories(cleave_options SYSTEM INTERFACE ${CLEAVE_OPENCL_HEADERS} ${CLEAVE_SPIRV_HEADERS})
target_compile_definitions(
  cleave_options
  INTERFACE CL_TARGET_OPENCL_VERSION=300
            CL_USE_DEPRECATED_OPENCL_1_0_APIS
            CL_USE_DEPRECATED_OPENCL_1_1_APIS
            CL_USE_DEPRECATED_OPENCL_1_2_APIS
            CL_USE_DEPRECATED_OPENCL_2_0_APIS
            CL_USE_DEPRECATED_OPENCL_2_1_APIS
            CL_USE_DEPRECATED_OPENCL_2_2_APIS
            CLEAVE_VERSION="${PROJECT_VERSION}")
target_link_libraries(cleave_options INTERFACE cleave_warnings)
if(CLEAVE_SANITIZE)
  # A report ends the program. Not to be able to go on after it saves an eighth of the time for compiling.
  target_compile_options(cleave_options INTERFACE -fsanitize=${CLEAVE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(cleave_options INTERFACE -fsanitize=${CLEAVE_SANITIZE})
endif()

# Compiles the files of this folder's targets several as one: half of a build goes into reading the same headers again.
# Names in anonymous namespaces have to differ then. Files that tests/mutants/ replaces stay as they are, and so does the
# preset debug, which shows whether each file includes what it uses.
macro(cleave_merge_files)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(CMAKE_UNITY_BUILD ON)
  endif()
endmacro()

# What most files include, read once for all of them. ccache keeps no results of what is compiled so.
option(CLEAVE_PRECOMPILE "Precompile the headers that most files include" OFF)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CLEAVE_PRECOMPILE OFF)
endif()
set(cleave_common_headers <algorithm> <array> <atomic> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional> <span>
                          <string> <thread> <unordered_map> <utility> <vector>)

# One folder of src/: cleave_folder(NAME SOURCES ... USES ...). USES are the folders it may include.
function(cleave_folder name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_library(cleave_${name} STATIC ${arg_SOURCES})
  target_link_libraries(cleave_${name} PUBLIC cleave_options)
  if(CLEAVE_PRECOMPILE AND name STREQUAL base)
    target_precompile_headers(cleave_base PRIVATE ${cleave_common_headers})
  elseif(CLEAVE_PRECOMPILE)
    target_precompile_headers(cleave_${name} REUSE_FROM cleave_base)
  endif()
  foreach(use IN LISTS arg_USES)
    target_link_libraries(cleave_${name} PUBLIC cleave_${use})
  endforeach()
endfunction()

# What runs on the program's threads, whose stacks may have 16 KiB, of which a driver or OpenSSL needs a part: no function's
# frame is larger than that. Without optimisation, and with sanitizers, frames are larger; the bound is for GCC's.
function(cleave_bound_frames target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE MATCHES "^Rel" AND NOT CLEAVE_SANITIZE)
    target_compile_options(${target} PRIVATE -Wframe-larger-than=2048)
  endif()
endfunction()

# A library that is loaded into other people's programs. It brings its own C++ runtime, exports only what SYMBOLS (a
# version script) names, and is never unloaded, since the driver and exit handlers may still point into it.
function(cleave_face name)
  cmake_parse_arguments(arg "" "SYMBOLS" "SOURCES;USES" ${ARGN})
  add_library(${name} SHARED ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE cleave_options ${arg_USES} ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE "LINKER:--version-script=${arg_SYMBOLS}" LINKER:--exclude-libs,ALL
                      LINKER:-z,nodelete LINKER:-z,now)
  if(NOT CLEAVE_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc LINKER:-z,defs LINKER:--gc-sections)
  endif()
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${arg_SYMBOLS})
endfunction()
