#!/bin/sh
# boosting.sh: stands for a benchmark of one's own, training boosted trees on DEVICE with SEED. Set BOOST to the real one,
# for instance BOOST="python3 train_xgboost.py": a program that reads DEVICE and SEED and prints "train_s=SECONDS".
# The time that this one prints is made up: 41 s on a CPU and 7 s on a GPU, less than 1 % apart by seed.
case $DEVICE in
  cpu) base=41 ;;
  cuda) base=7 ;;
  *) echo "boosting.sh: DEVICE is cpu or cuda" >&2; exit 2 ;;
esac
awk -v base="$base" -v seed="${SEED:-1}" 'BEGIN { srand(seed); printf "train_s=%.3f\n", base * (1 + (rand() - 0.5) / 100) }'
