// Sizes of the frames of Qwen3-VL's videos, with and without a bound on the cells of a frame, as transformers' processor makes them.

import { expect, it } from 'vitest';
import { openMediaGolden } from '../../../engine/text/media/media-golden.ts';
import { openCheckpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { mediaFamily } from '../../../../src/models/towers/media-families.ts';
import { finished } from '../../../../src/models/preparation.ts';

it.each([
  { frames: 2, height: 100, width: 60, cap: false, grid: [1, 12, 8] },
  { frames: 2, height: 100, width: 60, cap: true, grid: [1, 8, 4] },
  { frames: 6, height: 90, width: 160, cap: false, grid: [3, 6, 12] },
  { frames: 6, height: 90, width: 160, cap: true, grid: [3, 4, 8] },
  { frames: 20, height: 64, width: 64, cap: false, grid: [10, 4, 4] },
  { frames: 20, height: 64, width: 64, cap: true, grid: [10, 4, 4] },
])(
  'a video of $frames frames of $width × $height pixels, capped: $cap',
  async ({ frames, height, width, cap, grid }) => {
    const { path } = await openMediaGolden('qwen3-vl');
    const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
    const { config } = checkpoint.beside!;
    await checkpoint.close();
    const vision = { ...(config['vision_config'] as object), patch_size: 8, spatial_merge_size: 2 };
    const video = {
      size: { shortest_edge: 4 * 16 * 16, longest_edge: 40 * 16 * 16 * 4 },
      patch_size: 8,
      merge_size: 2,
      cap_pixels_per_frame: cap,
      max_video_tokens: 12,
    };
    const family = mediaFamily('Qwen3VLForConditionalGeneration')!;
    const { readers } = family.read({
      config: { ...config, vision_config: vision },
      processors: {
        'preprocessor_config.json': { patch_size: 8, merge_size: 2 },
        'video_preprocessor_config.json': video,
      },
      hidden: 48,
    });
    const frame = { width, height, data: new Uint8Array(3 * width * height) };
    const indices = Array.from({ length: frames }, (_, i) => i);
    const source = { width, height, frames, fps: 2, duration: frames / 2 };
    const { grid: made, parts } = finished(
      readers.video!.prepare({ source, indices, frames: indices.map(() => frame) }, {}),
    );
    const steps = parts.filter((part) => typeof part === 'number').length;
    expect([steps, 2 * made!.rows, 2 * made!.columns]).toEqual(grid);
  },
);

it('settings in processor_config.json precede those in files of their own, as for transformers', async () => {
  const { path } = await openMediaGolden('qwen2-5-vl');
  const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
  const { config } = checkpoint.beside!;
  await checkpoint.close();
  const old = { patch_size: 6, min_pixels: 576, max_pixels: 144 * 1000 };
  const saved = { patch_size: 6, size: { shortest_edge: 576, longest_edge: 144 * 16 } };
  const files = { 'preprocessor_config.json': old, 'video_preprocessor_config.json': old };
  const family = mediaFamily('Qwen2_5_VLForConditionalGeneration')!;
  const rowsOf = (processors: Record<string, Record<string, unknown>>): number[] => {
    const { readers } = family.read({ config, processors, hidden: 48 });
    const pixels = { width: 240, height: 240, data: new Uint8Array(3 * 240 * 240) };
    const source = { width: 240, height: 240, frames: 2, fps: 2, duration: 1 };
    const clip = { source, indices: [0, 1], frames: [pixels, pixels] };
    return [readers.image!.prepare(pixels, {}), readers.video!.prepare(clip, {})].map((medium) =>
      finished(medium).parts.reduce<number>((sum, part) => sum + (typeof part === 'number' ? part : 0), 0),
    );
  };
  expect(rowsOf(files)).toEqual([400, 400]);
  const nested = { 'processor_config.json': { image_processor: saved, video_processor: saved } };
  expect(rowsOf(nested)).toEqual([16, 16]);
  expect(rowsOf({ ...files, ...nested })).toEqual([16, 16]);
});
