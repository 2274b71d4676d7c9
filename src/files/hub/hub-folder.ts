// A model on the hub as folders that are read over HTTP ranges: nothing is kept on disk.
import { badCheckpoint, modelNotFound } from '../error.ts';
import type { Folder } from '../source.ts';
import { isLayoutWeights } from '../tensors/tensor-file.ts';
import { openHub } from './hub-env.ts';
import { DiskCache } from './hub-disk.ts';
import type { ResolveOptions } from './hub.ts';
import { sessionOf, withHint } from './hub-resolve.ts';
import { chooseGguf, splitTag, withTower } from './hub-gguf.ts';
import { checkId, checkRevision } from './hub-id.ts';
import { RemoteFile } from './hub-remote.ts';

type HubFolderOptions = Pick<ResolveOptions, 'revision' | 'signal' | 'env' | 'limits'>;

/**
 * Opens folders of a model by its id, or by `id/component`; of a repository of GGUF files, those of the quantization behind the id or of
 * the one that is taken without. Errors: model_not_found, network, bad_request (the revision). If a
 * server ignores ranges, its response is read until the requested bytes have arrived.
 */
export async function openHubFolder(
  model: string,
  options: HubFolderOptions = {},
): Promise<(path: string) => Promise<Folder>> {
  const { id, tag } = splitTag(model);
  const source = await openHub(options.env ?? process.env);
  const cache = new DiskCache(source);
  await checkId(id, cache);
  const revision = checkRevision(options.revision || source.defaultRevision);
  if (source.offline) {
    throw modelNotFound(
      `${id} is not a folder, and ${source.offline} forbids asking the hub: give the folder of a model, or unset ${source.offline}`,
      'model',
    );
  }
  const session = sessionOf(source, options);
  const listing = await source.list(session, id, revision).catch(async (error: unknown) => {
    throw await withHint(error, id, source, cache);
  });
  const hasWeights = listing.files.some(({ path }) => isLayoutWeights(path));
  const gguf = tag === null && hasWeights ? null : chooseGguf(id, listing.files, tag);
  const parts = gguf && withTower(gguf.set.names[0]!, listing.files).map(({ path }) => path);
  return async (path) => {
    const prefix = path === id || path === model ? '' : `${path.slice(id.length + 1)}/`;
    const files = new Map(
      listing.files
        .filter(({ path: name }) => name.startsWith(prefix) && !name.slice(prefix.length).includes('/'))
        .map((file) => [file.path.slice(prefix.length), file]),
    );
    // A file in a folder of its own is a quantization, too.
    for (const name of parts ?? [])
      files.set(
        name,
        listing.files.find((file) => file.path === name)!,
      );
    return {
      path,
      names: async () => (parts === null || prefix !== '' ? [...files.keys()] : parts),
      async open(name) {
        const file = files.get(name);
        if (file === undefined)
          throw badCheckpoint(`${name} is missing from ${path} on ${source.name}`, name);
        const known = await source.describe(session, id, listing.commit, file);
        const url = source.fileUrl(id, revision, listing.commit, file.path);
        return new RemoteFile(source, session, { id, name, url, size: known.size });
      },
    };
  };
}
