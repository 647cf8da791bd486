#!/usr/bin/env bash
# embed.sh ROOT CXX CMAKE: cmake/embed.cmake carries any text into the program byte for byte.
set -eu
root=$1 cxx=$2 cmake=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/sub"
printf '%s' 'a;b;[c;\\n"quoted" ${HOME} @x@ )" R"( ??= trailing backslash \' >"$work/data/odd.txt"
printf 'caf\303\251 \342\202\254\n\n]]==] # tail' >"$work/data/sub/utf8.txt"
: >"$work/data/empty.txt"
# 3 MB, far beyond the 65,536 characters that the standard asks compilers to take.
for _ in 1 2 3; do head -c 1000000 /dev/zero | tr '\0' 'x'; echo; done >"$work/data/large.txt"
printf 'empty.txt\nlarge.txt\nodd.txt\nsub/utf8.txt\n' >"$work/list"

"$cmake" -D ROOT="$work/data" -D LIST="$work/list" -D FUNCTION=embedded_catalog -D HEADER=model/base/embedded.h \
  -D OUTPUT="$work/embedded.cpp" -P "$root/cmake/embed.cmake"
cat >"$work/main.cpp" <<'TEXT'
#include <fstream>
#include <string>
#include "model/base/embedded.h"
int main(int, char** argv) {
  for (const auto& file : stepcast::embedded_catalog()) {
    std::ofstream(std::string(argv[1]) + "/" + std::string(file.name), std::ios::binary) << file.text;
  }
}
TEXT
"$cxx" -std=c++20 -I "$root" "$work/main.cpp" "$work/embedded.cpp" -o "$work/program"
mkdir -p "$work/back/sub"
"$work/program" "$work/back"
diff -r "$work/data" "$work/back"
