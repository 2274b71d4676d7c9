// The family of clips that ripple.ts declares: a request passes every stage and gives three frames.

import sharp from 'sharp';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  encodeImage,
  type Frames,
  frameOf,
  type ImageEvent,
  type ImageModel,
  type ImageRequest,
} from '../../../../src/index.ts';
import { resample } from '../../../../src/files/image/resample.ts';
import { tinyPipeline } from '../pipeline-golden.ts';
import { openRipple, type Ripple } from './ripple.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let ripple: Ripple;
let model: ImageModel;
beforeAll(async () => {
  ripple = await openRipple();
  ({ model } = ripple);
});
afterAll(() => ripple.close());

async function draw(request: Partial<ImageRequest> = {}): Promise<ImageEvent[]> {
  const events: ImageEvent[] = [];
  for await (const event of model.generate({ prompt: 'a wave', seed: 5, ...request })) events.push(event);
  return events;
}

const drawn = (events: readonly ImageEvent[]) => events.find((event) => event.type === 'image')!.image;

it('a clip is drawn in three frames, which differ, through every stage', async () => {
  const events = await draw();
  expect(events[0]).toMatchObject({
    values: { frames: 3, fps: 12 },
    sources: { frames: 'model', fps: 'model' },
  });
  expect(model.info.defaults).toMatchObject({ frames: 3, fps: 12 });
  const stages = events.flatMap((event) => (event.type === 'stage' ? [event.name] : []));
  expect(stages).toEqual(['text-encoding', 'denoising', 'decoding']);
  // Two latent frames of 4 × 4 tokens.
  expect(events.find(({ type }) => type === 'tokens')).toMatchObject({ each: 32 });
  const clip = drawn(events);
  expect([clip.frames, clip.width, clip.height, clip.data.length]).toEqual([3, 32, 32, 3 * 3 * 32 * 32]);
  const frames = [0, 1, 2].map((i) => frameOf(clip, i).data);
  for (const frame of frames) expect(new Set(frame).size).toBeGreaterThan(8);
  expect(frames[1]).not.toEqual(frames[0]);
  expect(frames[2]).not.toEqual(frames[1]);
  expect(drawn(await draw()).data).toEqual(clip.data);
  const { pages, loop } = await sharp(await encodeImage(clip, { format: 'webp' }), {
    animated: true,
  }).metadata();
  expect([pages, loop]).toEqual([3, 0]);
});

it('a clip is enlarged frame by frame', async () => {
  const large = await ripple.reopen({
    upscalingModelPath: `${tinyPipeline('upscalers')}/upscale-compact-x3.safetensors`,
  });
  const clips: Frames[] = [];
  for (const frames of [3, 1])
    for await (const event of large.generate({ prompt: 'a wave', seed: 5, frames, enableUpscaling: true }))
      if (event.type === 'image') clips.push(event.image);
  await large.close();
  const [clip, image] = clips as [Frames, Frames];
  expect([clip.frames, clip.width, clip.height, clip.data.length]).toEqual([3, 96, 96, 9 * 96 * 96]);
  expect([image.frames, image.width, image.data.length]).toEqual([undefined, 96, 3 * 96 * 96]);
  // Each is most alike the frame of the small clip in its place.
  const small = drawn(await draw());
  const nearest = [0, 1, 2].map((i) => {
    const { data } = resample(frameOf(clip, i), 32, 32, { filter: 'bilinear' });
    const apart = [0, 1, 2].map((j) => {
      const differences = frameOf(small, j).data.map((value, at) => Math.abs(value - data[at]!));
      return differences.reduce((sum, value) => sum + value, 0);
    });
    return apart.indexOf(Math.min(...apart));
  });
  expect(nearest).toEqual([0, 1, 2]);
});

it('a clip has as many frames as are asked for, and one frame is an image', async () => {
  expect(drawn(await draw({ frames: 5 })).frames).toBe(5);
  expect(drawn(await draw({ kwargs: { num_frames: 5 } })).frames).toBe(5);
  const image = drawn(await draw({ frames: 1 }));
  expect([image.frames, image.data.length]).toEqual([undefined, 3 * 32 * 32]);
});

it('a clip of a frame count that no number of latents gives is refused', async () => {
  await expect(draw({ frames: 4 })).rejects.toMatchObject({
    code: 'bad_request',
    param: 'frames',
    message: 'frames is 4, which is not a multiple of 2 and one more; the nearest are 3 and 5',
  });
});

it('previews of a clip have its frames', async () => {
  const previews = (await draw({ previews: 1 })).flatMap((event) =>
    event.type === 'preview' ? [event.image] : [],
  );
  expect(previews.map(({ frames, width }) => [frames, width])).toEqual([[3, 32]]);
});

it('the memory plan of a clip counts frames', async () => {
  const peaks: number[] = [];
  for (const frames of [1, 3, 5]) peaks.push((await model.plan({ prompt: 'a wave', seed: 5, frames })).peak);
  expect(peaks[1]).toBeGreaterThan(peaks[0]!);
});

it('a clip that does not fit is refused before it is drawn, with the longest that does', async () => {
  const clip = { prompt: 'a wave', seed: 5 };
  const { peak: memoryBudget } = await model.plan({ ...clip, frames: 9 });
  await using tight = await ripple.reopen({ memoryBudget });
  const refusal = await draws(tight, { ...clip, frames: 41 }).then(String, String);
  expect(refusal).toMatch(
    /: a clip of 41 frames of 32 × 32 pixels takes at least .*: lower `frames` to \d+, or .*raise `memoryBudget` to/,
  );
  const frames = Number(/lower `frames` to (\d+)/.exec(refusal)![1]);
  expect(frames).toBeGreaterThanOrEqual(9);
  await expect(tight.plan({ ...clip, frames })).resolves.toBeTruthy();
});

async function draws(model: ImageModel, request: ImageRequest): Promise<number> {
  let steps = 0;
  for await (const { type } of model.generate(request)) if (type === 'step') steps += 1;
  return steps;
}
