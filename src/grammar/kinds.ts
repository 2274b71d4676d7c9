// The vocabulary's tree once more, with nodes merged whose bytes are of the same kinds all the way: most words of a length are one
// node. A grammar that takes all bytes of a kind alike judges them at once; where it does not, it goes on in the tree of bytes.
// As the first byte of a token is told apart most often, there are two such trees: the second merges only below first bytes.

import type { Trie } from './trie.ts';

/** Both trees in the order of a walk, as in Trie: the second has its root at `second`. */
export interface KindTrees {
  nodes: number;
  second: number;
  /** [nodes]: what leads to it: a byte, or 256 + a kind of bytes. */
  column: Uint16Array;
  depth: Uint16Array;
  end: Int32Array;
  longest: Uint16Array;
  /** Nodes of the trie that are merged in node i: from `memberFrom[i]` to `memberFrom[i + 1]`. */
  members: Int32Array;
  memberFrom: Int32Array;
  /** Their tokens, in the same way. */
  tokens: Int32Array;
  tokenFrom: Int32Array;
}

/** First bytes of the kinds; what UTF-8 and JSON tell apart is apart, and so is every mark of ASCII by itself. */
const STARTS = [
  ...[0, 9, 10, 11, 13, 14, ...range(0x20, 0x30), 0x30, ...range(0x3a, 0x41), 0x41, ...range(0x5b, 0x61)],
  ...[
    0x61,
    ...range(0x7b, 0x80),
    0x80,
    0x90,
    0xa0,
    0xc0,
    0xc2,
    0xe0,
    0xe1,
    0xed,
    0xee,
    0xf0,
    0xf1,
    0xf4,
    0xf5,
  ],
];
export const KINDS = STARTS.length;
/** [256] */
export const KIND_OF = Uint8Array.from({ length: 256 }, (_, byte) =>
  STARTS.findLastIndex((start) => start <= byte),
);

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

export function createKindTrees(trie: Trie): KindTrees {
  const merged = [merge(trie, () => false), merge(trie, (node) => isFirst(trie, node))];
  const second = merged[0]!.columns.length;
  const nodes = second + merged[1]!.columns.length;
  const trees: KindTrees = {
    nodes,
    second,
    column: new Uint16Array(nodes),
    depth: new Uint16Array(nodes),
    end: new Int32Array(nodes),
    longest: new Uint16Array(nodes),
    members: new Int32Array(2 * trie.nodes),
    memberFrom: new Int32Array(nodes + 1),
    tokens: new Int32Array(0),
    tokenFrom: new Int32Array(nodes + 1),
  };
  const { longest, members, memberFrom, tokenFrom } = trees;
  merged.forEach((one, i) => flatten(one, i * second, trees));

  const { token, same } = trie;
  for (const { of } of merged) {
    for (let node = 0; node < trie.nodes; node++) {
      const number = of[node]!;
      longest[number] = Math.max(longest[number]!, trie.longest[node]!);
      memberFrom[number + 1]!++;
      for (let id = token[node]!; id >= 0; id = same[id]!) tokenFrom[number + 1]!++;
    }
  }
  for (let number = 0; number < nodes; number++) {
    memberFrom[number + 1]! += memberFrom[number]!;
    tokenFrom[number + 1]! += tokenFrom[number]!;
  }
  const tokens = (trees.tokens = new Int32Array(tokenFrom[nodes]!));
  const memberTo = memberFrom.slice();
  const tokenTo = tokenFrom.slice();
  for (const { of } of merged) {
    for (let node = 0; node < trie.nodes; node++) {
      const number = of[node]!;
      members[memberTo[number]!++] = node;
      for (let id = token[node]!; id >= 0; id = same[id]!) tokens[tokenTo[number]!++] = id;
    }
  }
  return trees;
}

/** By a token's first byte, or the one after a space that many begin with. */
function isFirst({ parent, byte }: Trie, node: number): boolean {
  const above = parent[node]!;
  return above === 0 || (parent[above] === 0 && byte[above] === 0x20);
}

/** Numbered in the order of a walk through the trie: a node comes after the one above it. */
interface Merged {
  /** Of each node of the trie. */
  of: Int32Array;
  parents: number[];
  columns: number[];
}

/** `isApart`: a node that is not merged, nor is the one above it. */
function merge({ nodes, parent, byte }: Trie, isApart: (node: number) => boolean): Merged {
  const of = new Int32Array(nodes);
  const parents = [0];
  const columns = [0];
  let child = new Int32Array(1024 * KINDS);
  for (let node = 1; node < nodes; node++) {
    const above = of[parent[node]!]!;
    const kind = KIND_OF[byte[node]!]!;
    const apart = isApart(node);
    let number = apart ? 0 : child[above * KINDS + kind]!;
    if (number === 0) {
      number = parents.push(above) - 1;
      columns.push(apart ? byte[node]! : 256 + kind);
      if (!apart) child[above * KINDS + kind] = number;
      if (parents.length * KINDS > child.length) {
        const larger = new Int32Array(2 * child.length);
        larger.set(child);
        child = larger;
      }
    }
    of[node] = number;
  }
  return { of, parents, columns };
}

/** Writes a tree to its place, in the order of a walk, and numbers its nodes so. */
function flatten({ of, parents, columns }: Merged, from: number, { column, depth, end }: KindTrees): void {
  const count = parents.length;
  const child = new Int32Array(count);
  const sibling = new Int32Array(count);
  for (let node = count - 1; node > 0; node--) {
    sibling[node] = child[parents[node]!]!;
    child[parents[node]!] = node;
  }
  const place = new Int32Array(count);
  let next = from;
  const visit = (node: number, at: number): void => {
    const number = (place[node] = next++);
    column[number] = columns[node]!;
    depth[number] = at;
    for (let below = child[node]!; below > 0; below = sibling[below]!) visit(below, at + 1);
    end[number] = next;
  };
  visit(0, 0);
  for (let node = 0; node < of.length; node++) of[node] = place[of[node]!]!;
}
