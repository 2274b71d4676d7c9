// The latents that a pipeline draws, before they are decoded.

import { expect, vi } from 'vitest';
import { LatentSampler } from '../../../src/engine/image/stages/sampler.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';

/** Reads the latents of the first image or clip that is drawn, [channels][frames][height][width], as in torch. */
export function overheard(on: Device): { latents(): Promise<Float32Array> } & Disposable {
  let first: { shape: Tensor['shape']; stride: number; bytes: Promise<ArrayBuffer> } | undefined;
  const sample = LatentSampler.prototype.sample;
  const spy = vi.spyOn(LatentSampler.prototype, 'sample').mockImplementation(async function (
    this: LatentSampler,
    requests,
  ) {
    const made = await sample.call(this, requests);
    if ('latents' in made[0]!) {
      const { shape, stride, region } = made[0].latents;
      first ??= { shape, stride, bytes: on.read(region!) };
    }
    return made;
  });
  return {
    async latents() {
      const { shape, stride, bytes } = first!;
      const [frames, height, width, channels] = shape as [number, number, number, number];
      const [all, pixels] = [new Float32Array(await bytes), frames * height * width];
      return Float32Array.from(
        { length: channels * pixels },
        (_, i) => all[(i % pixels) * stride + Math.floor(i / pixels)]!,
      );
    },
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}

/** Largest difference of latents in shares of their standard deviation. */
const TOLERANCE = 1e-3;

export function expectClose(found: Float32Array, wanted: Float32Array): void {
  expect(found.length).toBe(wanted.length);
  const mean = wanted.reduce((sum, value) => sum + value, 0) / wanted.length;
  const variance = wanted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / wanted.length;
  const largest = found.reduce((most, value, i) => Math.max(most, Math.abs(value - wanted[i]!)), 0);
  expect(largest / Math.sqrt(variance)).toBeLessThan(TOLERANCE);
}
