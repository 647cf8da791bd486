#!/usr/bin/env bash
# include_floors.sh ROOT: checks the tree under ROOT against its own tests/structure/floors.txt and lists what breaks a rule:
#   every include names its file from the root, and goes from a child of a folder to one that stands below it in the
#   folder's list, or stays inside one child;
#   a module is a header with the sources of its name, and no modules include each other in a circle;
#   no folder has more files than the limits below.
set -u
export LC_ALL=C
most_sources=30      # .cpp .h .cu .cuh files in one folder
most_front_files=10  # files of any kind directly in studies/

cd "$1" || exit 2
table=tests/structure/floors.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

read -ra folders < <(sed -n 's/^\. *: *//p' "$table")
if ((${#folders[@]} == 0)); then
  echo "$table: no list of the top folders"
  exit 1
fi
for folder in "${folders[@]}"; do [[ -d $folder ]] && present+=("$folder"); done
find "${present[@]}" -type f \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.h.in' \) |
  sort >"$work/files"
tr '\n' '\0' <"$work/files" | xargs -0 grep -HnE '^ *# *include *"' >"$work/includes"
if [[ ! -s $work/includes ]]; then
  echo "no include found below $1"
  exit 1
fi

# What goes uphill. The arrows between modules go to a file of their own: "from to" and where they stand.
awk -v arrows="$work/arrows" -v table="$table" '
  function module(path) { sub(/\.(h\.in|cpp|h|cu|cuh)$/, "", path); return path }
  function wrong(text) { print place ": " statement ": " text; failed = 1 }
  FILENAME == table {
    sub(/#.*/, "")
    if (NF == 0) next
    if ($2 == "->") {
      narrow[$1] = 1
      for (i = 3; i <= NF; ++i) may[$1, $i] = 1
      next
    }
    line = $0
    parent = line
    sub(/ *:.*/, "", parent)
    sub(/^[^:]*: */, "", line)
    if (parent in listed) { print table ": " parent " has two lists"; failed = 1 }
    listed[parent] = 1
    n = split(line, child, " ")
    for (i = 1; i <= n; ++i) floor_of[parent, child[i]] = i
    next
  }
  FILENAME ~ /\/files$/ {
    n = split($0, part, "/")
    parent = "."
    for (i = 1; i < n - 1; ++i) {
      parent = i == 1 ? part[1] : parent "/" part[i]
      has_folders[parent] = 1
    }
    has_folders["."] = 1
    next
  }
  {
    match($0, /:[0-9]+:/)
    file = substr($0, 1, RSTART - 1)
    place = substr($0, 1, RSTART + RLENGTH - 2)
    statement = substr($0, RSTART + RLENGTH)
    sub(/^ */, "", statement)
    split(statement, quoted, "\"")
    target = quoted[2]
    from = module(file)
    to = module(target)
    if (from == to) next
    n = split(from, a, "/")
    m = split(to, b, "/")
    if (m < 2 || !((".", b[1]) in floor_of)) {
      wrong("a file is included by its path from the root, and stands in one of the folders of the program")
      next
    }
    print from, to, place ": " statement > arrows
    parent = "."
    for (k = 1; k < n && k < m && a[k] == b[k]; ++k) parent = k == 1 ? a[1] : parent "/" a[k]
    if (a[k] == b[k] || !(parent in has_folders)) next
    upper = a[k]
    lower = b[k]
    if (!((parent, upper) in floor_of)) {
      wrong(upper " is not in the list of " parent " in " table)
    } else if (!((parent, lower) in floor_of)) {
      wrong(lower " is not in the list of " parent " in " table)
    } else if (floor_of[parent, upper] > floor_of[parent, lower]) {
      wrong("goes uphill: in " parent ", " lower " stands above " upper)
    } else {
      path = parent == "." ? upper : parent "/" upper
      if ((path in narrow) && !((path, lower) in may))
        wrong("in " parent ", " upper " may not include " lower)
    }
  }
  END { exit failed }
' "$table" "$work/files" "$work/includes"
status=$?

# Circles of modules. tsort names the members of each circle that it cuts open.
touch "$work/arrows"
awk '{ print $1, $2 }' "$work/arrows" | tsort 2>"$work/loops" >"$work/order"
if [[ -s $work/loops ]]; then
  status=1
  awk '
    FILENAME ~ /loops$/ {
      if (/contains a loop/) { ++circles; next }
      sub(/^tsort: /, "")
      circle[$0] = circles
      members[circles] = members[circles] (members[circles] == "" ? "" : ", ") $0
      next
    }
    ($1 in circle) && circle[$1] == circle[$2] {
      text = $0
      sub(/^[^ ]+ [^ ]+ /, "", text)
      said[circle[$1]] = said[circle[$1]] text ": closes a circle of modules: " members[circle[$1]] "\n"
    }
    END { for (i = 1; i <= circles; ++i) printf "%s", said[i] }
  ' "$work/loops" "$work/arrows"
fi

# Crowded folders.
sed -n 's,/[^/]*\.\(cpp\|h\|cu\|cuh\)$,,p' "$work/files" | sort | uniq -c | awk -v most="$most_sources" '
  $1 > most { print $2 ": " $1 " source files: a folder has at most " most; failed = 1 }
  END { exit failed }
' || status=1
front=$(find studies -maxdepth 1 -type f 2>/dev/null | wc -l)
if ((front > most_front_files)); then
  echo "studies: $front files of its own: at most $most_front_files stand outside its folders"
  status=1
fi
exit $status
