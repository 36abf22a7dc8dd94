#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks Dovetail on a machine with a GPU: builds what needs one, tests it, tests it again under compute-sanitizer, and
# measures. Some minutes, unattended; ends with a table, and with 0 only if all is well.
#
#   scripts/gpu-check.sh [--build FOLDER] [--out FOLDER] [--jobs N] [--build-only]
#   scripts/gpu-check.sh --bundle FILE.tar.xz
#
# The second form makes, on a Debian machine with the packages of `make test`, one file that has the sources and all
# that these packages give: unpacked on a machine with g++, CMake, Python, CUDA and nothing else, the first form works
# there.
# FOLDER of --out, by default `report` in that of --build, gets log.txt, summary.txt and transfer_bench.json.
# Exit codes: 0 all passed, 1 something failed, 2 something is missing, 77 there is no GPU.
set -euo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source="$(dirname "$scripts")"
build="$source/build/gpu"
out=""
jobs="$(nproc)"
build_only=0
bundle=""

fail() {
  echo "gpu-check: $*" >&2
  exit 2
}

while (($# > 0)); do
  case "$1" in
    --build) build="${2:?--build needs a folder}" && shift 2 ;;
    --out) out="${2:?--out needs a folder}" && shift 2 ;;
    --jobs) jobs="${2:?--jobs needs a number}" && shift 2 ;;
    --bundle) bundle="${2:?--bundle needs a file}" && shift 2 ;;
    --build-only) build_only=1 && shift ;;
    -h | --help) sed -n '3,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0 ;;
    *) fail "$1 is no option; see --help" ;;
  esac
done

if [[ -n "$bundle" ]]; then
  exec "$scripts/gpu-bundle.sh" "$bundle"
fi

mkdir -p "$build"
build="$(cd "$build" && pwd)"
out="${out:-$build/report}"
mkdir -p "$out"
out="$(cd "$out" && pwd)"
logs="$build/logs"
mkdir -p "$logs"
: >"$out/log.txt"

# What is there.

command -v cmake >/dev/null || fail "no cmake; 3.25 or newer is needed"
cmake_version="$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')"
if [[ "$(printf '3.25\n%s\n' "$cmake_version" | sort -V | head -n 1)" != 3.25 ]]; then
  fail "cmake is $cmake_version; 3.25 or newer is needed"
fi
for tool in g++ python3; do
  command -v "$tool" >/dev/null || fail "no $tool"
done
nvcc="$(command -v "${CUDACXX:-nvcc}" || true)"
if [[ -z "$nvcc" ]]; then
  for nvcc in "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" /usr/local/cuda*/bin/nvcc ""; do
    [[ -x "$nvcc" ]] && break
  done
fi
[[ -n "$nvcc" ]] || fail "no nvcc: neither in the path nor below /usr/local/cuda; set CUDACXX"
cuda="$(dirname "$(dirname "$(readlink -f "$nvcc")")")"
export CUDACXX="$nvcc"
PATH="$PATH:$(dirname "$nvcc")"

# From the driver itself: nvidia-smi is not everywhere.
gpu="$(python3 "$scripts/gpu_devices.py" 2>"$logs/devices.log" || true)"
architectures=90
if [[ -n "$gpu" ]]; then
  IFS='|' read -r device architectures driver <<<"$gpu"
  kernel_driver="$(grep -m 1 -oE '[0-9]{3,}\.[0-9.]+' /proc/driver/nvidia/version 2>/dev/null | head -n 1 || true)"
  [[ -z "$kernel_driver" ]] || driver="$kernel_driver, $driver"
elif ((!build_only)); then
  echo "gpu-check: no GPU: $(tail -n 1 "$logs/devices.log") (--build-only builds without one)"
  exit 77
else
  device="no GPU"
  driver="none"
fi

options=(
  -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_CUDA_ARCHITECTURES="$architectures"
  -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
  -DDOVETAIL_WITH_CUDA=ON
  -DDOVETAIL_BUILD_GPU_PROGRAMS=ON
  -DDOVETAIL_BUILD_TESTS=ON
  -DDOVETAIL_BUILD_BENCH=ON
  -DDOVETAIL_BUILD_EXAMPLES=ON)
if command -v ninja >/dev/null; then
  options+=(-G Ninja)
elif ! command -v make >/dev/null; then
  fail "neither ninja nor make"
fi
prefix="$source/prefix"
if [[ -d "$prefix" ]]; then
  for tool in protoc pkg-config; do
    "$prefix/bin/$tool" --version >/dev/null || fail "$tool of the bundle does not run here: is glibc older than 2.34?"
  done
  packages="$prefix/usr/lib/x86_64-linux-gnu/cmake"
  options+=(
    -DCMAKE_PREFIX_PATH="$prefix/usr"
    -DCMAKE_LIBRARY_PATH="$prefix/usr/lib/x86_64-linux-gnu"
    -DCMAKE_INCLUDE_PATH="$prefix/usr/include"
    -DPKG_CONFIG_EXECUTABLE="$prefix/bin/pkg-config"
    -DProtobuf_PROTOC_EXECUTABLE="$prefix/bin/protoc"
    -DCLI11_DIR="$prefix/usr/share/cmake/CLI11")
  # A compiler that is not Debian's need not know the folders of its architecture.
  for package in GTest Snappy benchmark; do
    options+=("-D${package}_DIR=$packages/$package")
  done
  for package in Boost boost_headers; do
    options+=("-D${package}_DIR=$(echo "$packages/$package"-*)")
  done
  export PKG_CONFIG_LIBDIR="$prefix/usr/lib/x86_64-linux-gnu/pkgconfig:$prefix/usr/share/pkgconfig"
  unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
fi

# Steps, each with a log and a limit; together they stay below nine minutes.

seconds_in_all=530
build_seconds=400
if ((build_only)); then
  seconds_in_all=7200
  build_seconds=7000
fi
names=()
results=()
times=()
failed=0

report() {
  printf '\n%-18s %-22s %8s\n' step result seconds
  for i in "${!names[@]}"; do
    printf '%-18s %-22s %8d\n' "${names[$i]}" "${results[$i]}" "${times[$i]}"
  done
  printf '\n%s, driver %s\n' "$device" "$driver"
  printf 'CUDA compiler %s; %s\n' "$("$nvcc" --version | grep -o 'release.*')" "$(date -u '+%F %T UTC')"
}

note() {
  names+=("$1")
  results+=("$2")
  times+=("$3")
}

# step NAME SECONDS [--quiet] COMMAND...: runs it and prints what it says, or only how it goes on, and the end of it
# where it fails.
step() {
  local name="$1" limit="$2" quiet=0 began="$SECONDS" status=0
  shift 2
  if [[ "$1" == --quiet ]]; then
    quiet=1
    shift
  fi
  local left=$((seconds_in_all - SECONDS))
  if ((left < 10)); then
    note "$name" "no time left" 0
    failed=1
    return 1
  fi
  printf '\n=== %s (%d s)\n' "$name" "$SECONDS"
  limit=$((limit < left ? limit : left))
  if ((quiet)); then
    while sleep 20 >/dev/null 2>&1; do tail -n 1 "$logs/$name.log"; done &
    local watcher="$!"
    timeout -k 10 "$limit" "$@" >"$logs/$name.log" 2>&1 || status=$?
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    ((status == 0)) || tail -n 60 "$logs/$name.log"
  else
    timeout -k 10 "$limit" "$@" 2>&1 | tee "$logs/$name.log" || status="${PIPESTATUS[0]}"
  fi
  { printf '\n=== %s\n' "$name" && cat "$logs/$name.log"; } >>"$out/log.txt"
  case "$status" in
    0) note "$name" passed "$((SECONDS - began))" ;;
    77) note "$name" "skipped: no device" "$((SECONDS - began))" ;;
    124 | 137) note "$name" "took too long" "$((SECONDS - began))" ;;
    *) note "$name" "failed with $status" "$((SECONDS - began))" ;;
  esac
  ((status == 0)) || failed=1
  return "$status"
}

finish() {
  report | tee "$out/summary.txt"
  exit "$failed"
}

echo "gpu-check: $device, architecture $architectures, $jobs jobs"
echo "gpu-check: $nvcc, cmake $cmake_version, $(g++ --version | head -n 1)"
step configure 120 --quiet cmake -S "$source" -B "$build" -Wno-dev "${options[@]}" || finish
# Without them there is little to check.
if why="$(grep -m 1 '^-- Kernels: programs with kernels are left out' "$logs/configure.log")"; then
  fail "${why#-- }"
fi
step build "$build_seconds" --quiet cmake --build "$build" --target gpu_programs --parallel "$jobs" || finish
if ((build_only)); then
  ctest --test-dir "$build" -L '^gpu$' -N
  finish
fi

step tests 180 --quiet ctest --test-dir "$build" -L '^gpu$' -V --no-tests=error || true
grep -E '^ *[0-9]+/[0-9]+ Test|^[0-9]+% tests passed|\[  FAILED|\[  SKIPPED \].* ms\)' "$logs/tests.log" || true
# With a device, a program that skips everything has not seen it.
if grep -qE '\*\*\*Skipped|\[  PASSED  \] 0 tests' "$logs/tests.log"; then
  results[-1]="skipped: no device"
  failed=1
fi

sanitizer="$(command -v compute-sanitizer || true)"
for candidate in "$cuda/bin/compute-sanitizer" "$cuda/compute-sanitizer/compute-sanitizer"; do
  [[ -n "$sanitizer" || ! -x "$candidate" ]] || sanitizer="$candidate"
done
if [[ -n "$sanitizer" ]]; then
  step sanitizer 180 --quiet python3 "$scripts/gpu_sanitize.py" "$build" "$sanitizer" || true
  grep -E '^gpu_|ERROR SUMMARY' "$logs/sanitizer.log" || true
else
  note sanitizer "not found, left out" 0
fi

step transfer_bench 150 "$build/bench/transfer_bench" --out "$out/transfer_bench.json" || true

rm -rf "$build/trainer_data"
if step trainer_data 60 --quiet "$build/examples/write_random" "$build/trainer_data" 100000 2048 6144; then
  step cuda_trainer 60 "$build/examples/cuda_trainer/cuda_trainer" "$build/trainer_data" --batch 1024 --epochs 4 \
    --balance || true
fi
rm -rf "$build/trainer_data"
finish
