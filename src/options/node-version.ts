// The oldest version of Node that the package runs on, as package.json states it. Older ones lack functions that are used everywhere.

const OLDEST = { major: 20, minor: 19 };

/** Returns a sentence for a version that is too old; null for others, and where there is no Node. */
export function nodeProblem({ node }: { readonly node?: string | undefined }): string | null {
  if (node === undefined) return null;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return null;
  return `svc-engine needs Node ${OLDEST.major}.${OLDEST.minor} or later, and this is Node ${node}: install a newer one from https://nodejs.org`;
}
