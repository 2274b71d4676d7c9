// The vocabulary as a tree of bytes, flattened in the order of a walk: a node, then all below it. Tokens that begin alike are judged
// together, and a node that leads nowhere is left with everything below it.

export interface Trie {
  /** Node 0 is the root. */
  nodes: number;
  /** [nodes]: the byte that leads to it. */
  byte: Uint8Array;
  /** [nodes]: bytes from the root. */
  depth: Uint16Array;
  /** [nodes]: the first node that is not below it. */
  end: Int32Array;
  /** [nodes]: the node above. */
  parent: Int32Array;
  /** [nodes]: bytes of the longest token at or below it. */
  longest: Uint16Array;
  /** [nodes]: the token of these bytes, or -1. */
  token: Int32Array;
  /** [vocabulary]: another token of the same bytes, or -1. */
  same: Int32Array;
  deepest: number;
}

/** Bytes of the longest token that a grammar offers. */
const LONGEST = 4096;

/** Tokens without bytes are left out. */
export function createTrie(ids: readonly number[], bytesOf: (id: number) => Uint8Array, size: number): Trie {
  const texts = joined(ids, bytesOf);
  const { data, from, to } = texts;
  const order = inByteOrder(texts);
  /** Bytes that each has in common with the one before it. */
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
    end: new Int32Array(nodes),
    parent: new Int32Array(nodes),
    longest: new Uint16Array(nodes),
    token: new Int32Array(nodes).fill(-1),
    same: new Int32Array(size).fill(-1),
    deepest,
  };
  const { byte, depth, end, parent, longest, token, same } = trie;
  // Nodes on the way to the last one.
  const path = new Int32Array(deepest + 1);
  let length = 0;
  let made = 1;
  for (let i = 0; i < order.length; i++) {
    const begin = from[order[i]!]!;
    for (; length > shared[i]!; length--) end[path[length]!] = made;
    for (; begin + length < to[order[i]!]!; made++) {
      parent[made] = path[length]!;
      byte[made] = data[begin + length]!;
      depth[made] = ++length;
      path[length] = made;
    }
    const node = path[length]!;
    const id = texts.ids[order[i]!]!;
    same[id] = token[node]!;
    token[node] = id;
  }
  for (; length >= 0; length--) end[path[length]!] = nodes;
  for (let node = nodes - 1; node > 0; node--) {
    // What has nothing below it is a token.
    if (longest[node] === 0) longest[node] = depth[node]!;
    longest[parent[node]!] = Math.max(longest[parent[node]!]!, longest[node]!);
  }
  return trie;
}

/** Byte strings in one array; the bytes of text i are from `from[i]` to `to[i]`. */
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
    if (bytes.length === 0 || bytes.length > LONGEST) continue;
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

/** Ranges of fewer texts are sorted by comparing them. */
const FEW = 24;
/** Above the number of a text in a key to sort by: so many tokens there may be. */
const MOST_TEXTS = 2 ** 20;

/** Numbers of the texts, sorted by their bytes: by four of them, then each range of equals by the next four. */
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
      // As long as all that there may be: the same text, or zeros at its end.
      if (at + 4 < LONGEST) todo.push([first, i + 1, at + 4]);
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

/** Where bytes lead, a character each; -1: no token begins so. */
export function nodeAt(trie: Trie, bytes: string): number {
  let node = 0;
  for (let at = 0; at < bytes.length && node >= 0; at++) node = childOf(trie, node, bytes.charCodeAt(at));
  return node;
}

export function childOf(trie: Trie, node: number, byte: number): number {
  for (let at = node + 1; at < trie.end[node]!; at = trie.end[at]!) if (trie.byte[at] === byte) return at;
  return -1;
}
