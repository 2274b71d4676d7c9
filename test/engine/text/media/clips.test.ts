// Videos against transformers: chosen frames, patches, ids with times, and the tokens that follow.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { ContentPart } from '../../../../src/engine/text/calls/text-request.ts';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { openCheckpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import type { Pixels } from '../../../../src/files/image/pixels.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { mediaFamily } from '../../../../src/models/towers/media-families.ts';
import { finished } from '../../../../src/models/preparation.ts';
import { readValues } from '../../../models/image-golden.ts';
import { openMediaGolden, openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

interface ClipCase {
  question: string;
  fps: number;
  chosen: number[];
  ids: number[];
  greedy: number[];
}

async function openClip(path: string) {
  const golden = JSON.parse(readFileSync(join(path, 'clip.json'), 'utf8')) as ClipCase;
  const tensors = await readValues(join(path, 'clip.safetensors'));
  const { shape, values } = tensors.get('frames')!;
  const [count = 0, height = 0, width = 0] = shape;
  const size = 3 * width * height;
  const frames = Array.from({ length: count }, (_, i): Pixels => ({
    width,
    height,
    data: Uint8Array.from(values.subarray(i * size, (i + 1) * size)),
  }));
  const source = { width, height, frames: count, fps: golden.fps, duration: count / golden.fps };
  return { golden, tensors, frames, source };
}

describe.each(['qwen2-vl', 'qwen2-5-vl', 'qwen3-vl', 'qwen3-5'])('the video tower of %s', (name) => {
  it('sees the frames and the times of a video as transformers does', async () => {
    const { path } = await openMediaGolden(name);
    const { golden, tensors, frames, source } = await openClip(path);
    const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
    const { config, processors } = checkpoint.beside!;
    const { readers } = mediaFamily(checkpoint.wrapper!.architecture)!.read({
      config,
      processors,
      hidden: 48,
    });
    await checkpoint.close();
    const indices = readers.video!.frames(source);
    expect(indices).toEqual(golden.chosen);
    const clip = { source, indices, frames: indices.map((i) => frames[i]!) };
    const prepared = finished(readers.video!.prepare(clip, {}));
    const { shape, values: wanted } = tensors.get('pixels')!;
    const columns = shape[1]!;
    const { data } = prepared.inputs['patches']!;
    expect(data).toHaveLength(wanted.length);
    // Towers with windows read the patches in another order.
    const places = prepared.inputs['places']?.data;
    const placeOf = (i: number): number =>
      (places?.[Math.floor(i / columns)] ?? Math.floor(i / columns)) * columns;
    const range = Math.max(...wanted) - Math.min(...wanted);
    const errors = wanted.map((value, i) => Math.abs(value - data[placeOf(i) + (i % columns)]!) / range);
    expect(Math.max(...errors)).toBeLessThan(2 / 255);
    expect(errors.reduce((sum, error) => sum + error, 0) / errors.length).toBeLessThan(1e-3);

    const model = await openMediaModel({ path }, { prefillChunk: 16, contextLength: 256 });
    try {
      expect(model.info.media).toEqual(['image', 'video']);
      const content: ContentPart[] = [
        { type: 'video', video: clip },
        { type: 'text', text: golden.question },
      ];
      const prompt = { messages: [{ role: 'user' as const, content }] };
      const { ids, mediaTokens } = await model.renderPrompt(prompt);
      expect(ids).toEqual(golden.ids);
      expect(mediaTokens).toEqual({ video: ids.filter((id) => id === 262).length });
      const tokens: number[] = [];
      const request = { prompt, temperature: 0, maxTokens: 24, ignoreEos: true, skipSpecialTokens: false };
      for await (const event of model.generate(request))
        if (event.type === 'delta') tokens.push(...event.ids);
      expect(tokens).toEqual(golden.greedy);
    } finally {
      await model.close();
    }
  });
});
