// The vocabulary as a trie of bytes, flattened in preorder: a node, then its subtree. A traversal judges tokens with a common prefix
// together, and skips the subtree of a node that no match takes.

export interface Trie {
  /** Number of nodes; node 0 is the root. */
  nodes: number;
  /** [nodes]: the byte on the edge to the node. */
  byte: Uint8Array;
  /** [nodes]: bytes from the root. */
  depth: Uint16Array;
  /** [nodes]: the first node after the subtree. */
  subtreeEnd: Int32Array;
  parent: Int32Array;
  /** [nodes]: bytes of the longest token in the subtree. */
  longest: Uint16Array;
  /** [nodes]: a token with exactly these bytes, or -1. */
  token: Int32Array;
  /** [vocabulary]: another token with the same bytes, or -1: a linked list from `token`. */
  sameBytes: Int32Array;
  /** Bytes of the longest token. */
  deepest: number;
}

/** Longer tokens are left out: no grammar offers them. */
const MOST_TOKEN_BYTES = 4096;

/** The trie of the tokens `ids`; those without bytes are left out. `size`: tokens of the vocabulary. */
export function createTrie(ids: readonly number[], bytesOf: (id: number) => Uint8Array, size: number): Trie {
  const texts = joined(ids, bytesOf);
  const { from, to } = texts;
  const order = inByteOrder(texts);
  /** Length of the common prefix of each text and the one before it. */
  const shared = order.map((text, i) => (i === 0 ? 0 : sharedBytes(texts, order[i - 1]!, text)));
  let nodes = 1;
  let deepest = 0;
  order.forEach((text, i) => {
    nodes += to[text]! - from[text]! - shared[i]!;
    deepest = Math.max(deepest, to[text]! - from[text]!);
  });
  const trie: Trie = {
    nodes,
    byte: new Uint8Array(nodes),
    depth: new Uint16Array(nodes),
    subtreeEnd: new Int32Array(nodes),
    parent: new Int32Array(nodes),
    longest: new Uint16Array(nodes),
    token: new Int32Array(nodes).fill(-1),
    sameBytes: new Int32Array(size).fill(-1),
    deepest,
  };
  fillNodes(trie, texts, order, shared);
  return trie;
}

function fillNodes(trie: Trie, texts: Texts, order: Int32Array, shared: Int32Array): void {
  const { nodes, byte, depth, subtreeEnd, parent, longest, token, sameBytes, deepest } = trie;
  const { data, from, to } = texts;
  // Nodes on the path to the latest one.
  const path = new Int32Array(deepest + 1);
  let length = 0;
  let made = 1;
  for (let i = 0; i < order.length; i++) {
    const begin = from[order[i]!]!;
    for (; length > shared[i]!; length--) subtreeEnd[path[length]!] = made;
    for (; begin + length < to[order[i]!]!; made++) {
      parent[made] = path[length]!;
      byte[made] = data[begin + length]!;
      depth[made] = ++length;
      path[length] = made;
    }
    const node = path[length]!;
    const id = texts.ids[order[i]!]!;
    sameBytes[id] = token[node]!;
    token[node] = id;
  }
  for (; length >= 0; length--) subtreeEnd[path[length]!] = nodes;
  for (let node = nodes - 1; node > 0; node--) {
    // A leaf is the end of a token.
    if (longest[node] === 0) longest[node] = depth[node]!;
    longest[parent[node]!] = Math.max(longest[parent[node]!]!, longest[node]!);
  }
}

/** Byte strings in one array: the bytes of text i are those from `from[i]` to `to[i]`. */
interface Texts {
  ids: Int32Array;
  data: Uint8Array;
  from: Int32Array;
  to: Int32Array;
}

function joined(ids: readonly number[], bytesOf: (id: number) => Uint8Array): Texts {
  let data = new Uint8Array(2 ** 20);
  const kept = new Int32Array(ids.length);
  const ends = new Int32Array(ids.length);
  let count = 0;
  let end = 0;
  for (const id of ids) {
    const bytes = bytesOf(id);
    if (bytes.length === 0 || bytes.length > MOST_TOKEN_BYTES) continue;
    if (end + bytes.length > data.length) {
      const larger = new Uint8Array(2 * data.length);
      larger.set(data);
      data = larger;
    }
    data.set(bytes, end);
    kept[count] = id;
    ends[count++] = end += bytes.length;
  }
  const to = ends.subarray(0, count);
  const from = new Int32Array(count);
  from.set(to.subarray(0, -1), 1);
  return { ids: kept.subarray(0, count), data, from, to };
}

/** Ranges of fewer texts are sorted by insertion. */
const FEW = 24;
/** Most tokens. A sort key is four bytes times this number, plus the number of the text. */
const MOST_TEXTS = 2 ** 20;

/** Numbers of the texts sorted by their bytes: by the first four, then each range of equals by the next four. */
function inByteOrder(texts: Texts): Int32Array {
  const { data, from, to } = texts;
  const order = from.map((_, i) => i);
  const keys = new Float64Array(order.length);
  const todo: [begin: number, end: number, at: number][] = [[0, order.length, 0]];
  for (let range = todo.pop(); range !== undefined; range = todo.pop()) {
    const [begin, end, at] = range;
    if (end - begin < FEW) {
      sortFew(texts, order.subarray(begin, end));
      continue;
    }
    for (let i = begin; i < end; i++) {
      const text = order[i]!;
      let key = 0;
      for (let k = from[text]! + at; k < from[text]! + at + 4; k++)
        key = key * 256 + (k < to[text]! ? data[k]! : 0);
      keys[i] = key * MOST_TEXTS + text;
    }
    keys.subarray(begin, end).sort();
    for (let i = begin; i < end; i++) order[i] = keys[i]! % MOST_TEXTS;
    for (let i = begin, first = begin; i < end; i++) {
      if (i + 1 < end && Math.floor(keys[i + 1]! / MOST_TEXTS) === Math.floor(keys[first]! / MOST_TEXTS))
        continue;
      // Past the length limit equals are the same text, or differ in zeros at the end.
      if (at + 4 < MOST_TOKEN_BYTES) todo.push([first, i + 1, at + 4]);
      first = i + 1;
    }
  }
  return order;
}

function sortFew(texts: Texts, order: Int32Array): void {
  for (let i = 1; i < order.length; i++) {
    const text = order[i]!;
    let place = i;
    for (; place > 0 && isBefore(texts, text, order[place - 1]!); place--) order[place] = order[place - 1]!;
    order[place] = text;
  }
}

function isBefore(texts: Texts, a: number, b: number): boolean {
  const { data, from, to } = texts;
  const shared = sharedBytes(texts, a, b);
  if (from[b]! + shared === to[b]) return false;
  return from[a]! + shared === to[a] || data[from[a]! + shared]! < data[from[b]! + shared]!;
}

function sharedBytes({ data, from, to }: Texts, a: number, b: number): number {
  const least = Math.min(to[a]! - from[a]!, to[b]! - from[b]!);
  let shared = 0;
  while (shared < least && data[from[a]! + shared] === data[from[b]! + shared]) shared++;
  return shared;
}

/** The node of a byte string, one byte per UTF-16 unit; -1: no token begins so. */
export function nodeAt(trie: Trie, bytes: string): number {
  let node = 0;
  for (let at = 0; at < bytes.length && node >= 0; at++) node = childOf(trie, node, bytes.charCodeAt(at));
  return node;
}

/** The child for a byte; -1: none. */
export function childOf(trie: Trie, node: number, byte: number): number {
  for (let at = node + 1; at < trie.subtreeEnd[node]!; at = trie.subtreeEnd[at]!)
    if (trie.byte[at] === byte) return at;
  return -1;
}
