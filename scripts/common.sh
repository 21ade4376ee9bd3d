# Shared by the scripts: the project's folder, the packages that it needs, and how it is built. Sourced by plain sh, on a
# Debian that may have neither make nor a compiler.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$(basename -- "$0"): $*"
  exit 1
}

# PoCL reads cores and memory from /sys, and ends the program if /sys is not mounted, as in a bare chroot.
if [ ! -d /sys/devices/system/cpu ] && [ -r /proc/meminfo ]; then
  HWLOC_SYNTHETIC="numa:1(memory=$(awk '$1 == "MemTotal:" { printf "%.0f", $2 * 1024 }' /proc/meminfo)) pu:$(nproc)"
  export HWLOC_SYNTHETIC
fi

# PoCL makes the CPU an OpenCL device, so that no GPU is needed. cpu:0 and the parallel std::sort use TBB. CMake needs
# certificates to fetch Highway. libpng writes the pictures of `sortium pic`, Duktape draws the plots of `sortium report`.
# liblzma packs the kernels that packages contain.
build_packages='ca-certificates g++ cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev
  ocl-icd-opencl-dev opencl-headers opencl-clhpp-headers pocl-opencl-icd ocl-icd-libopencl1 libtbb-dev
  liblzma-dev libpng-dev duktape-dev'
# The tests of the Python package make a virtual environment.
test_packages='libgtest-dev oclgrind python3-venv python3-dev pkg-config man-db dpkg-dev file zsh fish libopenmpi-dev openmpi-bin iproute2'

# Prints the named packages that are not installed. dpkg-query fails for names that it does not know; they count as missing,
# and the failure is ignored (.ci/run sets pipefail).
missing_packages() {
  { dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || :; } |
    awk -v wanted="$*" '
      $2 == "installed" { have[$1] = 1 }
      END { n = split(wanted, name); for (i = 1; i <= n; i++) if (!(name[i] in have)) printf "%s ", name[i] }'
}

# Installs the named packages that are missing. Runs apt only if there are any.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This system has no dpkg: install its equivalents of Debian's packages $*."
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
  # A failed update may not concern our packages: the installation decides.
  $apt update >"$log" 2>&1 || say "apt-get update failed; using the existing package lists"
  # shellcheck disable=SC2086  # a list of names
  $apt install -y --no-install-recommends $missing >>"$log" 2>&1 || {
    tail -n 30 "$log" >&2
    die "apt-get could not install $missing"
  }
  rm -f "$log"
  installed_packages=yes
}

# configured DIRECTORY [-DNAME=VALUE…]: succeeds if the directory is configured with all of these options.
configured() {
  cache=$1/CMakeCache.txt
  shift
  [ -f "$cache" ] || return 1
  for option; do
    option=${option#-D}
    grep -q "^${option%%=*}:[A-Z]*=${option#*=}\$" "$cache" || return 1
  done
}

# build DIRECTORY [-DNAME=VALUE…]: configures the directory, unless it already has these options, and builds all, or the targets
# in $targets.
build() {
  build_dir=$root/$1
  shift
  # An earlier configuration may have missed the packages that were just installed.
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
