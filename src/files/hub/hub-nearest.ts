// Suggestions for ids that are not found.
import type { ModelCache } from './hub-cache.ts';

/** Returns the cached id that is most similar to the typed one, by its last segment or by its letters; null if none is similar. */
export async function nearestModel(typed: string, cache: ModelCache): Promise<string | null> {
  const ids = await cache.ids();
  const wanted = typed.toLowerCase();
  const same = ids.find((id) => id.toLowerCase() === wanted || id.toLowerCase().endsWith(`/${wanted}`));
  if (same !== undefined) return same;
  const [best] = ids
    .map((id) => ({ id, edits: editDistance(wanted, id.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  return best && best.edits <= Math.max(2, wanted.length / 5) ? best.id : null;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
