// The waiting queue's order, and which waiting sequence is admitted next: the highest priority first; within one priority the longest
// prefix in the cache, unless the first in line was passed too often; then the order of arrival. A sequence whose prefix is just
// being computed by another one is skipped until that prefix is in the cache.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { PageNode } from '../cache/cached-page.ts';
import type { Sequence } from './sequence.ts';
import { keysOf, findablePages, type SequencePages } from '../cache/sequence-pages.ts';

export interface Candidate {
  sequence: Sequence;
  /** Nodes of the sequence's prefix that are in the cache. */
  path: PageNode[];
}

/** Number of waiting sequences whose prefixes are compared. */
const COMPARED = 32;
/** Times that later arrivals with longer prefixes may pass a sequence. */
const MOST_PASSED = 16;

/** `waiting` is in the order of `enqueue`. Returns null if no sequence can run yet. */
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
    if (awaitsPrefix(sequence, path, running, pages)) continue;
    // A retracted sequence whose last token is still in flight keeps its turn.
    if (sequence.progress.inFlight > 0) return best;
    compared++;
    first ??= sequence;
    if (!best || path.length > best.path.length) best = { sequence, path };
    if (first.placement.passed >= MOST_PASSED) break;
  }
  return best;
}

/** Returns true if the prompt that the sequence shares with its leader has not been computed yet. */
function awaitsLeader({ leader }: Sequence): boolean {
  return leader !== null && !leader.finished && leader.progress.processed < leader.progress.promptTokens;
}

/** Whether both are choices of one request and the first has generated nothing: their prefixes are equal, so neither goes first. */
function isFreshSibling({ leader, progress }: Sequence, other: Sequence): boolean {
  return leader !== null && progress.generated === 0 && (other === leader || other.leader === leader);
}

/** Whether a running sequence is loading or computing the pages that follow `path`, which would otherwise be computed twice. */
function awaitsPrefix(
  sequence: Sequence,
  path: readonly PageNode[],
  running: readonly Sequence[],
  { states }: SequencePages,
): boolean {
  if (path.some(({ pages }) => pages.some(({ loading }) => loading))) return true;
  const most = findablePages(sequence);
  if (path.length >= most) return false;
  const keys = keysOf(sequence, most);
  return running.some((other) => {
    const { prefix } = other.placement;
    const { ids, computed, remaining } = other.progress;
    if (prefix.scope !== sequence.placement.prefix.scope || remaining < 2) return false;
    const full = Math.floor(Math.min(ids.length, prefix.shareable) / PAGE_TOKENS);
    if (full <= path.length) return false;
    const theirs = keysOf(other, full);
    if (states) {
      const differing = keys.findIndex((key, at) => key !== theirs[at]);
      const shared = Math.min(differing < 0 ? keys.length : differing, most, full);
      return states.expects(other, path.length, shared);
    }
    if (computed >= (path.length + 1) * PAGE_TOKENS) return false;
    return keys.slice(0, path.length + 1).every((key, at) => key === theirs[at]);
  });
}

/** Inserts a sequence by priority, then by arrival. */
export function enqueue(waiting: Sequence[], sequence: Sequence): void {
  const { request, placement } = sequence;
  const at = waiting.findIndex(
    (other) =>
      other.request.priority < request.priority ||
      (other.request.priority === request.priority && other.placement.arrival > placement.arrival),
  );
  waiting.splice(at < 0 ? waiting.length : at, 0, sequence);
}
