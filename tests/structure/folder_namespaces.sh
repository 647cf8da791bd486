#!/usr/bin/env bash
# folder_namespaces.sh ROOT: what a file has is in the namespace of its folder, as model/base/namespaces.h says: of sim/
# in stepcast::sim, of studies/sweep/ in stepcast::sweep, of model/ in stepcast. Types of another folder are declared in
# a block that has nothing else.
set -u
cd "$1" || exit 1
mapfile -t files < <(find model dataflow sim kernels calibrate studies -regex '.*\.\(h\|cpp\|cu\|cuh\)' | sort)
((${#files[@]})) || { echo "no source in $1"; exit 1; }
awk '
  FNR == 1 {
    split(FILENAME, part, "/")
    own = part[1] == "model" ? "" : "::" part[1]
    if (part[1] == "studies" && part[3] != "") own = part[2] == "calibrate" ? "::calibration" : part[2] == "compare" ? "::comparison" : "::" part[2]
    foreign = 0
  }
  foreign && /^}/ { foreign = 0 }
  foreign && !/^(struct|class) [A-Za-z]+;/ { complain(foreign) }
  /^namespace stepcast/ {
    space = $2
    sub(/^stepcast/, "", space)
    if (own == "") wanted = space !~ /^::(dataflow|sim|kernels|calibrate|calibration|studies)$/
    else wanted = space == own || index(space, own "::") == 1
    if (!wanted) foreign = FNR
  }
  function complain(line) {
    printf "%s:%d: this is not the namespace of the folder, stepcast%s\n", FILENAME, line, own
    failed = 1
    foreign = 0
  }
  END { exit failed }
' "${files[@]}"
