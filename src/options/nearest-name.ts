// Finds the name that a misspelled one probably stands for.

/** Least characters of a beginning that stands for its name, as `temp` does. */
const LEAST_BEGINNING = 4;

/**
 * The shortest name that begins with what was typed, or else the one most similar to it, by shared letters and pairs of letters; null
 * where none is similar enough.
 */
export function nearestName(typed: string, names: readonly string[]): string | null {
  const begun = typed.length < LEAST_BEGINNING ? [] : names.filter((name) => name.startsWith(typed));
  if (begun.length > 0) return begun.toSorted((a, b) => a.length - b.length)[0]!;
  let best: { name: string; share: number } | null = null;
  for (const name of names) {
    const share = likeness(typed, name);
    if (share >= 0.6 && share > (best?.share ?? 0)) best = { name, share };
  }
  return best?.name ?? null;
}

function likeness(a: string, b: string): number {
  const [left, right] = [pieces(a), pieces(b)];
  const shared = left.filter((piece) => right.includes(piece)).length;
  return (2 * shared) / (left.length + right.length);
}

function pieces(text: string): string[] {
  const pairs = Array.from({ length: text.length + 1 }, (_, at) => ` ${text} `.slice(at, at + 2));
  return [...text.split(''), ...pairs];
}
