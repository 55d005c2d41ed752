#!/bin/sh
# What waiting costs natively and under Cleave on one platform, as Markdown: run.sh PLATFORM [LIBRARY] [OPTIONS...]
# PLATFORM is part of its name ("NVIDIA"). LIBRARY is a drop-in that has been built; without it, it is built here.
# The program itself needs g++, the OpenCL headers and a loader.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
platform=${1:?part of a platform\'s name}
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
case "${1:-}" in
  '' | --*)
    cmake -S "$here/../.." -B "$folder/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCLEAVE_TESTS=OFF -DCLEAVE_BENCH=OFF \
      >"$folder/log" && cmake --build "$folder/build" --parallel --target cleave_preload >>"$folder/log" ||
      { cat "$folder/log" >&2; exit 1; }
    library=$folder/build/lib/cleave/libOpenCL.so.1
    ;;
  *)
    library=$(realpath "$1")
    shift
    ;;
esac
compile() {
  g++ -std=c++20 -O2 -DCL_TARGET_OPENCL_VERSION=300 -DCL_USE_DEPRECATED_OPENCL_1_2_APIS -I "$here/../.." \
    -o "$folder/cleave_waits" "$here/cleave_waits.cpp" "$here/measure.cpp" "$1" -pthread
}
compile -l:libOpenCL.so.1 2>"$folder/log" || compile -lOpenCL
"$folder/cleave_waits" "$library" --platform "$platform" "$@"
