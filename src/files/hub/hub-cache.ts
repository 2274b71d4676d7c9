// Interface of the cache of models: a store of blobs by their digests, and snapshots that name them. The disk implements it in
// hub-disk.ts, a browser's private file system in files/opfs/.
import { ggufSets } from '../gguf/file-names.ts';
import { NO_FOLDERS, type PipelineFolders } from '../pipeline/pipeline-classes.ts';
import { folderOf } from '../posix-path.ts';
import { isRecord } from '../source.ts';
import { isLayoutWeights, isSafetensors } from '../tensors/tensor-file.ts';
import type { KnownFile } from './hub-source.ts';

export interface ModelCache {
  /** Name of the place in messages: a folder, or a description. */
  readonly place: string;
  /** Ids of the models, complete or not, in alphabetical order. */
  ids(): Promise<string[]>;
  repo(id: string): RepoCache;
  hasher(kind: 'sha1' | 'sha256'): Hasher;
  /** Converts an error of the storage to an EngineError; resolves to other errors unchanged. */
  errorOf(error: unknown, id: string): Promise<unknown>;
}

export interface Hasher {
  update(bytes: Uint8Array): void;
  /** The digest in hexadecimal; the hasher cannot be used afterwards. */
  hex(): string;
}

export interface CachedFile {
  /** Path in the snapshot. */
  path: string;
  /** null: the snapshot names the file and its content is missing. */
  size: number | null;
}

/** The cached files of one model. */
export interface RepoCache {
  readonly id: string;
  /** The folder of the repository's files; where they are not on a disk, a text that names the storage. */
  readonly path: string;
  /** Commits by branch or tag. */
  refs(): Promise<ReadonlyMap<string, string>>;
  /** Commits that have a snapshot. */
  commits(): Promise<string[]>;
  /** Bytes in the cache, with shared files counted once and unfinished downloads included. */
  bytes(): Promise<number>;
  /** The commit of a branch or tag; null: unknown. */
  commitOf(revision: string): Promise<string | null>;
  writeRef(revision: string, commit: string): Promise<void>;
  /** The path by which a snapshot is opened, whether or not it exists. */
  pathOf(commit: string): string;
  /** Files of a snapshot; an empty list if it does not exist. */
  files(commit: string): Promise<CachedFile[]>;
  /** A JSON object in a snapshot; {} for an unreadable file, because opening it later reports the reason. */
  readJson(commit: string, path: string): Promise<Record<string, unknown>>;
  /** Puts files whose blobs are complete into a snapshot. */
  link(commit: string, files: readonly KnownFile[]): Promise<void>;
  /** Whether a file is complete, as a blob or in the snapshot. */
  has(commit: string, file: KnownFile): Promise<boolean>;
  /** Whether a file's blob is complete. */
  hasBlob(file: KnownFile): Promise<boolean>;
  /** Bytes of a blob that an interrupted download has left. */
  partialBytes(blob: string): Promise<number>;
  /** Makes ready for a download of `need` bytes. Throws disk_full. */
  prepare(need: number): Promise<void>;
  /**
   * Waits for the lock of a blob. `onWait` is called at intervals while another process, or another tab of the browser (null), holds it.
   * Throws cancelled.
   */
  lock(
    blob: string,
    signal: AbortSignal | undefined,
    onWait: (pid: number | null) => Promise<void>,
  ): Promise<BlobLock>;
  /** Opens the partial file of a blob, and creates it if necessary. */
  openPartial(blob: string): Promise<PartialFile>;
  removePartial(blob: string): Promise<void>;
  /** Makes a complete partial file the blob. */
  finish(file: KnownFile): Promise<void>;
}

export interface BlobLock {
  release(): Promise<void>;
}

/** A blob while it arrives; always a prefix of the complete file. */
export interface PartialFile {
  size(): Promise<number>;
  /** Removes all bytes. */
  empty(): Promise<void>;
  readInto(offset: number, target: Uint8Array<ArrayBuffer>): Promise<void>;
  write(offset: number, bytes: Uint8Array): Promise<void>;
  /** Makes the bytes survive a power failure. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface CachedModel {
  id: string;
  revisions: CachedRevision[];
  /** Bytes in the cache, with shared files counted once and unfinished downloads included. */
  bytes: number;
  path: string;
  /** Bytes of the largest revision. */
  files: number;
  /** Whether at least one revision can be used without the network. */
  complete: boolean;
}

export interface CachedRevision {
  commit: string;
  /** The branches and tags that refer to it. */
  refs: string[];
  files: number;
  path: string;
  /** Quantizations of its GGUF files. */
  quantizations: string[];
  complete: boolean;
}

export interface RemovedModel {
  id: string;
  /** Bytes that were freed. */
  bytes: number;
}

export interface Snapshot {
  path: string;
  commit: string;
}

/** The place of a branch's, tag's or commit's snapshot, whether or not it exists. */
export async function snapshotOf(repo: RepoCache, revision: string): Promise<Snapshot> {
  const commit = (await repo.commitOf(revision)) ?? revision;
  return { path: repo.pathOf(commit), commit };
}

/** Returns the snapshot of a branch, tag or commit if it is complete, or if `component` of a pipeline is. */
export async function cachedSnapshot(
  repo: RepoCache,
  revision: string,
  component?: string,
  folders?: PipelineFolders,
): Promise<Snapshot | null> {
  const snapshot = await snapshotOf(repo, revision);
  const files = await repo.files(snapshot.commit);
  if (files.length === 0) return null;
  const isPart =
    component !== undefined && files.some(({ path, size }) => path === PIPELINE_INDEX && size !== null);
  const read = (path: string): Promise<Record<string, unknown>> => repo.readJson(snapshot.commit, path);
  const gaps = await snapshotGaps(files, read, isPart ? undefined : folders);
  const relevant = isPart ? gaps.filter((gap) => gap.startsWith(`${component}/`)) : gaps;
  return relevant.length === 0 ? snapshot : null;
}

/** Returns the place of one file of a snapshot if it has arrived. */
export async function cachedFile(repo: RepoCache, revision: string, name: string): Promise<Snapshot | null> {
  const { path, commit } = await snapshotOf(repo, revision);
  const files = await repo.files(commit);
  return files.some((file) => file.path === name && file.size !== null)
    ? { path: `${path}/${name}`, commit }
    : null;
}

const PIPELINE_INDEX = 'model_index.json';

/**
 * Lists files that a snapshot lacks, judged by its own contents: files without content, shards that an index names, components that
 * model_index.json names, or all weights. An empty list means that it can be used without asking the hub.
 */
export async function snapshotGaps(
  files: readonly CachedFile[],
  readJson: (path: string) => Promise<Record<string, unknown>>,
  { unread }: PipelineFolders = NO_FOLDERS,
): Promise<string[]> {
  const present = new Set(files.filter(({ size }) => size !== null).map(({ path }) => path));
  const gaps = files.filter(({ size }) => size === null).map(({ path }) => path);
  for (const path of present) {
    if (!/\.(safetensors|bin)\.index\.json$/.test(path)) continue;
    // Other programs fetch the index of torch's shards beside whole weights.
    if (
      path.endsWith('.bin.index.json') &&
      [...present].some((one) => isSafetensors(one) && folderOf(one) === folderOf(path))
    )
      continue;
    const map = (await readJson(path))['weight_map'];
    const folder = path.slice(0, path.lastIndexOf('/') + 1);
    for (const shard of new Set(isRecord(map) ? Object.values(map) : []))
      if (typeof shard === 'string' && !present.has(`${folder}${shard}`)) gaps.push(`${folder}${shard}`);
  }
  if (present.has(PIPELINE_INDEX)) {
    for (const [name, value] of Object.entries(await readJson(PIPELINE_INDEX))) {
      const isWanted = Array.isArray(value) && value[0] !== null && !unread.has(name);
      if (isWanted && ![...present].some((path) => path.startsWith(`${name}/`))) gaps.push(`${name}/`);
    }
  }
  const isWhole = ggufSets([...present]).some(({ names, count }) => names.length === count);
  if (!isWhole && ![...present].some(isLayoutWeights)) gaps.push('*.safetensors');
  return [...new Set(gaps)];
}
