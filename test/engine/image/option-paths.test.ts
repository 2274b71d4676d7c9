// Options that take a path or a hub id: what is not found is refused under the name of the option that gave it.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ImageModelOptions } from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { tinySD1 } from './tiny-pipelines.ts';

beforeEach(() => {
  vi.stubEnv('HF_HUB_OFFLINE', '1');
  vi.stubEnv('HF_HOME', mkdtempSync(join(tmpdir(), 'svc-hub-')));
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const OPTIONS: readonly (readonly [param: string, of: (path: string) => Partial<ImageModelOptions>])[] = [
  ['loraPath', (path) => ({ loraPath: [path] })],
  ['textualInversionPath', (path) => ({ textualInversionPath: [path] })],
  ['controlnetPath', (path) => ({ controlnetPath: [path] })],
  ['ipAdapterPath', (path) => ({ ipAdapterPath: path })],
  ['componentPaths', (path) => ({ componentPaths: { vae: path } })],
];

it.each(OPTIONS)('a missing path in %s is refused', async (param, of) => {
  const { folder: model } = tinySD1();
  const opening = (path: string) => openInline(IMAGE, nodePlatform, { model, ...of(path) });
  for (const path of ['./nowhere', 'nowhere.safetensors', 'loras/style.safetensors'])
    await expect(opening(path)).rejects.toMatchObject({
      ...{ code: 'model_not_found', param },
      message: expect.stringContaining(`there is no file or folder '${path}'`) as string,
    });
  await expect(opening('acme/none')).rejects.toMatchObject({
    ...{ code: 'model_not_found', param },
    message: expect.stringMatching(/^(?:`componentPaths\.vae`: )?acme\/none at main is not complete/) as string,
  });
});
