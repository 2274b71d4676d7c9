// Finds the name that a misspelled one probably stands for.

/** Least characters of a beginning that stands for its name, as `temp` does. */
const LEAST_BEGINNING = 4;
/** Characters of a name to each mistake that it may have. */
const MISTAKE = 3;

/**
 * The shortest name that begins with what was typed, or else the one that the fewest mistakes make it, in letters or in the order of its words; null
 * where each takes mistakes in more than a third of its letters.
 */
export function nearestName(typed: string, names: readonly string[]): string | null {
  const begun = typed.length < LEAST_BEGINNING ? [] : names.filter((name) => name.startsWith(typed));
  if (begun.length > 0) return begun.toSorted((a, b) => a.length - b.length)[0]!;
  let best: { name: string; share: number } | null = null;
  for (const name of names) {
    const length = Math.max(typed.length, name.length);
    if (Math.abs(typed.length - name.length) > length / MISTAKE) continue;
    const count = Math.min(mistakes(typed, name), mistakes(inOrder(typed), inOrder(name)));
    const share = count / length;
    if (count <= length / MISTAKE && share < (best?.share ?? 1)) best = { name, share };
  }
  return best?.name ?? null;
}

const inOrder = (name: string): string => name.split(/[-_.]/).toSorted().join('-');

/** Number of letters that are missing, too many, replaced, or exchanged with the next one (optimal string alignment). */
function mistakes(a: string, b: string): number {
  let [before, last]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = last![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? before![j - 2]! + 1 : Infinity;
      row.push(Math.min(replaced, exchanged, last![j]! + 1, row[j - 1]! + 1));
    }
    [before, last] = [last, row];
  }
  return last![b.length]!;
}
