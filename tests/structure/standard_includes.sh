#!/usr/bin/env bash
# standard_includes.sh ROOT: every header, or a header of the project that it includes, includes a standard header that has each std:: name
# that it uses; lists those that do not. The other half of the check that headers can be included first: header_alone.sh.
set -u
cd "$1" || exit 1
mapfile -t headers < <(find model dataflow sim kernels calibrate studies -name '*.h' ! -path 'kernels/cuda/*' | sort)
((${#headers[@]})) || { echo "no header found below $1"; exit 1; }
awk '
function table(names, headers,   list, count, i) {
  count = split(names, list, " ")
  for (i = 1; i <= count; ++i) providers[list[i]] = headers
}
# Whether file, or what it includes of the project, includes one of wanted; "any": whatever standard header.
function has(file, wanted, round,   i, list, count) {
  if (seen[file] == round) return 0
  seen[file] = round
  if (wanted == "any" && standard[file] != "") return 1
  count = split(wanted, list, " ")
  for (i = 1; i <= count; ++i) if (index(standard[file], " " list[i] " ")) return 1
  for (i = 1; i <= included[file]; ++i) if (has(include[file, i], wanted, round)) return 1
  return 0
}
BEGIN {
  # Of libstdc++: where a name comes with every container, any standard header will do.
  table("string", "string sstream"); table("string_view", "string_view string"); table("vector", "vector"); table("span", "span")
  table("optional nullopt nullopt_t make_optional", "optional"); table("array to_array", "array"); table("set multiset", "set")
  table("map multimap", "map"); table("unordered_map", "unordered_map"); table("variant visit monostate get_if holds_alternative", "variant")
  table("function hash invoke reference_wrapper cref ref bind_front plus multiplies greater", "functional")
  table("less", "functional map set string"); table("unique_ptr shared_ptr weak_ptr make_unique make_shared addressof", "memory")
  table("numeric_limits", "limits"); table("swap exchange move forward pair make_pair end begin size data max min get tuple initializer_list", "any")
  table("size_t ptrdiff_t nullptr_t byte", "any"); table("abs", "cmath cstdlib string algorithm")
  table("clamp any_of all_of none_of find find_if count_if sort transform copy fill lower_bound upper_bound equal", "algorithm functional")
  table("int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t intptr_t", "cstdint")
  table("is_trivially_copyable_v remove_pointer_t is_same_v enable_if_t decay_t conditional_t is_arithmetic_v is_enum_v underlying_type_t", \
        "type_traits functional memory optional variant utility string vector")
  table("expected unexpected", "tl/expected.hpp")
  # Not among the precompiled headers, so that the compiler looks for them.
  table("atomic memcpy memset deque runtime_error ostream istream bit_cast signbit shared_mutex mutex same_as priority_queue queue nearbyint " \
        "mt19937 mt19937_64 istringstream ostringstream isnan isinf integral ilogb ldexp fclose FILE copysign chrono thread jthread sqrt exp " \
        "log log2 pow floor ceil lround filesystem error_code exception_ptr exception from_chars to_chars variant_size_v", "compiler")
}
{ line = $0; sub(/\/\/.*/, "", line) }
line ~ /^ *# *include *</ { name = line; sub(/^[^<]*</, "", name); sub(/>.*/, "", name); standard[FILENAME] = standard[FILENAME] " " name " "; next }
line ~ /^ *# *include *"/ { name = line; sub(/^[^"]*"/, "", name); sub(/".*/, "", name); include[FILENAME, ++included[FILENAME]] = name; next }
{ gsub(/"([^"\\]|\\.)*"/, "", line)
  while (match(line, /(std|tl)::[A-Za-z_0-9]+/)) {
    name = substr(line, RSTART, RLENGTH); sub(/.*::/, "", name); line = substr(line, RSTART + RLENGTH)
    if (!((FILENAME, name) in place)) { place[FILENAME, name] = FNR; used[++uses] = FILENAME SUBSEP name }
  } }
END {
  for (i = 1; i <= uses; ++i) {
    split(used[i], part, SUBSEP); file = part[1]; name = part[2]
    if (!(name in providers)) { print file ":" place[used[i]] ": std::" name " is not in the table of standard_includes.sh"; bad = 1 }
    else if (providers[name] != "compiler" && !has(file, providers[name], i)) {
      print file ":" place[used[i]] ": std::" name " without an include of: " providers[name]; bad = 1 }
  }
  exit bad
}' "${headers[@]}"
