// The trie of the vocabulary over byte classes: nodes whose bytes have the same classes from the root on are merged, so most words of a
// length share one node. A lexeme that treats the bytes of each class alike judges them all at once; elsewhere the traversal continues
// in the trie of bytes. There are two such tries, since grammars distinguish the first byte of a token most often: the second one
// merges nodes only below first bytes.

import type { Trie } from './trie.ts';

/** Two tries in preorder, laid out like Trie; the root of the second is the node `second`. */
export interface ByteClassTries {
  nodes: number;
  second: number;
  /** [nodes]: the label of the edge to the node: a byte, or 256 + a byte class. */
  label: Uint16Array;
  /** [nodes]: bytes from the root. */
  depth: Uint16Array;
  /** [nodes]: the first node after the subtree. */
  subtreeEnd: Int32Array;
  /** [nodes]: bytes of the longest token in the subtree. */
  longest: Uint16Array;
  /** Nodes of the byte trie that are merged in node i: `members` from `memberFrom[i]` to `memberFrom[i + 1]`. */
  members: Int32Array;
  memberFrom: Int32Array;
  /** Tokens that end at node i: `tokens` from `tokenFrom[i]` to `tokenFrom[i + 1]`. */
  tokens: Int32Array;
  tokenFrom: Int32Array;
}

/** First byte of each class. UTF-8 and JSON distinguish these; each punctuation mark of ASCII is a class of its own. */
const STARTS = [
  ...[0, 9, 10, 11, 13, 14, ...range(0x20, 0x30), 0x30, ...range(0x3a, 0x41), 0x41, ...range(0x5b, 0x61)],
  ...[0x61, ...range(0x7b, 0x80), 0x80, 0x90, 0xa0],
  ...[0xc0, 0xc2, 0xe0, 0xe1, 0xed, 0xee, 0xf0, 0xf1, 0xf4, 0xf5],
];
/** Number of byte classes. */
export const BYTE_CLASSES = STARTS.length;
/** [256]: class of each byte. */
export const BYTE_CLASS_OF = Uint8Array.from({ length: 256 }, (_, byte) =>
  STARTS.findLastIndex((start) => start <= byte),
);

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

export function createByteClassTries(trie: Trie): ByteClassTries {
  const merged = [merge(trie, () => false), merge(trie, (node) => isAfterFirstByte(trie, node))];
  const second = merged[0]!.labels.length;
  const nodes = second + merged[1]!.labels.length;
  const tries: ByteClassTries = {
    nodes,
    second,
    label: new Uint16Array(nodes),
    depth: new Uint16Array(nodes),
    subtreeEnd: new Int32Array(nodes),
    longest: new Uint16Array(nodes),
    members: new Int32Array(2 * trie.nodes),
    memberFrom: new Int32Array(nodes + 1),
    tokens: new Int32Array(0),
    tokenFrom: new Int32Array(nodes + 1),
  };
  merged.forEach((one, i) => flatten(one, i * second, tries));
  collectMembers(trie, merged, tries);
  return tries;
}

/** Fills `longest`, `members` and `tokens` of both tries. */
function collectMembers(trie: Trie, merged: readonly MergedTrie[], tries: ByteClassTries): void {
  const { nodes, longest, members, memberFrom, tokenFrom } = tries;
  const { token, sameBytes } = trie;
  for (const { nodeOf } of merged) {
    for (let node = 0; node < trie.nodes; node++) {
      const to = nodeOf[node]!;
      longest[to] = Math.max(longest[to]!, trie.longest[node]!);
      memberFrom[to + 1]!++;
      for (let id = token[node]!; id >= 0; id = sameBytes[id]!) tokenFrom[to + 1]!++;
    }
  }
  for (let node = 0; node < nodes; node++) {
    memberFrom[node + 1]! += memberFrom[node]!;
    tokenFrom[node + 1]! += tokenFrom[node]!;
  }
  const tokens = (tries.tokens = new Int32Array(tokenFrom[nodes]!));
  const nextMember = memberFrom.slice();
  const nextToken = tokenFrom.slice();
  for (const { nodeOf } of merged) {
    for (let node = 0; node < trie.nodes; node++) {
      const to = nodeOf[node]!;
      members[nextMember[to]!++] = node;
      for (let id = token[node]!; id >= 0; id = sameBytes[id]!) tokens[nextToken[to]!++] = id;
    }
  }
}

/** Whether the edge to a node is a token's first byte, or the byte after a leading space, which many tokens begin with. */
function isAfterFirstByte({ parent, byte }: Trie, node: number): boolean {
  const above = parent[node]!;
  return above === 0 || (parent[above] === 0 && byte[above] === 0x20);
}

/** A merged trie; nodes come after their parents. */
interface MergedTrie {
  /** [nodes of the byte trie]: the merged node. */
  nodeOf: Int32Array;
  parents: number[];
  labels: number[];
}

/** Merges nodes with equal byte classes, except those for which `isKept` holds, and their ancestors. */
function merge({ nodes, parent, byte }: Trie, isKept: (node: number) => boolean): MergedTrie {
  const nodeOf = new Int32Array(nodes);
  const parents = [0];
  const labels = [0];
  let child = new Int32Array(1024 * BYTE_CLASSES);
  for (let node = 1; node < nodes; node++) {
    const above = nodeOf[parent[node]!]!;
    const of = BYTE_CLASS_OF[byte[node]!]!;
    const kept = isKept(node);
    let to = kept ? 0 : child[above * BYTE_CLASSES + of]!;
    if (to === 0) {
      to = parents.push(above) - 1;
      labels.push(kept ? byte[node]! : 256 + of);
      if (!kept) child[above * BYTE_CLASSES + of] = to;
      if (parents.length * BYTE_CLASSES > child.length) {
        const larger = new Int32Array(2 * child.length);
        larger.set(child);
        child = larger;
      }
    }
    nodeOf[node] = to;
  }
  return { nodeOf, parents, labels };
}

/** Writes a trie from index `from` on in preorder, and renumbers `nodeOf` accordingly. */
function flatten(
  { nodeOf, parents, labels }: MergedTrie,
  from: number,
  { label, depth, subtreeEnd }: ByteClassTries,
): void {
  const count = parents.length;
  const child = new Int32Array(count);
  const sibling = new Int32Array(count);
  for (let node = count - 1; node > 0; node--) {
    sibling[node] = child[parents[node]!]!;
    child[parents[node]!] = node;
  }
  const placed = new Int32Array(count);
  let next = from;
  const visit = (node: number, at: number): void => {
    const to = (placed[node] = next++);
    label[to] = labels[node]!;
    depth[to] = at;
    for (let below = child[node]!; below > 0; below = sibling[below]!) visit(below, at + 1);
    subtreeEnd[to] = next;
  };
  visit(0, 0);
  for (let node = 0; node < nodeOf.length; node++) nodeOf[node] = placed[nodeOf[node]!]!;
}
