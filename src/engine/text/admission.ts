// Who of those that wait is next: the highest priority; within it whoever has the longest prefix in the cache, unless somebody
// was passed too often; then the order of arrival. Who waits for a prefix that another is just computing passes nobody.

import { PAGE_TOKENS } from '../../kernels/batch.ts';
import type { PageNode } from './cache/prefix-tree.ts';
import type { Sequence } from './sequence.ts';
import { keysOf, findablePages, type SequencePages } from './cache/sequence-pages.ts';

export interface Candidate {
  sequence: Sequence;
  /** Its prefix in the cache. */
  path: PageNode[];
}

/** Waiting sequences that are compared by their prefixes. */
const COMPARED = 32;
/** Times that a sequence lets others with longer prefixes pass. */
const MOST_PASSED = 16;

/** `waiting` is in order of priority and arrival. null: nobody can run yet. */
export function chooseNext(
  waiting: readonly Sequence[],
  running: readonly Sequence[],
  pages: SequencePages,
): Candidate | null {
  let best: Candidate | null = null;
  let first: Sequence | null = null;
  let compared = 0;
  for (const sequence of waiting) {
    if (first && (sequence.request.priority < first.request.priority || compared === COMPARED)) break;
    if (awaitsLeader(sequence) || (best && isFreshSibling(sequence, best.sequence))) continue;
    const path = pages.match(sequence);
    if (isHeld(sequence, path, running)) continue;
    // Nobody passes a sequence whose last token after a retraction is on its way.
    if (sequence.progress.inFlight > 0) return best;
    compared++;
    first ??= sequence;
    if (!best || path.length > best.path.length) best = { sequence, path };
    if (first.placement.passed >= MOST_PASSED) break;
  }
  return best;
}

/** Whether the prompt it shares is still to be computed. */
function awaitsLeader({ leader }: Sequence): boolean {
  return leader !== null && !leader.finished && leader.progress.processed < leader.progress.promptTokens;
}

/** Before they have said anything, choices of one request have the same prefix: none comes before the other. */
function isFreshSibling({ leader, progress }: Sequence, other: Sequence): boolean {
  return leader !== null && progress.generated === 0 && (other === leader || other.leader === leader);
}

/** Whether another does just now what this one needs: it would be done twice. */
function isHeld(sequence: Sequence, path: readonly PageNode[], running: readonly Sequence[]): boolean {
  if (path.some(({ loading }) => loading)) return true;
  const most = findablePages(sequence);
  if (path.length >= most) return false;
  const keys = keysOf(sequence, most);
  return running.some((other) => {
    const { prefix } = other.placement;
    const { ids, computed, remaining } = other.progress;
    if (prefix.scope !== sequence.placement.prefix.scope || remaining < 2) return false;
    const full = Math.floor(Math.min(ids.length, prefix.shareable) / PAGE_TOKENS);
    if (full <= path.length || computed >= (path.length + 1) * PAGE_TOKENS) return false;
    const theirs = keysOf(other, full);
    return keys.slice(0, path.length + 1).every((key, at) => key === theirs[at]);
  });
}

/** In order of priority, then arrival. */
export function enqueue(waiting: Sequence[], sequence: Sequence): void {
  const at = waiting.findIndex(
    ({ request: { priority }, placement: { arrival } }) =>
      priority < sequence.request.priority ||
      (priority === sequence.request.priority && arrival > sequence.placement.arrival),
  );
  waiting.splice(at < 0 ? waiting.length : at, 0, sequence);
}
