// Models of a hub and of its cache on disk, with the components that the image families declare.

import type { CachedModel } from '../../files/hub/hub-cache.ts';
import { listModels as listCached, type ListOptions } from '../../files/hub/hub-list.ts';
import {
  resolveModel as resolveFrom,
  type ResolvedModel,
  type ResolveOptions as HubOptions,
} from '../../files/hub/hub.ts';

export type ResolveOptions = Omit<HubOptions, 'pipelines' | 'onFiles'>;

/**
 * Finds a model and downloads it if necessary. An existing path takes precedence over an id of the same name; shipped models are
 * found by name. Errors: model_not_found (also for an invalid name), bad_request (the revision), unsupported (no safetensors),
 * network, disk_full, bad_checkpoint (damaged twice), cancelled.
 */
export async function resolveModel(idOrPath: string, options: ResolveOptions = {}): Promise<ResolvedModel> {
  const { pipelineFolders } = await import('../../engine/image/families/registry.ts');
  return resolveFrom(idOrPath, { ...options, pipelines: pipelineFolders() });
}

/** Lists the models in the hub's cache. */
export async function listModels(options: Omit<ListOptions, 'pipelines'> = {}): Promise<CachedModel[]> {
  const { pipelineFolders } = await import('../../engine/image/families/registry.ts');
  return listCached({ ...options, pipelines: pipelineFolders() });
}
