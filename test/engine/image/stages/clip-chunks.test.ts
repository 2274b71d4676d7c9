// What layers carry from chunk to chunk is counted in a plan as it is allocated in a run.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { KeptFrames } from '../../../../src/engine/image/stages/clip-chunks.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { Tape } from '../../../../src/gpu/tape.ts';
import { openTestDevice } from '../../../gpu/test-device.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it('a plan counts the frames of all layers and allocates those of each shape once', () => {
  const taken = (isPlan: boolean) => {
    const tape = new Tape(device, {}, { plain: false });
    using kept = new KeptFrames(device, 3, { isPlan });
    const before = device.memoryUsed;
    const layers = [
      [1, 4, 6, 8],
      [1, 4, 6, 8],
      [1, 4, 6, 8],
      [1, 8, 12, 4],
    ];
    const { last, all } = kept.carried(true);
    for (const [layer, shape] of layers.entries()) {
      const frames = last(layer, 2, tape.tensor(shape));
      expect(frames.map((frame) => frame.shape)).toEqual([shape, shape]);
      expect(frames[0]!.region!.buffer).not.toBe(frames[1]!.region!.buffer);
      expect(last(layer, 2, tape.tensor(shape)).map(({ region }) => region)).toEqual(
        frames.map(({ region }) => region),
      );
    }
    for (const frame of [1, 2])
      expect(all(layers.length, tape.tensor([1, 4, 6, 8])).shape).toEqual([1, 24 * frame, 8]);
    const allocated = device.memoryUsed - before;
    tape.destroy();
    return { allocated, shared: kept.sharedBytes };
  };
  const [run, plan] = [taken(false), taken(true)];
  expect(run.shared).toBe(0);
  expect(plan.allocated).toBeLessThan(run.allocated);
  expect(plan.allocated + plan.shared).toBe(run.allocated);
});
