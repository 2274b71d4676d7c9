// The nodes of a syntax tree, whatever their kind.

export interface SyntaxNode {
  readonly kind: string;
  readonly [member: string]: unknown;
}

/** Sees every node below `tree` in source order, a node before its parts. */
export function walk(tree: unknown, see: (node: SyntaxNode) => void): void {
  if (Array.isArray(tree)) {
    for (const part of tree) walk(part, see);
  } else if (typeof tree === 'object' && tree !== null) {
    if (isNode(tree)) see(tree);
    for (const part of Object.values(tree)) walk(part, see);
  }
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'kind' in value && typeof value.kind === 'string';
}

/** Names that are read below `tree`, other than those that were set before. */
export function namesRead(tree: unknown): Set<string> {
  const names = new Set<string>();
  const written = new Set<string>();
  walk(tree, ({ kind, name }) => {
    if (kind === 'target name') written.add(String(name));
    else if ((kind === 'name' || kind === 'target member') && !written.has(String(name)))
      names.add(String(name));
  });
  return names;
}
