#!/usr/bin/env bash
# What tests in a browser need: ./test asks Debian for programs that are not on PATH and npm for the driver, once;
# nothing of it is fatal, and ./stepcast asks for none of it.
source "$(dirname "$0")/toy.sh"
make_toy
export PATH=$work/bin:$PATH
mkdir -p "$toy/tests/browser"
echo '{"name": "toy"}' >"$toy/tests/browser/package.json"
echo '{"lockfileVersion": 3}' >"$toy/tests/browser/package-lock.json"

stand_in npm <<'TEXT'
echo "npm $* in $PWD" >>"$calls"
[[ -e $work/offline ]] && exit 1
mkdir -p node_modules/driver
TEXT

run "$toy/stepcast"
same "./stepcast fetches nothing" "$([[ -e $work/calls ]] && cat "$work/calls")" ""

touch "$work/offline"
run "$toy/test"
same "without a line to the registry the tests run: status" "$status" 0
has "and the user hears why some are skipped" "$err" "tests in a browser are skipped"
rm "$work/offline" "$work/calls"

run "$toy/test"
has "npm installs what the lock file names, without scripts" "$(<"$work/calls")" "npm ci --ignore-scripts"
has "below build" "$(<"$work/calls")" "in $toy/build/browser"
same "and not among the checkout's files" "$(ls "$toy/tests/browser")" "package-lock.json
package.json"
rm "$work/calls"
run "$toy/test"
same "once" "$([[ -e $work/calls ]] && cat "$work/calls")" ""

echo '{"lockfileVersion": 4}' >"$toy/tests/browser/package-lock.json"
run "$toy/test"
same "and again when the lock file changes" "$(grep -c 'npm ci' "$work/calls")" 1
rm "$work/calls"
echo '{"lockfileVersion": 5}' >"$toy/tests/browser/package-lock.json"
run "$toy/test" --sanitize
same "the sanitizers' build runs no browser" "$([[ -e $work/calls ]] && cat "$work/calls")" ""

# Programs that come from elsewhere are not asked for, whatever dpkg says of their packages.
sed -i 's/^test_programs=.*/test_programs=(npm:npm no-such-browser:browser-package)/' "$toy/cmake/setup.sh"
stand_in dpkg-query <<'TEXT'
for name in "${@:3}"; do
  [[ $name == npm || $name == browser-package ]] || echo "installed $name"
done
TEXT
stand_in apt-get <<'TEXT'
echo "apt-get $*" >>"$calls"
TEXT
stand_in sudo <<'TEXT'
exec "$@"
TEXT
rm -rf "$toy/build" "$work/calls"
run "$toy/test"
has "a program that is not on PATH is installed" "$(<"$work/calls")" "install --no-install-recommends browser-package"
same "one that is there is not" "$(grep -c 'recommends.* npm' "$work/calls")" 0

# Every version is held by its hash, and no address is told: whatever registry a user has set serves it.
lock=$checkout/tests/browser/package-lock.json
same "each package has a hash" "$(grep -c '"integrity": "sha512-' "$lock")" "$(grep -c '"node_modules/' "$lock")"
same "no address" "$(grep -c 'resolved\|http' "$lock")" 0

# What is missing is named, and ctest hears 77, which it calls skipped.
start=$checkout/tests/browser/start.sh
run env PATH=/nowhere "$BASH" "$start" page.test.mjs stepcast "$work/driver" "$work/out"
same "without Node: status" "$status" 77
has "without Node: why" "$out" "skipped: node is not on PATH"
stand_in node <<'TEXT'
echo "node $* for $STEPCAST_PROGRAM"
TEXT
run env PATH="$work/bin" "$BASH" "$start" page.test.mjs stepcast "$work/driver" "$work/out"
has "without Chromium" "$status $out" "77 skipped: chromium is not on PATH"
run env STEPCAST_CHROMIUM=there "$BASH" "$start" page.test.mjs stepcast "$work/driver" "$work/out"
has "without the driver" "$status $out" "77 skipped: playwright-core is not in $work/driver"
mkdir -p "$work/driver/node_modules/playwright-core"
touch "$work/driver/node_modules/playwright-core/package.json"
run env STEPCAST_CHROMIUM=there "$BASH" "$start" page.test.mjs stepcast "$work/driver" "$work/out"
same "with all of them the test is started" "$out" "node page.test.mjs for stepcast"
finish
