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
  /** Nodes by the byte that leads to them: those of byte b are from `firstOf[b]` to `firstOf[b + 1]`. */
  byByte: Int32Array;
  firstOf: Int32Array;
}

/** Tokens without bytes are left out. */
export function createTrie(
  tokens: readonly (readonly [id: number, bytes: Uint8Array])[],
  size: number,
): Trie {
  const most = tokens.reduce((sum, [, bytes]) => sum + bytes.length, 1);
  const byte = new Uint8Array(most);
  const token = new Int32Array(most).fill(-1);
  const child = new Int32Array(most);
  const sibling = new Int32Array(most);
  const same = new Int32Array(size).fill(-1);
  const roots = new Int32Array(256);
  let nodes = 1;
  let deepest = 0;
  const childOf = (node: number, wanted: number): number => {
    if (node === 0 && roots[wanted]! > 0) return roots[wanted]!;
    if (node > 0) {
      for (let at = child[node]!; at > 0; at = sibling[at]!) if (byte[at] === wanted) return at;
    }
    const made = nodes++;
    byte[made] = wanted;
    sibling[made] = child[node]!;
    child[node] = made;
    if (node === 0) roots[wanted] = made;
    return made;
  };
  for (const [id, bytes] of tokens) {
    if (bytes.length === 0 || bytes.length > 0xffff) continue;
    let node = 0;
    for (const each of bytes) node = childOf(node, each);
    if (token[node]! >= 0) same[id] = token[node]!;
    token[node] = id;
    deepest = Math.max(deepest, bytes.length);
  }
  return flatten({ nodes, byte, token, child, sibling, same, deepest });
}

interface Linked {
  nodes: number;
  byte: Uint8Array;
  token: Int32Array;
  child: Int32Array;
  sibling: Int32Array;
  same: Int32Array;
  deepest: number;
}

function flatten({ nodes, byte, token, child, sibling, same, deepest }: Linked): Trie {
  const flat: Trie = {
    nodes,
    byte: new Uint8Array(nodes),
    depth: new Uint16Array(nodes),
    end: new Int32Array(nodes),
    parent: new Int32Array(nodes),
    longest: new Uint16Array(nodes),
    token: new Int32Array(nodes),
    same,
    deepest,
    byByte: new Int32Array(nodes),
    firstOf: new Int32Array(257),
  };
  const open: number[] = []; // flat nodes whose end is still to come
  const todo: [linked: number, depth: number][] = [[0, 0]];
  let at = 0;
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [linked, depth] = next;
    while (open.length > depth) flat.end[open.pop()!] = at;
    flat.parent[at] = open.at(-1) ?? 0;
    open.push(at);
    flat.byte[at] = byte[linked]!;
    flat.depth[at] = depth;
    flat.token[at] = token[linked]!;
    at++;
    for (let each = child[linked]!; each > 0; each = sibling[each]!) todo.push([each, depth + 1]);
  }
  for (const each of open) flat.end[each] = nodes;
  for (let node = nodes - 1; node > 0; node--) {
    const { longest, parent } = flat;
    if (flat.token[node]! >= 0) longest[node] = Math.max(longest[node]!, flat.depth[node]!);
    longest[parent[node]!] = Math.max(longest[parent[node]!]!, longest[node]!);
  }
  for (let node = 1; node < nodes; node++) flat.firstOf[flat.byte[node]! + 1]!++;
  for (let i = 0; i < 256; i++) flat.firstOf[i + 1]! += flat.firstOf[i]!;
  const fill = flat.firstOf.slice();
  for (let node = 1; node < nodes; node++) flat.byByte[fill[flat.byte[node]!]!++] = node;
  return flat;
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
