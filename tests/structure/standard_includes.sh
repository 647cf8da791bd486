#!/usr/bin/env bash
# standard_includes.sh ROOT: every header, or a header of the project that it includes, includes a standard header that
# has each std:: name that it uses, by standard_names.txt; lists those that do not. The other half of the check that
# headers can be included first is own_includes.sh.
set -u
table=$(cd "$(dirname "$0")" && pwd)/standard_names.txt
cd "$1" || exit 1
mapfile -t headers < <(find model dataflow sim kernels calibrate studies -name '*.h' ! -path 'kernels/cuda/*' | sort)
((${#headers[@]})) || { echo "no header found below $1"; exit 1; }
awk -v table="$table" '
# Whether the file, or what it includes of the project, includes one of the wanted headers.
function has(file, wanted, round,   i, list, count) {
  if (seen[file] == round) return 0
  seen[file] = round
  if (wanted == "any" && standard[file] != "") return 1
  count = split(wanted, list, " ")
  for (i = 1; i <= count; ++i) if (index(standard[file], " " list[i] " ")) return 1
  for (i = 1; i <= included[file]; ++i) if (has(include[file, i], wanted, round)) return 1
  return 0
}
function wrong(what) { print file ":" place[used[i]] ": std::" name " " what; bad = 1 }
FILENAME == table {
  if (/^#/) next
  headers = $0; sub(/:.*/, "", headers)
  names = $0; sub(/^[^:]*:/, "", names)
  count = split(names, list, " ")
  for (i = 1; i <= count; ++i) providers[list[i]] = headers
  next
}
{ line = $0; sub(/\/\/.*/, "", line) }
line ~ /^ *# *include *[<"]/ {
  name = line; sub(/^[^<"]*[<"]/, "", name); sub(/[>"].*/, "", name)
  if (line ~ /</) standard[FILENAME] = standard[FILENAME] " " name " "
  else include[FILENAME, ++included[FILENAME]] = name
  next
}
{
  gsub(/"([^"\\]|\\.)*"/, "", line)
  while (match(line, /(std|tl)::[A-Za-z_0-9]+/)) {
    name = substr(line, RSTART, RLENGTH); sub(/.*::/, "", name)
    line = substr(line, RSTART + RLENGTH)
    if (!((FILENAME, name) in place)) {
      place[FILENAME, name] = FNR
      used[++uses] = FILENAME SUBSEP name
    }
  }
}
END {
  for (i = 1; i <= uses; ++i) {
    split(used[i], part, SUBSEP); file = part[1]; name = part[2]
    if (!(name in providers)) wrong("is not in standard_names.txt")
    else if (providers[name] != "compiler" && !has(file, providers[name], i)) {
      wrong("without an include of: " providers[name])
    }
  }
  exit bad
}' "$table" "${headers[@]}"
