// Paths with slashes, taken apart: those of repositories and archives, which are the same on every system.

/** The path of the folder that contains a file; '' for a file at the root. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** The last segment of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The last segment's ending with its point; '' without one, as in `.gitattributes`. */
export function extensionOf(path: string): string {
  const name = nameOf(path);
  const point = name.lastIndexOf('.');
  return point <= 0 ? '' : name.slice(point);
}
