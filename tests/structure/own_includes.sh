#!/usr/bin/env bash
# own_includes.sh ROOT: every header includes, or includes by way of others, a header that declares each type that it
# names and each function that it calls, of the project or of a library; lists those that do not. With
# standard_includes.sh, which asks the same of std::, it says that a header can be included first. Of 220 headers that
# lost an include it refused all of the 144 that did not parse alone any more, and one that a template hid; to parse all
# of them takes five minutes of processor time.
set -u
cd "$1" || exit 1
mapfile -t headers < <(find model dataflow sim kernels calibrate studies -name '*.h' ! -path 'kernels/cuda/*' | sort)
((${#headers[@]})) || { echo "no header found below $1"; exit 1; }
awk '
# Whether the file, or what it includes, declares the name.
function has(file, name, round,   i) {
  if (seen[file] == round) return 0
  seen[file] = round
  if ((file, name) in declares) return 1
  for (i = 1; i <= included[file]; ++i) if (has(include[file, i], name, round)) return 1
  return 0
}
function declare(name) { declares[FILENAME, name] = 1; declared[name] = 1 }
function use(name) {
  if ((FILENAME, name) in place) return
  place[FILENAME, name] = FNR
  file_of[++uses] = FILENAME
  name_of[uses] = name
}
# Whether what comes after this token is declared.
function follows_type(token) { return token ~ /^[A-Za-z_].*[^:]$/ && !(token in statement) || token ~ /^[*&>]$/ }
BEGIN {
  count = split("return case throw else operator", list, " ")
  for (i = 1; i <= count; ++i) statement[list[i]] = 1
  count = split("bool int double float char sizeof noexcept decltype alignof", list, " ")
  for (i = 1; i <= count; ++i) language[list[i]] = 1
  # Namespaces of libraries, by the beginning of the headers that declare them.
  library["nlohmann"] = "nlohmann/"; library["fmt"] = "fmt/"; library["YAML"] = "yaml-cpp/"; library["CLI"] = "CLI/"
  for (name in library) declared[name "::"] = 1
}
/^ *# *include *[<"]/ {
  name = $0; sub(/^[^<"]*[<"]/, "", name); sub(/[>"].*/, "", name)
  if (/"/) include[FILENAME, ++included[FILENAME]] = name
  for (space in library) if (index(name, library[space]) == 1) declare(space "::")
  next
}
/^ *#/ { next }
{
  line = $0
  gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
  sub(/\/\/.*/, "", line)
  before = ""  # the token before
  while (match(line, /[A-Za-z_][A-Za-z_0-9]*(::)?|[^A-Za-z_0-9 ]|[0-9][A-Za-z0-9_.\47]*/)) {
    token = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
    if (token ~ /::$/) {
      space = token; sub(/::$/, "", space)
      if (space in library && before !~ /::$/) use(token)
      else if (space ~ /^[A-Z]/ && before !~ /::$/) use(space)
    } else if (token ~ /^[A-Z]/) {
      if (before ~ /^(struct|class|enum|concept)$/ || (before == "using" && line ~ /^ *=/)) declare(token)
      else if (before ~ /_t$|^(typename|auto|bool|int)$/) variable[FILENAME, token] = 1
      else if (before !~ /^(std|tl)::$/) use(token)
    } else if (token ~ /^[a-z]/ && line ~ /^\(/) {
      if (follows_type(before)) declare(token "(")
      else if (before != "." && before !~ /::$/ && !(token in language)) use(token "(")
    } else if (follows_type(before)) {
      variable[FILENAME, token "("] = 1
    }
    before = token
  }
}
END {
  for (i = 1; i <= uses; ++i) {
    file = file_of[i]; name = name_of[i]
    if (!(name in declared) || (file, name) in variable || has(file, name, i)) continue
    shown = name; sub(/\($/, "()", shown)
    print file ":" place[file, name] ": " shown " without an include that declares it"
    bad = 1
  }
  exit bad
}' "${headers[@]}"
