#!/usr/bin/env bash
# header_alone.sh HEADER STAMP PRECOMPILED COMPILE...: HEADER parses behind the precompiled standard headers and nothing
# else, twice. Writes STAMP, and STAMP.d with what it includes.
set -eu
header=$1 stamp=$2 precompiled=$3
shift 3
printf '#include "%s"\n#include "%s"\n' "$header" "$header" \
  | "$@" -O0 -fsyntax-only -include "$precompiled" -MMD -MF "$stamp.d" -MT "$stamp" -x c++ -
: >"$stamp"
