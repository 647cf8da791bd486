#!/usr/bin/env bash
# include_direction.sh ROOT: every #include "folder/..." follows the arrows of the block diagram; lists those that do not.
set -u
root=$1

declare -A may_include=(
  [model]="model"
  [dataflow]="dataflow model"
  [sim]="sim dataflow model"
  [kernels]="kernels model"
  [calibrate]="calibrate kernels model"
  [studies]="studies sim dataflow calibrate kernels model"
)

status=0 seen=0
for folder in "${!may_include[@]}"; do
  while IFS=: read -r file line include; do
    seen=$((seen + 1))
    target=${include#*\"}
    target=${target%%/*}
    if [[ $include != *\"*/*\"* || " ${may_include[$folder]} " != *" $target "* ]]; then
      echo "$file:$line: $include ($folder may include: ${may_include[$folder]})"
      status=1
    fi
  done < <(cd "$root" && grep -rnE '^ *# *include *"' --include='*.h' --include='*.cpp' --include='*.cu' --include='*.in' "$folder")
done
if ((!seen)); then
  echo "no include found below $root"
  status=1
fi
exit $status
