// Resolves a model's name to a folder: a path is used unchanged; an id is looked up in the cache on disk, and missing files are
// downloaded from the hub.
import { shippedFolder } from '../shipped.ts';
import { DiskCache } from './hub-disk.ts';
import { openHub, type Env } from './hub-env.ts';
import { splitTag } from './hub-gguf.ts';
import { localPath, orMistypedPath } from './hub-local.ts';
import { resolveFromHub, type HubOptions, type ResolvedModel } from './hub-resolve.ts';

export type { HubEvent } from './hub-events.ts';
export type { ResolvedModel } from './hub-resolve.ts';

export interface ResolveOptions extends HubOptions {
  /** Replaces process.env. */
  env?: Env;
}

/**
 * Finds a model and downloads it if necessary. An existing path takes precedence over an id of the same name; shipped models are
 * found by name. Errors: model_not_found (also for an invalid name), bad_request (the revision), unsupported (no safetensors),
 * network, disk_full, bad_checkpoint (damaged twice), cancelled.
 */
export async function resolveModel(idOrPath: string, options: ResolveOptions = {}): Promise<ResolvedModel> {
  const local = await localPath(idOrPath);
  if (local !== null) return { path: local, id: idOrPath, revision: null };
  const model = splitTag(idOrPath);
  const shipped = shippedFolder(model.id);
  if (shipped !== null) return { path: shipped, id: model.id, revision: null };
  const source = await openHub(options.env ?? process.env);
  return orMistypedPath(idOrPath, resolveFromHub(model, { source, cache: new DiskCache(source) }, options));
}
