// Values of a request that follows, and adapters, are refused before a file of weights is opened or fetched, and before there is a device.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ImageModelOptions } from '../../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../../src/host/kinds/image.ts';
import { openInline } from '../../../../src/host/open.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import type { Platform } from '../../../../src/engine/platform/platform.ts';
import { pipelineFolders } from '../../../../src/engine/image/families/registry.ts';
import { TEXT } from '../../../../src/host/kinds/text.ts';
import { resolveModel } from '../../../../src/files/hub/hub.ts';
import { hubFixture, IMPATIENT } from '../../../files/hub/mock-hub-fixture.ts';
import { ID } from '../../../files/hub/mock-hub.ts';
import { tinyPipeline } from '../pipeline-golden.ts';

const WEIGHTS = /\.(?:safetensors|gguf|bin)$/;

/** A platform without a device, which lists the files of weights that are opened. */
function watched(): { platform: Platform; opened: string[] } {
  const opened: string[] = [];
  const platform: Platform = {
    ...nodePlatform,
    openDevice: () => Promise.reject(new Error('a device was opened')),
    async openFolder(path) {
      const folder = await nodePlatform.openFolder(path);
      return {
        path: folder.path,
        names: () => folder.names(),
        open(name) {
          if (WEIGHTS.test(name)) opened.push(`${path}/${name}`);
          return folder.open(name);
        },
      };
    },
  };
  return { platform, opened };
}

const WRONG: [Partial<ImageModelOptions>, object][] = [
  [
    { firstRequest: { width: 101 } },
    { param: 'width', message: /^width is 101, which is not a multiple of 4; the nearest are 100 and 104$/ },
  ],
  [
    { firstRequest: { width: 40, height: 3 } },
    { param: 'height', message: /^height is 3; it is an integer from 4 to/ },
  ],
  [
    { firstRequest: { scheduler: 'foo' } },
    { param: 'scheduler', message: /^scheduler foo is unknown; take one of / },
  ],
  [
    { firstRequest: { scheduler: 'FlowMatchEulerDiscreteScheduler' } },
    { param: 'scheduler', message: /is for flow-matching models/ },
  ],
  [{ loraPath: ['/nope'] }, { param: 'loraPath', message: /\/nope/ }],
];

const wanted = ({ param, message }: { param?: string; message?: RegExp }): object => ({
  param,
  message: expect.stringMatching(message!) as string,
});

describe('a request before a local model is opened', () => {
  it.each(WRONG)('%j is refused', async (options, error) => {
    const { platform, opened } = watched();
    const opening = openInline(IMAGE, platform, { model: tinyPipeline('sd1'), ...options });
    await expect(opening).rejects.toMatchObject(wanted(error));
    expect(opened).toEqual([]);
  });

  it.each([{ width: 100, height: 36 }, { scheduler: 'euler a' }, { scheduler: 'PNDMScheduler' }, {}])(
    '%j passes',
    async (firstRequest) => {
      const { platform } = watched();
      const opening = openInline(IMAGE, platform, { model: tinyPipeline('sd1'), firstRequest });
      await expect(opening).rejects.toThrow('a device was opened');
    },
  );
});

/** The files of a pipeline, by their paths in its folder. */
function filesOf(folder: string, below = ''): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const name = join(below, entry.name);
    if (entry.isFile()) files.set(name, readFileSync(join(folder, name)));
    else for (const [path, bytes] of filesOf(folder, name)) files.set(path, bytes);
  }
  return files;
}

async function hubPlatform(files = filesOf(tinyPipeline('sd1'))) {
  const { hub, env } = await hubFixture(files);
  const pipelines = pipelineFolders();
  const platform: Platform = {
    ...watched().platform,
    resolveModel: (id, options) => resolveModel(id, { ...options, env, limits: IMPATIENT, pipelines }),
  };
  return { hub, platform, weights: [...files.keys()].filter((name) => WEIGHTS.test(name)) };
}

describe('a request before the weights of a model on a hub are fetched', () => {
  it.each(WRONG)('%j is refused', async (options, error) => {
    const { hub, platform, weights } = await hubPlatform();
    await expect(openInline(IMAGE, platform, { model: ID, ...options })).rejects.toMatchObject(wanted(error));
    expect(weights.length).toBeGreaterThan(2);
    expect(weights.flatMap((name) => hub.seenOf(name))).toEqual([]);
    if (options.loraPath) expect(hub.seen).toEqual([]);
  });

  it('a wrong size passes where another autoencoder decides it', async () => {
    const { hub, platform, weights } = await hubPlatform();
    const componentPaths = { vae: join(tinyPipeline('sd1'), 'vae') };
    const options = { model: ID, firstRequest: { width: 101 }, componentPaths };
    await expect(openInline(IMAGE, platform, options)).rejects.toMatchObject({ param: 'width' });
    const right = { ...options, firstRequest: { width: 100 } };
    await expect(openInline(IMAGE, platform, right)).rejects.toThrow('a device was opened');
    expect(weights.flatMap((name) => hub.seenOf(name))).not.toEqual([]);
  });
});

it.each([{ loraPaths: ['foo=/nope'] }, { loraDir: '/nope' }])(
  'a language model is not fetched where a folder of LoRAs is missing: %j',
  async (options) => {
    const { hub, platform } = await hubPlatform(new Map([['config.json', Buffer.from('{}')]]));
    const [param] = Object.keys(options);
    await expect(openInline(TEXT, platform, { model: ID, ...options })).rejects.toMatchObject({
      code: 'model_not_found',
      param,
    });
    expect(hub.seenOf('config.json')).toEqual([]);
  },
);
