// Models of a hub in the browser's storage, with the components that the image families declare, and weights packed from them.

import type { WeightsOrigin } from '../../files/checkpoint/packed-file.ts';
import { type EngineError, modelNotFound } from '../../files/error.ts';
import { splitTag } from '../../files/hub/hub-gguf.ts';
import { endpointOf, HUGGING_FACE, huggingFace } from '../../files/hub/hub-huggingface.ts';
import { checkId } from '../../files/hub/hub-id.ts';
import { resolveFromHub, type HubOptions, type ResolvedModel } from '../../files/hub/hub-resolve.ts';
import type { HubSource } from '../../files/hub/hub-source.ts';
import { modelKey, STORED } from '../../files/opfs/opfs-cache.ts';
import { storedPath } from '../../files/opfs/stored-folder.ts';
import type { PageStores } from '../../files/opfs/stores.ts';
import { identitiesOf } from '../../files/page/file-identity.ts';
import { pipelineFolders } from '../../engine/image/families/registry.ts';
import type { GivenFiles } from './folders.ts';
import type { HubAccess } from './page-storage.ts';
import type { PackedCache, PackedSlot } from '../../engine/platform/platform.ts';

/** Finds models of the hub in the browser's storage, and downloads what is missing. */
export function hubResolver(
  stores: PageStores,
  access: HubAccess,
): (model: string, options: HubOptions) => Promise<ResolvedModel> {
  return async (model, options) => {
    if (SHIPPED.test(model)) throw notServed(model);
    const source = sourceOf(access);
    const tagged = splitTag(model);
    await checkId(tagged.id, stores.models);
    await stores.use.keep(modelKey(tagged.id));
    return resolveFromHub(
      tagged,
      { source, cache: stores.models },
      { ...options, pipelines: pipelineFolders() },
    );
  };
}

/** Names of models and tokenizers in the package. */
const SHIPPED = /^(svc-[\w-]+|\w+-tokenizer)$/;

function notServed(name: string): EngineError {
  return modelNotFound(
    `${name} is in the folder models of the package svc-engine, which a page cannot open by name: serve its files, and pass them in place of the name`,
    'model',
  );
}

function sourceOf({ endpoint, token }: HubAccess): HubSource {
  const address = endpointOf('hub.endpoint', endpoint, HUGGING_FACE);
  return huggingFace({
    endpoint: address,
    endpointVariable: 'hub.endpoint',
    token: token?.trim() || null,
    tokenVariable: 'hub.token',
    offline: null,
    inPage: true,
    unreachableRemedy: (id) =>
      `check the network, and that ${address} answers pages of other origins, or pass the files of ${id} as model`,
  });
}

/** The cache of packed weights of models in the browser's storage, and of files that the page gave. */
export function packedCache(stores: PageStores, files: GivenFiles): PackedCache {
  return packedBy(stores, (path, shards) =>
    storedPath(path) ? storedOrigin(stores, path, shards) : givenOrigin(files, path, shards),
  );
}

/**
 * A cache of packed weights. `originOf` identifies the version of the shards from which weights are packed; null: it is not known, as
 * with files that the page reads itself, and they are packed each time.
 */
export function packedBy(
  stores: PageStores,
  originOf: (path: string, shards: readonly string[]) => Promise<WeightsOrigin | null>,
): PackedCache {
  return {
    async slot({ path, shards, quantization, layout }): Promise<PackedSlot> {
      const origin = await originOf(path, shards);
      if (origin === null) return { read: async () => null, write: async () => {}, remove: async () => {} };
      const identity = JSON.stringify({ ...origin, quantization, layout });
      const version = { folder: origin.folder, quantization, identity };
      return {
        // Weights are packed again if the storage cannot be read.
        read: () => stores.packed.read(version).catch(() => null),
        write: (entries) => stores.packed.write(version, entries),
        remove: () => stores.packed.remove(version),
      };
    },
  };
}

/** A checkpoint of the hub is known by the digests of its files. */
async function storedOrigin(
  stores: PageStores,
  path: string,
  shards: readonly string[],
): Promise<WeightsOrigin | null> {
  const { id, commit, inner } = storedPath(path)!;
  const folder = rootOf(inner, shards);
  const snapshot = (await stores.models.repo(id).record()).snapshots.get(commit);
  const files = shards.toSorted().map((name) => {
    const file = snapshot?.get(joined(folder, name));
    return file && [name, file.blob, file.size];
  });
  if (!files.every((file) => file !== undefined)) return null;
  return { folder: joined(`${STORED}${id}`, folder), files };
}

async function givenOrigin(
  given: GivenFiles,
  path: string,
  shards: readonly string[],
): Promise<WeightsOrigin | null> {
  const root = Object.keys(given).find((name) => path === name || path.startsWith(`${name}/`));
  if (root === undefined) return null;
  const folder = rootOf(path.slice(root.length + 1), shards);
  const files = await identitiesOf(given[root]!, folder, shards.toSorted());
  return files && { folder: joined(root, folder), files };
}

const joined = (...parts: string[]): string => parts.filter((part) => part !== '').join('/');

/** The folder of the shards: a path names the folder, or one of its files. */
function rootOf(inner: string, shards: readonly string[]): string {
  const segments = inner.split('/');
  return shards.includes(segments.at(-1)!) ? segments.slice(0, -1).join('/') : inner;
}
