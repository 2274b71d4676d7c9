// Weights in one file of tensors, or in several with an index of the tensors' files. Opening reads headers only.

import { badCheckpoint, EngineError } from '../error.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import { readTensorFile } from '../tensors/tensor-file.ts';
import { isRecord, keepingOpen, readJson, type ByteSource, type Folder } from '../source.ts';

export interface Weights {
  tensors: Map<string, TensorEntry>;
  sources: ByteSource[];
  /** The file, or the index of them, for messages. */
  path: string;
}

/** Opens the weights in one file, or in the shards that the index file `name` lists. After an error nothing stays open. */
export async function openShards(folder: Folder, names: readonly string[], name: string): Promise<Weights> {
  const index = name.endsWith('.json') ? await readShardIndex(folder, names, name) : null;
  const shards = index === null ? [name] : [...new Set(index.values())];
  const opened = await Promise.allSettled(shards.map((shard) => folder.open(shard)));
  const sources = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  return keepingOpen(sources, async () => {
    const failed = opened.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const tensors = await readHeaders(folder, sources);
    for (const [tensor, shard] of index ?? []) {
      const found = tensors.get(tensor)?.source.name;
      if (found === shard) continue;
      const instead = found === undefined ? 'does not' : `stands in ${found}`;
      throw broken(tensor, `should stand in ${shard} by ${name}, and ${instead}`);
    }
    return { tensors, sources, path: `${folder.path}/${name}` };
  });
}

async function readHeaders(folder: Folder, sources: ByteSource[]): Promise<Map<string, TensorEntry>> {
  const tensors = new Map<string, TensorEntry>();
  for (const source of sources) {
    const found = await readTensorFile(source).catch((error: unknown) => {
      throw error instanceof EngineError ? error.underName(`${source.name} in ${folder.path}`) : error;
    });
    for (const entry of found.tensors.values()) {
      const other = tensors.get(entry.name);
      if (other !== undefined) {
        throw broken(entry.name, `stands in both ${other.source.name} and ${source.name}`);
      }
      tensors.set(entry.name, entry);
    }
  }
  return tensors;
}

/** Tensor name → shard, each shard known to be there. */
async function readShardIndex(
  folder: Folder,
  names: readonly string[],
  name: string,
): Promise<Map<string, string>> {
  const { weight_map: map } = await readJson(folder, name);
  const wrong = (reason: string) =>
    badCheckpoint(`${name} ${reason}: put the published file in its place`, name);
  if (!isRecord(map)) throw wrong('has no weight_map');
  const entries = Object.entries(map).map(([tensor, shard]): [string, string] => {
    if (typeof shard !== 'string' || !/^[^/\\]+\.(safetensors|bin)$/.test(shard)) {
      throw wrong(`puts ${tensor} into ${JSON.stringify(shard)}, which is not a file name in the folder`);
    }
    return [tensor, shard];
  });
  const missing = entries.map(([, shard]) => shard).find((shard) => !names.includes(shard));
  if (missing !== undefined) {
    const count = entries.filter(([, shard]) => shard === missing).length;
    throw badCheckpoint(
      `${missing} is missing from ${folder.path} (${count} of ${entries.length} tensors): fetch the checkpoint again, what is there is kept`,
      missing,
    );
  }
  return new Map(entries);
}

function broken(tensor: string, reason: string): EngineError {
  return badCheckpoint(`tensor ${tensor} ${reason}: take the index and its shards from one revision`, tensor);
}
