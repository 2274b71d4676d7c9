// The cache on disk, as Python's huggingface_hub lays it out, so that both find each other's models:
//
//   models--org--name/blobs/<sha256 or etag>            the bytes, once each; <blob>.incomplete while they arrive
//                    /refs/<branch or tag>              a text file: the commit it stood for
//                    /snapshots/<commit>/<path>         relative links into blobs
import { randomUUID } from 'node:crypto';
import {
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, posix, relative } from 'node:path';
import { ggufSets } from '../gguf/file-names.ts';
import { isRecord } from '../source.ts';
import { readDiskJson } from '../source-disk.ts';
import { NO_FOLDERS, type PipelineFolders } from '../pipeline/pipeline-classes.ts';

export interface RepoCache {
  dir: string;
  blobs: string;
  snapshots: string;
  refs: string;
  locks: string;
}

export function repoCache(root: string, id: string): RepoCache {
  const folder = `models--${id.replaceAll('/', '--')}`;
  const dir = join(root, folder);
  return {
    dir,
    blobs: join(dir, 'blobs'),
    snapshots: join(dir, 'snapshots'),
    refs: join(dir, 'refs'),
    locks: join(root, '.locks', folder),
  };
}

/** Returns the size of a file, following links; null if it does not exist. */
export const sizeOf = (path: string): Promise<number | null> =>
  stat(path).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );

/** Returns a unique name for a file that will be renamed. */
const temporary = (path: string): string => `${path}.${randomUUID()}.tmp`;

const readRef = (repo: RepoCache, revision: string): Promise<string | null> =>
  readFile(join(repo.refs, revision), 'utf8').then(
    (text) => text.trim() || null,
    () => null,
  );

export async function writeRef(repo: RepoCache, revision: string, commit: string): Promise<void> {
  const path = join(repo.refs, revision);
  if (revision === commit || (await readRef(repo, revision)) === commit) return;
  await mkdir(dirname(path), { recursive: true });
  const fresh = temporary(path);
  await writeFile(fresh, commit);
  await rename(fresh, path);
}

/** Puts a blob into a snapshot: a relative link, else a hard link, else a copy. */
export async function linkFile(
  repo: RepoCache,
  commit: string,
  path: string,
  blob: string,
  symlinks: boolean,
): Promise<void> {
  const target = join(repo.blobs, blob);
  const pointer = join(repo.snapshots, commit, path);
  const place = relative(dirname(pointer), target);
  const size = await sizeOf(target);
  // Nothing to link: the snapshot contains the file itself, as Python leaves it on file systems without links.
  if (size === null) return;
  const present = await lstat(pointer).catch(() => null);
  const isLinked = present?.isSymbolicLink() && (await readlink(pointer)) === place;
  if (isLinked || (present?.isFile() && present.size === size)) return;

  await mkdir(dirname(pointer), { recursive: true });
  const fresh = temporary(pointer);
  const isMade = symlinks && (await succeeds(symlink(place, fresh)));
  if (!isMade && !(await succeeds(link(target, fresh)))) await copyFile(target, fresh);
  await rename(fresh, pointer);
}

const succeeds = (work: Promise<void>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Lists the files below a folder as slash-separated paths. */
export async function listFiles(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries
    .filter((entry) => !entry.isDirectory() && !entry.name.endsWith('.tmp'))
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}

/**
 * Lists files that a snapshot lacks, judged by its own contents: dangling links, shards that an index names, components that
 * model_index.json names, or all weights. An empty list means that it can be used without asking the hub.
 */
export async function snapshotGaps(dir: string, { unread }: PipelineFolders = NO_FOLDERS): Promise<string[]> {
  const paths = await listFiles(dir);
  const present = new Set<string>();
  for (const path of paths) if ((await sizeOf(join(dir, path))) !== null) present.add(path);
  const gaps = paths.filter((path) => !present.has(path));

  for (const path of present) {
    if (path.endsWith('.safetensors.index.json')) {
      const index = await readJson(join(dir, path));
      const map = index['weight_map'];
      const shards = new Set(isRecord(map) ? Object.values(map) : []);
      for (const shard of shards) {
        if (typeof shard !== 'string') continue;
        const shardPath = posix.join(posix.dirname(path), shard);
        if (!present.has(shardPath)) gaps.push(shardPath);
      }
    }
  }
  if (present.has('model_index.json')) {
    const components = Object.entries(await readJson(join(dir, 'model_index.json')));
    for (const [name, value] of components) {
      const isWanted = Array.isArray(value) && value[0] !== null && !unread.has(name);
      if (isWanted && ![...present].some((path) => path.startsWith(`${name}/`))) gaps.push(`${name}/`);
    }
  }
  const isWhole = ggufSets([...present]).some(({ names, count }) => names.length === count);
  if (!isWhole && ![...present].some((path) => path.endsWith('.safetensors'))) gaps.push('*.safetensors');
  return [...new Set(gaps)];
}

/** Returns {} for an unreadable file; opening it later reports the reason. */
const readJson = (path: string): Promise<Record<string, unknown>> => readDiskJson(path).catch(() => ({}));

/** The place of a branch's, tag's or commit's snapshot, whether or not it is there. */
export async function snapshotFolder(
  repo: RepoCache,
  revision: string,
): Promise<{ path: string; commit: string }> {
  const commit = (await readRef(repo, revision)) ?? revision;
  return { path: join(repo.snapshots, commit), commit };
}

/** Returns the snapshot of a branch, tag or commit if it is complete, or if `component` of a pipeline is. */
export async function cachedSnapshot(
  repo: RepoCache,
  revision: string,
  component?: string,
  folders?: PipelineFolders,
): Promise<{ path: string; commit: string } | null> {
  const { path, commit } = await snapshotFolder(repo, revision);
  if (!(await stat(path).catch(() => null))?.isDirectory()) return null;
  const isPart = component !== undefined && (await sizeOf(join(path, 'model_index.json'))) !== null;
  const gaps = isPart ? await componentGaps(path, component) : await snapshotGaps(path, folders);
  return gaps.length === 0 ? { path, commit } : null;
}

/** Files that one component of a pipeline lacks; other components are not checked. */
async function componentGaps(dir: string, component: string): Promise<string[]> {
  const gaps = await snapshotGaps(dir);
  return gaps.filter((gap) => gap.startsWith(`${component}/`));
}
