// The Aho-Corasick automaton of a list of markers, as a DFA of the texts without markers, or of those that end with a first marker. Its
// states are the prefixes of the markers.

import { checkLimits, dfa, limits, NO_CLASS, type Dfa, type Limits } from './dfa.ts';

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

interface MarkerTrie {
  /** Number of character classes. Class 0 is every character that no marker has. */
  width: number;
  /** [nodes][classes]: child, or -1; failure() fills all entries. */
  next: number[];
  /** [nodes] */
  ends: End[];
}

function markerDfa(markers: readonly string[], wanted: string | null, bounds: Limits): Dfa {
  const words = markers.map((marker) => Array.from(marker, (letter) => letter.codePointAt(0)!));
  const codes = [...new Set(words.flat())].toSorted((a, b) => a - b);
  const classOf = new Map(codes.map((code, i) => [code, i + 1]));
  const trie = createTrie(words, classOf, (i) => (markers[i] === wanted ? 'wanted' : 'marker'), bounds);
  addFailureTransitions(trie);
  const { width, next, ends } = trie;
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

function createTrie(
  words: readonly number[][],
  classOf: ReadonlyMap<number, number>,
  endOf: (word: number) => End,
  bounds: Limits,
): MarkerTrie {
  const width = classOf.size + 1;
  const next = new Array<number>(width).fill(-1);
  const ends: End[] = ['none'];
  words.forEach((word, i) => {
    let node = 0;
    for (const code of word) {
      const entry = node * width + classOf.get(code)!;
      if (next[entry]! < 0) {
        next[entry] = ends.push('none') - 1;
        checkLimits(bounds, ends.length, width);
        for (let c = 0; c < width; c++) next.push(-1);
      }
      node = next[entry]!;
    }
    if (ends[node] !== 'wanted') ends[node] = endOf(i);
  });
  return { width, next, ends };
}

/** Completes the transitions breadth first: a missing one is that of the longest proper suffix that is a node. */
function addFailureTransitions({ width, next, ends }: MarkerTrie): void {
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
