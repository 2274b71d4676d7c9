// Files of models in memory, of which headers alone matter: opened as pipelines, and all components checked against the pages that read them.

import { expect } from 'vitest';
import { knownPipelines, pipelineEntry } from '../../../src/engine/image/families/registry.ts';
import { componentHeaders, PageCollector } from '../../../src/engine/image/planned-components.ts';
import { EngineError } from '../../../src/files/error.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { assertRange, type ByteSource, type Folder } from '../../../src/files/source.ts';
import {
  openPipeline,
  type Pipeline,
  type PipelineOptions,
} from '../../../src/files/pipeline/pipeline-index.ts';
import type { Weights } from '../../../src/files/checkpoint/shards.ts';
import { safetensorsHead } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { readUpscaler } from '../../../src/models/image/upscalers/upscaler.ts';
import { mutations } from '../../files/gguf/mutations.ts';
import { memorySource } from '../../files/memory-source.ts';
import type { StoredTensor } from './tiny-tensors.ts';

/** A file with zeros for the values of its tensors. */
export interface Headed {
  head: Uint8Array;
  /** Bytes behind the head. */
  zeros: number;
}

function headedSource(name: string, { head, zeros }: Headed): ByteSource {
  const own = { name, size: head.length + zeros };
  const readInto = async (offset: number, target: Uint8Array<ArrayBuffer>): Promise<void> => {
    assertRange(own, offset, target.length);
    target.fill(0).set(head.subarray(offset, offset + target.length));
  };
  return {
    ...own,
    readInto,
    close: async () => {},
    async read(offset, length) {
      assertRange(own, offset, length);
      const target = new Uint8Array(length);
      await readInto(offset, target);
      return target;
    },
  };
}

const sourceOf = (name: string, file: Uint8Array | Headed): ByteSource =>
  'head' in file ? headedSource(name, file) : memorySource(name, file);

/** Opens a pipeline of files in memory, or of a folder on the disk that is given; paths that are not among the files are those of the disk. */
export function openFiles(
  files: Record<string, Uint8Array | Headed>,
  options: PipelineOptions = {},
  model: string = Object.keys(files)[0]!,
): Promise<Pipeline> {
  const folder = async (at: string): Promise<Folder> => {
    const file = files[at];
    if (file === undefined) return openDiskFolder(at);
    return { path: at, names: async () => [at], open: async () => sourceOf(at, file) };
  };
  return openPipeline(model, folder, knownPipelines(), options);
}

export const bytesOf = (tensors: readonly StoredTensor[]): Uint8Array =>
  Buffer.concat([safetensorsHead([...tensors]), ...tensors.map(({ bytes }) => bytes)]);

/** Checks all components by their headers, as far as that is possible without reading weights. */
export async function checkedHeaders(pipeline: Pipeline): Promise<Map<string, Weights>> {
  const models = Object.values(pipeline.components).filter(({ kind }) => kind === 'model');
  const headers = await componentHeaders(
    pipeline,
    models.map((component) => component.name),
  );
  const collector = new PageCollector({} as Device, pipeline, headers);
  const { family } = pipelineEntry(pipeline.className);
  const autoencoder = family.readAutoencoder(collector.get(family.autoencoder));
  await family.open(collector, pipeline).checkFiles();
  collector.check(family.autoencoder, autoencoder.decoder);
  if (!autoencoder.decodesOnly) collector.check(family.autoencoder, autoencoder.encoder);
  const { upscaler } = pipeline.components;
  if (upscaler) collector.check(upscaler.name, readUpscaler(upscaler.className, upscaler.config).build);
  return headers;
}

/** Places of all tensors, by component and name. */
const placesOf = (headers: ReadonlyMap<string, Weights>): string[] =>
  [...headers].flatMap(([component, { tensors }]) =>
    [...tensors.values()].map(
      ({ name, dtype, shape, offset }) => `${component} ${name} ${dtype} ${shape.join()} ${offset}`,
    ),
  );

/** Expects each of so many damaged copies of a file to be refused as an error of the engine, or to have its tensors where the sound file has them. */
export async function expectDamageFound(
  [name, original]: readonly [name: string, original: Uint8Array],
  count: number,
  check: (file: Headed) => Promise<ReadonlyMap<string, Weights>>,
): Promise<void> {
  const headers = [...(await check({ head: original, zeros: 0 })).values()];
  const start = Math.min(
    ...headers.flatMap(({ tensors }) =>
      [...tensors.values()].map(({ source, offset }) => (source.name === name ? offset : Infinity)),
    ),
  );
  const head = Uint8Array.from(original.subarray(0, start)); // damage to a Buffer's slice would add up
  const zeros = original.length - start;
  const wanted = placesOf(await check({ head, zeros })).toSorted();
  let refused = 0;
  for (const bytes of mutations(head, count)) {
    const found = await check({ head: bytes, zeros }).catch((error: unknown) => {
      expect(error).toBeInstanceOf(EngineError);
      expect((error as EngineError).code).not.toBe('internal');
      refused++;
      return null;
    });
    if (found !== null) expect(placesOf(found).toSorted()).toEqual(wanted);
  }
  expect(refused).toBeGreaterThan(count / 4);
}
