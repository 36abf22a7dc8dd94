#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the bundle of gpu-check.sh: the sources, and in `prefix/` what Debian's packages give for building them, made to
# work wherever it is unpacked. One argument, the file; see gpu-check.sh.
set -euo pipefail

file="$(realpath "$1")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(
  libarchive-dev libbenchmark-dev libbenchmark1debian libboost1.81-dev libbz2-dev libcli11-dev libdlpack-dev
  libgmock-dev libgtest-dev libisal-dev libisal2 liblzma-dev libpkgconf3 libprotobuf-dev libprotobuf32 libprotoc32
  libsnappy-dev libsnappy1v5 liburing-dev libxxhash-dev libzstd-dev pkgconf-bin protobuf-compiler zlib1g zlib1g-dev)
# Large parts of Boost that nothing here includes.
left_out='boost/(beast|compute|contract|geometry|gil|graph|hana|histogram|icl|log|math|metaparse|mpi|msm|multiprecision'
left_out+='|phoenix|polygon|python|qvm|spirit|test|units|url|wave|xpressive)/'
max_mib=50

fail() {
  echo "gpu-bundle: $*" >&2
  exit 2
}

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
top="$folder/dovetail-gpu"
prefix="$top/prefix"
mkdir -p "$prefix/bin"

echo "gpu-bundle: the sources"
git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' path; do
    [[ ! -f "$path" ]] || printf '%s\0' "$path"
  done | tar --null -cf - -T - | tar -xf - -C "$top"

echo "gpu-bundle: what the packages give"
dpkg-query -W "${packages[@]}" >"$prefix/packages.txt" || fail "packages are missing: scripts/bootstrap.sh build test"
# Debian's packages name some files by what was a folder before /lib became a link to /usr/lib.
dpkg -L "${packages[@]}" | sed 's#^/lib/#/usr/lib/#' | sort -u |
  grep -E '^/usr/(bin/(protoc|pkgconf)$|include/|lib/x86_64-linux-gnu/|share/(cmake|pkgconfig)/)' |
  grep -Ev "$left_out" |
  while IFS= read -r path; do
    [[ -d "$path" && ! -L "$path" ]] || echo "${path#/}"
  done | tar -C / -cf - -T - | tar -xf - -C "$prefix"

libraries="$prefix/usr/lib/x86_64-linux-gnu"
# Where there is a static library, it is the only one that the linker finds; what runs protoc stays.
for archive in "$libraries"/*.a; do
  rm -f "${archive%.a}.so"
done

# They say where Debian puts them.
find "$libraries/cmake" -name '*.cmake' -exec sed -i -E \
  -e '/IMPORTED_LOCATION|import_check_files/I s#"/usr/#"${_IMPORT_PREFIX}/#g' \
  -e 's#^(set\(_IMPORT_PREFIX) "/usr"\)#\1 "${CMAKE_CURRENT_LIST_DIR}/../../../..")#' \
  {} +
sed -i -e 's#^prefix *=.*#prefix=${pcfiledir}/../../..#' -e 's#=/usr#=${prefix}#' "$libraries"/pkgconfig/*.pc
sed -i -e 's#^prefix *=.*#prefix=${pcfiledir}/../..#' -e 's#=/usr#=${prefix}#' "$prefix"/usr/share/pkgconfig/*.pc

wrap() {
  cat >"$prefix/bin/$1" <<EOF
#!/bin/sh
here="\$(dirname "\$(readlink -f "\$0")")"
LD_LIBRARY_PATH="\$here/../usr/lib/x86_64-linux-gnu" exec "\$here/../usr/bin/$2" "\$@"
EOF
  chmod +x "$prefix/bin/$1"
}
wrap protoc protoc
wrap pkg-config pkgconf

known="$(grep -rIl -e "$PWD" -e "$HOME/" "$top" || true)"
[[ -z "$known" ]] || fail "these files name a place of this machine: $known"

echo "gpu-bundle: packing $(du -sm "$top" | cut -f 1) MiB"
tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner -cf - dovetail-gpu |
  xz -T0 -8 >"$file"
mib=$((($(stat -c %s "$file") + (1 << 20) - 1) >> 20))
((mib <= max_mib)) || fail "$file has $mib MiB, more than $max_mib"
echo "gpu-bundle: $file, $mib MiB"
