// Who is best by two figures: no other is better in one and as good in the other.

/** Rows in the order of the first figure. */
function bestOfTwo(rows, first, second) {
  const known = rows.filter((row) => Number.isFinite(first.badness(row)) && Number.isFinite(second.badness(row)));
  known.sort((a, b) => first.badness(a) - first.badness(b) || second.badness(a) - second.badness(b));
  let least = Infinity;
  return known.filter((row) => {
    const better = second.badness(row) < least;
    least = Math.min(least, second.badness(row));
    return better;
  });
}
