// The browser's storage as a page sees it: which hub its models come from, and which models are stored.

import type { CachedModel, RemovedModel } from '../../files/hub/hub-cache.ts';
import { splitTag } from '../../files/hub/hub-gguf.ts';
import { modelKey } from '../../files/opfs/opfs-cache.ts';
import { originStorage } from '../../files/opfs/storage.ts';
import { describeModels } from '../../files/hub/cached-models.ts';
import { removeStored } from '../../files/opfs/stored-models.ts';
import { PageStores } from '../../files/opfs/stores.ts';

/** The hub that a page's models come from. */
export interface HubAccess {
  /** Address of a hub with Hugging Face's interface; default: https://huggingface.co. */
  endpoint?: string;
  /** Access token, for private and gated models. It is sent to the endpoint only. */
  token?: string;
}

/** Lists the models in the browser's storage. */
export async function listModels(): Promise<CachedModel[]> {
  // The families bring the models with them, which a page loads in its worker only.
  const { pipelineFolders } = await import('../../engine/image/families/registry.ts');
  return describeModels(new PageStores(originStorage()).models, pipelineFolders());
}

/**
 * Removes a model, one revision of it (a branch, tag or commit) or one quantization of its GGUF files (owner/name:Q4_K_M) from the
 * browser's storage; files that other revisions use stay. Errors: model_not_found; bad_request while this page or a tab uses it.
 */
export function removeModel(model: string, options: { revision?: string } = {}): Promise<RemovedModel> {
  const { models, use } = new PageStores(originStorage());
  return removeStored(models, use, model, options.revision);
}

/** Asks the browser not to remove the page's storage by itself. It may ask the user, or refuse; models are stored all the same. */
export function askToPersist(): void {
  // Outside of secure contexts there is no storage, and in workers nobody to ask.
  const storage: Partial<StorageManager> | undefined = navigator.storage;
  storage?.persist?.().catch(() => false);
}

/** Keeps a stored model from being removed or evicted until the returned function is called, whether its worker runs or not. */
export function holdStored(model: string): Promise<() => Promise<void>> {
  return new PageStores(originStorage()).use.hold(modelKey(splitTag(model).id));
}
