// Small decoders that a user gives for the previews of clips, or for clips themselves.

import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Frames, ImageEvent } from '../../../src/engine/image/calls/image-model.ts';
import { frameOf } from '../../../src/index.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { openInline } from '../../../src/host/open.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { imagesOf, listen, tinyPipeline } from './pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000 });

const VAE = tinyPipeline('autoencoder-wan');
const TAEHV = tinyPipeline('taehv/wan.safetensors');
const REQUEST = { prompt: 'a wave', seed: 3, width: 32, height: 16, frames: 5, steps: 2, previews: Infinity };

const open = (model: string, componentPaths: Record<string, string>) =>
  openInline(IMAGE, nodePlatform, { model: tinyPipeline(model), componentPaths });

const previewsOf = (events: readonly ImageEvent[]): Frames[] =>
  events.flatMap((event) => (event.type === 'preview' ? [event.image] : []));

const folder = mkdtempSync(join(tmpdir(), 'svc-taehv-'));

describe('a file of TAEHV', () => {
  it('decodes previews of one frame for each frame of latents, and the clip itself where it replaces the autoencoder', async () => {
    const beside = await open('wan', { vae: VAE, preview_decoder: TAEHV });
    const events = await listen(beside, REQUEST);
    const { components } = await beside.plan(REQUEST);
    await beside.close();
    expect(components).toContainEqual(
      expect.objectContaining({ name: 'preview_decoder', className: 'TAEHV', role: 'autoencoder' }),
    );
    const instead = await open('wan', { vae: TAEHV });
    const others = await listen(instead, REQUEST);
    await expect(
      listen(instead, { ...REQUEST, image: frameOf(imagesOf(others)[0]!, 0) }),
    ).rejects.toMatchObject({
      code: 'bad_request',
      param: 'image',
    });
    await instead.close();
    const [preview] = previewsOf(events);
    expect(preview).toMatchObject({ width: 32, height: 16, frames: 2 });
    expect(new Set(preview!.data).size).toBeGreaterThan(8);
    expect(previewsOf(others)).toEqual(previewsOf(events));
    const [clip] = imagesOf(events);
    const [other] = imagesOf(others);
    for (const one of [clip, other]) expect(one).toMatchObject({ width: 32, height: 16, frames: 5 });
    expect(other!.data).not.toEqual(clip!.data);
  });

  it('is refused for other latents, and in place of an autoencoder that encodes images', async () => {
    await expect(open('wan', { preview_decoder: TAEHV })).rejects.toMatchObject({
      code: 'bad_request',
      param: 'componentPaths',
      message:
        'preview_decoder decodes latents of 4 channels to 8 × 8 pixels each, and this model has 4 channels and 4 × 4 pixels: give the one that was made for its autoencoder',
    });
    const transformer = join(folder, 'transformer');
    cpSync(tinyPipeline('wan-image-plain/transformer'), transformer, { recursive: true });
    const config = readFileSync(join(transformer, 'config.json'), 'utf8');
    writeFileSync(join(transformer, 'config.json'), config.replace('"in_channels": 10', '"in_channels": 12'));
    await expect(open('wan', { vae: TAEHV, transformer })).rejects.toThrow(
      'decodes only, and this model draws from images',
    );
  });

  it('is refused where it has the name of a file of torch and is none', async () => {
    const own = join(folder, 'torch');
    mkdirSync(own);
    copyFileSync(TAEHV, join(own, 'taew2_1.pth'));
    for (const path of [own, join(own, 'taew2_1.pth')])
      await expect(open('wan', { preview_decoder: path })).rejects.toThrow(
        /taew2_1\.pth is not a sound file of torch\.save/,
      );
  });
});
