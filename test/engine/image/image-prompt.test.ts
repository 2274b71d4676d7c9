// IP-Adapters: what they need beside them, adapters for other models, and where they are in memory; damaged files of adapters and of
// ControlNets.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { componentHeaders, PageCollector } from '../../../src/engine/image/planned-components.ts';
import { knownPipelines, pipelineEntry } from '../../../src/engine/image/families/registry.ts';
import type { ImageModelOptions, Pixels } from '../../../src/engine/image/calls/image-model.ts';
import { EngineError } from '../../../src/files/error.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import type { Folder } from '../../../src/files/source.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { safetensorsHead } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { mutations } from '../../files/gguf/mutations.ts';
import { memorySource } from '../../files/memory-source.ts';
import { draw } from './drawn-files.ts';
import { open } from './open-model.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { originalControlNet } from './original-control.ts';
import { newFolder, tinyControlNet, tinySD1 } from './tiny-pipelines.ts';
import { readTensors, writeTensors, type StoredTensor } from './tiny-tensors.ts';

vi.setConfig({ testTimeout: 240_000 });

const adapterOf = (name: string): string => tinyPipeline(`ip-adapters/${name}.safetensors`);
const ENCODER = tinyPipeline('image-encoder');
const IMAGE: Pixels = {
  width: 20,
  height: 36,
  data: Uint8Array.from({ length: 3 * 20 * 36 }, (_, at) => (at * 37) % 251),
};
const REQUEST = { prompt: 'a house', seed: 1, width: 32, height: 24, steps: 1, ipAdapterImage: IMAGE };
const MODEL = tinyPipeline('sd1');
const given = (name: string): ImageModelOptions => ({
  model: MODEL,
  ipAdapterPath: adapterOf(name),
  componentPaths: { image_encoder: ENCODER },
});

async function changedAdapter(
  name: string,
  change: (tensor: StoredTensor) => StoredTensor[],
): Promise<string> {
  const tensors = await readTensors(adapterOf(name));
  return writeTensors(join(newFolder('adapter'), 'a.safetensors'), [...tensors.values()].flatMap(change));
}

describe('an IP-Adapter', () => {
  it('draws as the model alone at the scale 0, and the same bits wherever it is', async () => {
    const alone = await draw({ model: MODEL }, { ...REQUEST, ipAdapterImage: undefined });
    const off = await draw(given('sd1'), { ...REQUEST, ipAdapterScale: 0 });
    expect(off.images).toEqual(alone.images);
    const wanted = await draw(given('sd1-plus'), REQUEST);
    expect(wanted.images).not.toEqual(alone.images);
    const folder = newFolder('ip-adapter');
    copyFileSync(adapterOf('sd1-plus'), join(folder, 'one.safetensors'));
    const offloaded = { imageEncoderCpuOffload: true, memoryBudget: 2 ** 28, ipAdapterPath: folder };
    expect((await draw({ ...given('sd1-plus'), ...offloaded }, REQUEST)).images).toEqual(wanted.images);
  });

  it('is planned with the encoder of its image, and names its option where no image is given', async () => {
    const { model } = await open(given('sd1'));
    const { components } = await model.plan(REQUEST);
    const roles = components.map(({ name, role }) => [name, role]);
    expect(roles).toContainEqual(['image_encoder', 'image encoder']);
    expect(roles).toContainEqual(['ip_adapter', 'image encoder']);
    await expect(model.resolve({ prompt: '', seed: 1 })).rejects.toMatchObject({ param: 'ipAdapterImage' });
    await expect(model.resolve({ ...REQUEST, ipAdapterScale: Infinity })).rejects.toMatchObject({
      param: 'ipAdapterScale',
    });
    await model.close();
    const { model: plain } = await open();
    await expect(plain.resolve(REQUEST)).rejects.toMatchObject({ param: 'ipAdapterImage' });
    await plain.close();
  });

  it.each<[string, () => Promise<Partial<ImageModelOptions>>, RegExp]>([
    ['without its encoder', async () => ({ componentPaths: {} }), /is given without its image encoder/],
    [
      'of XL',
      async () => ({ ipAdapterPath: adapterOf('sdxl') }),
      /is for texts of 128 columns, and the unet reads 64/,
    ],
    [
      'with another encoder',
      async () => ({
        ipAdapterPath: await changedAdapter('sd1', (tensor) =>
          tensor.name === 'image_proj.proj.weight'
            ? [{ ...tensor, shape: [256, 9], bytes: tensor.bytes.slice(0, 2 * 256 * 9) }]
            : [tensor],
        ),
      }),
      /the image encoder gives 36 columns, and the IP-Adapter takes 9/,
    ],
    [
      'of faces',
      async () => ({
        ipAdapterPath: await changedAdapter('sd1', (tensor) => [
          { ...tensor, name: tensor.name.replace('image_proj.proj', 'image_proj.proj.0') },
        ]),
      }),
      /holds an IP-Adapter of faces \(FaceID\)/,
    ],
    [
      'of faces, with a LoRA',
      async () => ({
        ipAdapterPath: await changedAdapter('sd1', (tensor) => [
          tensor,
          ...(tensor.name === 'ip_adapter.1.to_k_ip.weight'
            ? [{ ...tensor, name: 'ip_adapter.0.to_q_lora.down.weight' }]
            : []),
        ]),
      }),
      /holds an IP-Adapter of faces/,
    ],
    [
      'that is none',
      async () => ({ ipAdapterPath: join(ENCODER, 'model.safetensors') }),
      /holds no ip_adapter of/,
    ],
  ])('%s is refused', async (_, options, problem) => {
    await expect(draw({ ...given('sd1'), ...(await options()) }, REQUEST)).rejects.toThrow(problem);
  });
});

describe('a damaged file of an IP-Adapter is refused with a reason, or read as it was:', () => {
  it.each<[string, () => Promise<StoredTensor[]>, () => string, Record<string, string>]>([
    [
      'ip_adapter',
      async () => [...(await readTensors(adapterOf('sd1-plus'))).values()],
      () => MODEL,
      { image_encoder: ENCODER },
    ],
    [
      'controlnet',
      async () => originalControlNet(tinyControlNet('sd1', 27).tensors, 4),
      () => tinySD1().folder,
      {},
    ],
  ])('%s', async (component, tensorsOf, modelOf, others) => {
    const usable = await tensorsOf();
    const model = modelOf();
    const head = Uint8Array.from(safetensorsHead(usable));
    const bytes = Buffer.concat(usable.map((one) => one.bytes));
    const check = async (start: Uint8Array): Promise<string[]> => {
      const path = '/m/damaged.safetensors';
      const damaged: Folder = {
        path,
        names: async () => ['damaged.safetensors'],
        open: async (name) => memorySource(name, Buffer.concat([start, bytes])),
      };
      const folder = async (one: string): Promise<Folder> => (one === path ? damaged : openDiskFolder(one));
      const componentPaths = { ...others, [component]: path };
      const pipeline = await openPipeline(model, folder, knownPipelines(), { componentPaths });
      const headers = await componentHeaders(pipeline, [component]);
      const collector = new PageCollector({} as Device, pipeline, headers);
      await pipelineEntry(pipeline.className).family.open(collector, pipeline).checkFiles();
      const found = [...headers.get(component)!.tensors.values()];
      return found
        .map(({ name, dtype, shape, offset }) => `${name} ${dtype} ${shape.join()} ${offset}`)
        .toSorted();
    };
    const wanted = await check(head);
    let refused = 0;
    for (const start of mutations(head, 70)) {
      const found = await check(start).catch((error: unknown) => {
        expect(error).toBeInstanceOf(EngineError);
        expect((error as EngineError).code).not.toBe('internal');
        refused++;
        return null;
      });
      if (found !== null) expect(found).toEqual(wanted);
    }
    expect(refused).toBeGreaterThan(20);
  });
});
