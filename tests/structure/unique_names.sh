#!/usr/bin/env bash
# unique_names.sh ROOT: no two headers define a type of one name in the same namespace. Two of them in one program are one
# symbol to the linker, which keeps either's functions without a word. No two sources of a namespace have a type, a
# constant or a function of their own alike, nor two tests: unity builds may compile them together. No source or test has a type of its
# own that is called like a type which the headers of all folders see: beside it the compiler finds the name ambiguous.
set -u
cd "$1" || exit 1
status=0
# Types at the left margin, with the namespace that was opened last; "struct A;" only announces one.
found=$(find model dataflow sim kernels calibrate studies -name '*.h' -o -name '*.cuh' | sort | xargs awk '
  FNR == 1 { space = "" }
  /^namespace .*\{/ { space = $2 }
  /^(template <[^>]*> )?(struct|class|enum class) [A-Za-z]/ && !/^[^{]*;/ {
    name = $0
    sub(/^(template <[^>]*> )?(struct|class|enum class) /, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
    print space "::" name, FILENAME
  }' | sort -u)
[[ -n $found ]] || { echo "no type in the headers of $1"; exit 1; }
# What the sources of these folders have for themselves.
own_names() {
  find "$@" -name '*.cpp' | sort | xargs awk '
  function found(name) { gsub(/ /, "_", name); print space "::" name, FILENAME }
  FNR == 1 { space = ""; inside = 0 }
  /^namespace stepcast.*\{/ { space = $2 }
  /^namespace \{/ { inside = 1 }
  /^\}  \/\/ namespace$/ { inside = 0 }
  !inside { next }
  /^(template <[^>]*> )?(struct|class|enum class) [A-Za-z]/ && !/^[^{]*;/ {
    sub(/^(template <[^>]*> )?(struct|class|enum class) /, "")
    sub(/[^A-Za-z0-9_].*/, "")
    found($0)
    next
  }
  /^(static )?constexpr double [a-z_]+ = [0-9.e+-]+, / {  # several constants in one line
    sub(/^(static )?constexpr double /, "")
    sub(/;.*/, "")
    for (part = split($0, parts, /, /); part > 0; --part) {
      sub(/ = .*/, "", parts[part])
      found(parts[part])
    }
    next
  }
  /^(static )?(constexpr|const) [^(]*( = |\[\]| \{)/ {
    sub(/( = |\[| ?\{).*/, "")
    sub(/.*[ &*]/, "")
    found($0)
    next
  }
  /^[A-Za-z].*\(.*\) (const )?\{/ && !/^(struct|class|namespace|enum)/ {
    sub(/\) (const )?\{.*/, ")")
    found($0)
  }' | sort -u
}
list_twice() {
  local name
  for name in $(cut -d' ' -f1 <<<"$1" | uniq -d); do
    echo "$name is defined in$(grep -F "$name " <<<"$1" | cut -d' ' -f2 | sed 's/^/ /' | tr '\n' ',' | sed 's/,$//')"
    status=1
  done
}
list_twice "$found"$'\n'"$(own_names model dataflow sim kernels calibrate studies)"
# Tests are compiled together as well, and apart from the sources.
[[ ! -d tests ]] || list_twice "$(own_names tests)"
common=$(find model -name '*.h' | sort | xargs awk '
  FNR == 1 { space = "" }
  /^namespace .*\{/ { space = $2 }
  /^\}  \/\/ namespace/ { space = "stepcast" }
  space == "stepcast" && /^(struct|class|enum class|using) [A-Z]/ {
    sub(/^(struct|class|enum class|using) /, "")
    sub(/[^A-Za-z0-9_].*/, "")
    print
  }' | sort -u | paste -sd '|')
[[ -n $common ]] || { echo "no common type in the headers of $1/model"; exit 1; }
taken=$(find model dataflow sim kernels calibrate studies tests -name '*.cpp' | sort | xargs awk -v common="^($common)$" '
  FNR == 1 { inside = 0 }
  /^namespace \{/ { inside = 1 }
  /^\}  \/\/ namespace/ { inside = 0 }
  inside && /^(struct|class|enum class) [A-Za-z]/ && !/^[^{]*;/ {
    sub(/^(struct|class|enum class) /, "")
    sub(/[^A-Za-z0-9_].*/, "")
    if ($0 ~ common) print FILENAME ":" FNR ": " $0 " is the name of a type in a header of model/"
  }')
[[ -z $taken ]] || { echo "$taken"; status=1; }
exit $status
