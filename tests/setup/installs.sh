#!/usr/bin/env bash
# What is missing is installed from Debian, named first, with sudo for ordinary users, and only then.
source "$(dirname "$0")/toy.sh"
make_toy
export PATH=$work/bin:$PATH

# ninja is "missing" until apt-get has installed it.
stand_in dpkg-query <<'TEXT'
echo dpkg-query >>"$calls"
for name in "${@:3}"; do
  [[ $name == ninja-build && ! -e $work/installed ]] || echo "installed $name"
done
TEXT
stand_in ninja <<'TEXT'
[[ -e $work/installed ]] || exit 127
PATH=${PATH#*:}
exec ninja "$@"
TEXT
stand_in apt-get <<'TEXT'
echo "apt-get $*" >>"$calls"
echo "chatter of apt-get"
[[ -e $work/broken_apt ]] && exit 100
[[ " $* " == *" install "* ]] && touch "$work/installed"
exit 0
TEXT
stand_in sudo <<'TEXT'
echo "sudo" >>"$calls"
exec "$@"
TEXT

touch "$work/broken_apt"
run "$toy/stepcast"
same "apt-get that fails: status" "$status" 1
has "apt-get that fails: what to type" "$err" "apt-get install --no-install-recommends ninja-build"
rm "$work/broken_apt" "$work/calls"

run "$toy/stepcast"
same "stdout is the program's" "$out" "first in $PWD:"
has "the list is printed" "$err" "installing from Debian: ninja-build"
has "lists are updated first" "$(head -2 "$work/calls" | tr '\n' ' ')$(grep -m1 apt-get "$work/calls")" "update"
has "only what is missing is installed" "$(<"$work/calls")" "install --no-install-recommends ninja-build"
if ((EUID == 0)); then
  same "root needs no sudo" "$(grep -c sudo "$work/calls")" 0
else
  same "others use sudo" "$(grep -c sudo "$work/calls")" 2
fi

rm "$work/calls"
run "$toy/stepcast"
same "a warm run asks nobody" "$([[ -e $work/calls ]] && cat "$work/calls")" ""

echo 'this is not C' >>"$toy/toy.c"
run "$toy/stepcast"
same "a compile error installs nothing" "$(grep -c apt-get "$work/calls")" 0

# What only tests start is asked for by ./test alone, whether or not the project is built.
sed -i 's/^test_packages=.*/test_packages=(launcher)/' "$toy/cmake/setup.sh"
stand_in dpkg-query <<'TEXT'
for name in "${@:3}"; do
  [[ $name == launcher && ! -e $work/launched ]] || echo "installed $name"
done
TEXT
write_program again
rm -rf "$toy/build" "$work/calls"
run "$toy/stepcast"
same "the program needs no launcher" "$out $([[ -e $work/calls ]] && cat "$work/calls")" "again in $PWD: "
touch "$work/broken_apt"
run "$toy/test"
same "tests run without it: status" "$status" 0
has "tests ask for it after the program was built" "$(<"$work/calls")" "install --no-install-recommends launcher"
has "tests run without it: says so" "$err" "not installed: launcher; tests that start them are skipped"
has "and how to have it, before the summary" "${out%%tests passed*}" "apt-get install --no-install-recommends launcher"
rm "$work/calls"
run "$toy/test"
same "what could not be had is not asked for each time" "$(grep -c apt-get "$work/calls" 2>/dev/null)" ""
rm "$work/broken_apt"
touch -d '2 days ago' "$toy/build/not_installed"
run "$toy/test"
has "but again another day" "$(<"$work/calls")" "install --no-install-recommends launcher"
touch "$work/launched"
rm "$work/calls"
run "$toy/test" --sanitize
same "nothing is asked for once it is there" "$([[ -e $work/calls ]] && cat "$work/calls")" ""
finish
