# What scripts/run and scripts/test share: where the project is, what it needs installed, how it is built.
# To be sourced, by plain sh; a fresh Debian has neither make nor a compiler.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$(basename -- "$0"): $*"
  exit 1
}

# PoCL asks /sys for cores and memory, and ends the program where it is not mounted, as in a bare chroot.
if [ ! -d /sys/devices/system/cpu ] && [ -r /proc/meminfo ]; then
  HWLOC_SYNTHETIC="numa:1(memory=$(awk '$1 == "MemTotal:" { printf "%.0f", $2 * 1024 }' /proc/meminfo)) pu:$(nproc)"
  export HWLOC_SYNTHETIC
fi

# PoCL makes a device of the CPU, so that no GPU is needed; TBB is what cpu:0 and the parallel std::sort run on; CMake
# fetches Highway, and asks for certificates; libpng writes the pictures of `sortium pic`;
# Duktape draws those of `sortium report`.
build_packages='ca-certificates g++ cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev
  ocl-icd-opencl-dev opencl-headers opencl-clhpp-headers pocl-opencl-icd ocl-icd-libopencl1 libtbb-dev
  libpng-dev duktape-dev'
test_packages='libgtest-dev oclgrind'

# Those of the named packages that are not installed. dpkg-query fails at names that it has never heard of; they are
# missing, and no reason to stop (.ci/run sets pipefail).
missing_packages() {
  { dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || :; } |
    awk -v wanted="$*" '
      $2 == "installed" { have[$1] = 1 }
      END { n = split(wanted, name); for (i = 1; i <= n; i++) if (!(name[i] in have)) printf "%s ", name[i] }'
}

# Installs what is missing of the named packages. Touches apt only where something is.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This system has no dpkg: its own packages must provide what Debian calls $*."
    return
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0

  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "these packages are missing, and only root can install them: apt-get install $missing"
    as_root=sudo
  fi
  say "Installing $missing"
  log=$(mktemp)
  apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3"
  # A stale mirror or a broken third-party list need not matter to our packages: the install itself decides.
  $apt update >"$log" 2>&1 || say "apt-get update failed; trying with the lists that are here"
  # shellcheck disable=SC2086  # a list of names
  $apt install -y --no-install-recommends $missing >>"$log" 2>&1 || {
    tail -n 30 "$log" >&2
    die "apt-get could not install $missing"
  }
  rm -f "$log"
  installed_packages=yes
}

# Whether DIRECTORY is configured with each of these -DNAME=VALUE.
configured() {
  cache=$1/CMakeCache.txt
  shift
  [ -f "$cache" ] || return 1
  for option; do
    option=${option#-D}
    grep -q "^${option%%=*}:[A-Z]*=${option#*=}\$" "$cache" || return 1
  done
}

# build DIRECTORY [-DNAME=VALUE…]: configures where that is due, and builds all, or what $targets names.
build() {
  build_dir=$root/$1
  shift
  # New packages may be just what an earlier configuration looked for in vain.
  if [ "${installed_packages:-}" = yes ] || ! configured "$build_dir" "$@"; then
    mkdir -p "$build_dir"
    generator=
    [ -f "$build_dir/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator='-G Ninja'
    # shellcheck disable=SC2086  # two words, or none
    cmake -S "$root" -B "$build_dir" $generator -DCMAKE_BUILD_TYPE=Release "$@" >"$build_dir/configure.log" 2>&1 || {
      cat "$build_dir/configure.log" >&2
      die "CMake could not configure $build_dir"
    }
  fi
  # shellcheck disable=SC2086  # a list of names
  cmake --build "$build_dir" ${targets:+--target $targets} >&2 || die "the build failed"
}
