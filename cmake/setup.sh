# Sourced by ./stepcast and ./test, with `root` set to the checkout: installs, configures and builds what is missing.
# Everything it says goes to stderr; stdout belongs to the program. It never changes the working directory.

# One list for building, testing and benchmarks (Debian 12 names).
packages=(g++ cmake ninja-build ccache mold
          libfmt-dev libexpected-dev nlohmann-json3-dev libeigen3-dev
          libyaml-cpp-dev libtomlplusplus-dev libsqlite3-dev zlib1g-dev libmimalloc-dev
          libgtest-dev libgmock-dev libbenchmark-dev)

# What only tests start: ./test asks for them whenever they are missing, as optional ones. Tests whose programs are
# missing are skipped, so that whoever cannot install them can test all the same.
optional=()
test_packages=(slurmctld slurmd slurm-client munge openmpi-bin)

# Programs of tests that may come from elsewhere than Debian, whose packages would then be in the way: program:package.
test_programs=(chromium:chromium node:nodejs npm:npm clang-format:clang-format)

say() { printf 'stepcast: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# build_up_to_date PRESET TARGET...: on return the targets are built in $folder; does not return when they cannot be.
# ninja is the judge of what is stale and takes about 10 ms when nothing is; packages are looked at only when it cannot
# start or fails.
build_up_to_date() {
  local preset=$1
  shift
  folder=$root/build/$preset
  log=$root/build/$preset.log
  [[ -d $root/build ]] || mkdir -p "$root/build" 2>/dev/null
  [[ -w $root/build ]] || die "cannot write to $root/build; copy the checkout to a folder of yours"
  take_lock "$root/build/$preset.lock"
  install_page_library
  if ! { is_configured && compile "$@"; }; then
    if ! is_configured || [[ -n $(missing_packages "${packages[@]}") ]]; then
      install_missing
      configure "$preset"
      compile "$@" || show_failure
    else
      show_failure
    fi
  fi
  release_lock
}

# build_gpu_side: after build_up_to_date. The module that the program loads when it is asked for a GPU; where there is
# no CUDA toolkit the program says so itself. A toolkit that came after the folder was configured is noticed.
build_gpu_side() {
  if [[ $(<"$folder/has_cuda") != ON ]]; then
    command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc || -x ${CUDACXX-} ]] || return 0
    take_lock "$folder.lock"
    configure "${folder##*/}"
    release_lock
    [[ $(<"$folder/has_cuda") == ON ]] || return 0
  fi
  take_lock "$folder.lock"
  [[ -f $folder/libstepcast_gpu.so ]] || say "building the GPU side once: some minutes (log: $log)"
  compile stepcast stepcast_gpu || show_failure
  release_lock
}

# needs_gpu_side ARGUMENT...: whether a command of the program asks for a GPU.
needs_gpu_side() {
  [[ ${1-} == calibrate && (${2-} == measure || ${2-} == layers) ]] || return
  local argument measures=$2
  for argument; do
    [[ $argument != --dry-run && $argument != --help && $argument != -h ]] || return
    [[ $argument != -o && $argument != -o=* && $argument != --output && $argument != --output=* ]] || measures=measure
  done
  [[ $measures == measure ]]
}

# A checkout that was copied or moved carries a build folder that still compiles the old place.
is_configured() {
  [[ -f $folder/build.ninja && -f $folder/configured_for && $(<"$folder/configured_for") == "$root" ]]
}

configure() {
  say "configuring build/$1 (log: $log)"
  is_configured || rm -rf "$folder"
  if ! (cd "$root" && cmake --preset "$1") >"$log" 2>&1; then
    show_failure
  fi
}

compile() {
  ninja -C "$folder" "$@" 2>&1 | report_progress
  return "${PIPESTATUS[0]}"
}

# ninja's output goes to the log. A terminal sees its current step on one line, anything else one line per build.
report_progress() {
  local line columns=${COLUMNS:-80} built=0
  while IFS= read -r line; do
    printf '%s\n' "$line"
    # "[0/1] Re-..." only looks for new files and happens each time.
    [[ $line == \[* && $line != \[0/* ]] || continue
    if [[ -t 2 ]]; then
      printf '\r\033[K%s' "${line:0:columns}" >&2
    elif ((!built)); then
      say "building (log: $log)"
    fi
    built=1
  done >"$log"
  if [[ -t 2 ]] && ((built)); then
    printf '\r\033[K' >&2
  fi
}

show_failure() {
  tail -n 60 "$log" >&2
  say "the build failed; all its output is in $log"
  die "if compilers or libraries of this machine changed, remove $folder and start again"
}

# missing_packages PACKAGE...: those that are not installed, one per line; nothing where there is no dpkg to ask.
missing_packages() {
  command -v dpkg-query >/dev/null && (($#)) || return 0
  local installed package
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null)
  for package; do
    [[ $'\n'$installed$'\n' == *$'\n'"installed $package"$'\n'* ]] || printf '%s\n' "$package"
  done
}

# The packages of those test_programs that are not on PATH, one per line.
packages_of_missing_programs() {
  local one
  for one in "${test_programs[@]}"; do
    command -v "${one%%:*}" >/dev/null || printf '%s\n' "${one#*:}"
  done
}

# What drives a browser in tests/browser goes to build/browser, never into the checkout's files. Without it those tests
# are skipped, so that nothing here is fatal.
fetch_browser_driver() {
  local from=$root/tests/browser into=$root/build/browser
  [[ -f $from/package-lock.json ]] || return 0
  cmp -s "$from/package-lock.json" "$into/fetched" && return
  command -v npm >/dev/null || { say "npm is not on PATH: tests in a browser are skipped"; return; }
  take_lock "$root/build/browser.lock"
  if ! cmp -s "$from/package-lock.json" "$into/fetched"; then
    say "fetching what drives a browser (log: $into/npm.log)"
    mkdir -p "$into" && cp "$from"/package{,-lock}.json "$into/"
    if (cd "$into" && timeout 300 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=0) >"$into/npm.log" 2>&1; then
      cp "$from/package-lock.json" "$into/fetched"
    else
      say "npm could not fetch it: tests in a browser are skipped"
    fi
  fi
  release_lock
}

# Optional packages that could not be had are asked for again a day later, or when others are missing.
install_missing() {
  local needed wanted failed=$root/build/not_installed
  if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian; needed are the equivalents of: ${packages[*]}"
    return
  fi
  mapfile -t needed < <(missing_packages "${packages[@]}")
  mapfile -t wanted < <(missing_packages "${optional[@]}")
  if [[ -n $(find "$failed" -mmin -1440 2>/dev/null) && $(<"$failed") == "${wanted[*]}" ]]; then
    wanted=()
  fi
  ((${#needed[@]} + ${#wanted[@]})) || return 0
  install_packages "${needed[@]}" "${wanted[@]}" && return
  if ((${#needed[@]})); then
    ((${#wanted[@]})) && install_packages "${needed[@]}" && return
    die "could not install; as root run:  apt-get update && apt-get install --no-install-recommends ${needed[*]}"
  fi
  mkdir -p "$root/build" && printf '%s\n' "${wanted[*]}" >"$failed"
  say "not installed: ${wanted[*]}; tests that start them are skipped"
}

# install_packages PACKAGE...: fails where it cannot. One at a time, for .ci/run starts two ./test at once.
install_packages() {
  local as_root=() alone=(flock "$root/build/packages.lock")
  if ((EUID != 0)); then
    command -v sudo >/dev/null || { say "neither root nor sudo"; return 1; }
    as_root=(sudo)
  fi
  mkdir -p "$root/build"
  say "installing from Debian: $*"
  "${alone[@]}" "${as_root[@]}" apt-get -q -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 update >&2 \
    || say "apt-get update failed; trying with the package lists that are here"
  "${alone[@]}" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
    install --no-install-recommends "$@" >&2
}

# The chart library of pages that can be zoomed, where npm is: tried once for each list of versions, without a word, for
# pages do without it. The folder is there before CMake looks (cmake/StepcastUplot.cmake).
install_page_library() {
  local from=$root/studies/print/page/npm to=$root/build/npm
  [[ -d $from ]] || return 0
  [[ ! -f $to/tried || $(<"$to/tried") != "$(<"$from/package-lock.json")" ]] || return 0
  mkdir -p "$to" && command -v npm >/dev/null || return 0
  (
    exec {only}>"$to.lock" && flock "$only"
    cmp -s "$from/package-lock.json" "$to/tried" && exit 0
    cp "$from/package.json" "$from/package-lock.json" "$to/" && cd "$to" \
      && timeout 60 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=0
    cp "$from/package-lock.json" "$to/tried"
  ) >"$to.log" 2>&1 </dev/null
}

# One build (or test run) of a folder at a time; the others wait, and say so when it takes longer than a check.
take_lock() {
  mkdir -p "${1%/*}" && exec {lock}>"$1" || die "cannot write $1"
  flock -w 1 "$lock" && return
  say "waiting for another ${0##*/} of this checkout"
  flock "$lock"
}

release_lock() { exec {lock}>&-; }
