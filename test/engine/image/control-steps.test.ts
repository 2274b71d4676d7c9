// ControlNets beside UNets with sizes among their conditions, and the kernels of ControlNets that take part in some steps.

import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import type { CompleteImageRequest } from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { openOnDevice } from '../../../src/engine/image/opened-pipeline.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { KernelTime } from '../../../src/gpu/kernel-times.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { drawOn, grey } from './stages/drawing.ts';
import { newFolder, tinyControlNet, tinySD1, tinyXL } from './tiny-pipelines.ts';
import { writeComponent } from './tiny-tensors.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000 });

function folderOf({ config, tensors }: ReturnType<typeof tinyControlNet>): string {
  const folder = join(newFolder('controlnet'), 'net');
  writeComponent(folder, config, tensors);
  return folder;
}

it('a ControlNet without sizes and pooled text is refused for Stable Diffusion XL', async () => {
  const none = {
    addition_embed_type: null,
    addition_time_embed_dim: null,
    projection_class_embeddings_input_dim: null,
  };
  const opening = openInline(IMAGE, nodePlatform, {
    model: tinyXL().folder,
    controlnetPath: [folderOf(tinyControlNet('sdxl', 26, none))],
  });
  await expect(opening).rejects.toMatchObject({
    code: 'bad_checkpoint',
    param: 'controlnetPath',
    message: expect.stringContaining(
      'the ControlNet takes no columns of sizes and pooled text, and the unet 1600: give one that was made for the family of the model',
    ),
  });
});

it('a profile counts the kernels of a ControlNet in the steps in which it takes part', async () => {
  const device = await openModelTestDevice();
  const [model, net] = [tinySD1().folder, folderOf(tinyControlNet('sd1', 21))];
  const given = { model, componentPaths: { controlnet: net } };
  const pipeline = await openPipeline(model, openDiskFolder, knownPipelines(), given);
  const parts = await openOnDevice(device, nodePlatform, pipeline, given, () => {});
  const control = grey(90);
  /** Dispatches of the denoiser's kernels in four steps. */
  const dispatches = async (more: Partial<CompleteImageRequest>): Promise<number> => {
    let last: readonly KernelTime[] = [];
    const add = async (replay: () => Promise<readonly KernelTime[]>) => void (last = await replay());
    const profiler = { kernels: new Map<string, number>(), spent: 0, add };
    let isDenoised = false;
    await drawOn(
      parts,
      { controlImages: [control], steps: 4, ...more },
      {
        options: {
          profiler: { ...profiler, add: (replay) => (isDenoised ? Promise.resolve() : add(replay)) },
        },
        ends: (event) => {
          isDenoised ||= event.type === 'stage' && event.name === 'denoising';
          return false;
        },
        with: { controls: [control] },
      },
    );
    return last.reduce((sum, { dispatches: own }) => sum + own, 0);
  };
  const [never, always, half] = [
    await dispatches({ controlScale: [0] }),
    await dispatches({}),
    await dispatches({ controlEnd: [0.5] }),
  ];
  expect(always).toBeGreaterThan(never);
  expect(half).toBe((never + always) / 2);
  await parts.components.close();
  device.destroy();
});
