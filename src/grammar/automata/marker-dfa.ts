// The Aho-Corasick automaton of a list of markers, as a DFA of the texts without markers, or of those that end with a first marker. Its
// states are the prefixes of the markers.

import { dfa, limits, NO_CLASS, type Dfa, type Limits } from './dfa.ts';
import { characterTrie, type CharacterTrie } from './word-dfa.ts';

/** The texts that contain none of the markers. */
export function textWithout(markers: readonly string[], bounds: Limits = limits()): Dfa {
  return markerDfa(markers, null, bounds);
}

/** The texts that end with `marker` and contain no marker before. */
export function textUpTo(marker: string, markers: readonly string[], bounds: Limits): Dfa {
  return markerDfa(markers, marker, bounds);
}

/** Whether a marker ends at a node of the trie, and whether it is the wanted one. */
type End = 'none' | 'marker' | 'wanted';

function markerDfa(markers: readonly string[], wanted: string | null, bounds: Limits): Dfa {
  // Class 0 is every character that no marker has.
  const { codes, classOf, width, nodes, next, ends: nodesOf } = characterTrie(markers, 1, bounds);
  const ends = new Array<End>(nodes).fill('none');
  nodesOf.forEach((node, i) => {
    if (ends[node] !== 'wanted') ends[node] = markers[i] === wanted ? 'wanted' : 'marker';
  });
  addFailureTransitions({ width, next }, ends);
  const accepting = ends.length; // the state after the wanted marker, which nothing follows
  const targets: Record<End, (node: number) => number> = {
    none: (node) => node,
    marker: () => -1,
    wanted: () => accepting,
  };
  const table = next.map((to) => targets[ends[to]!](to));
  for (let c = 0; c < width; c++) table.push(-1);
  const starts = [...new Set([0, 0xd800, 0xe000, ...codes, ...codes.map((code) => code + 1)])].toSorted(
    (a, b) => a - b,
  );
  const classes = starts.map((start) =>
    start >= 0xd800 && start < 0xe000 ? NO_CLASS : (classOf.get(start) ?? 0),
  );
  const accept = [...ends.map(() => wanted === null), wanted !== null];
  return dfa({ starts, classes, classCount: width, next: table, accept }, bounds);
}

/** Completes the transitions breadth first: a missing one is that of the longest proper suffix that is a node. */
function addFailureTransitions({ width, next }: Pick<CharacterTrie, 'width' | 'next'>, ends: End[]): void {
  const suffix = new Int32Array(ends.length);
  const queue = [0];
  for (let at = 0; at < queue.length; at++) {
    const node = queue[at]!;
    for (let c = 0; c < width; c++) {
      const entry = node * width + c;
      const fallback = node === 0 ? 0 : next[suffix[node]! * width + c]!;
      const child = next[entry]!;
      if (child < 0) {
        next[entry] = fallback;
        continue;
      }
      suffix[child] = fallback;
      if (ends[fallback] === 'wanted' || ends[child] === 'none') ends[child] = ends[fallback]!;
      queue.push(child);
    }
  }
}
