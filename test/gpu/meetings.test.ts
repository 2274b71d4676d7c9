// Exchanges between the dispatches of a tape.

import { expect, it } from 'vitest';
import { openDevice } from '../../src/gpu/node.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { repeat } from '../../src/kernels/repeat.ts';

it('a replay gives the bytes of a tensor away and goes on with others, whose memory nothing else has', async () => {
  const device = await openDevice();
  try {
    const factors = device.tensor('step', 'factors', [2], Float32Array.of(2, 10)).region!;
    const x = device.tensor('step', 'x', [1, 4], Float32Array.of(1, 2, 3, 4));
    const tape = new Tape(device, {});
    const doubled = repeat(x.on(tape), 1, factors, 0);
    const kept = repeat(x.on(tape), 1, factors, 1);
    const other = tape.tensor([1, 4]);
    const given: number[][] = [];
    const exchange = async (own: ArrayBuffer): Promise<ArrayBuffer[]> => {
      given.push([...new Float32Array(own).subarray(0, 4)]);
      await new Promise((resolve) => setTimeout(resolve));
      return [new Float32Array(own).map((value) => value + 100).buffer];
    };
    tape.meet({ from: [doubled], into: [other], exchange });
    const results = [
      repeat(other, 1, factors, 1),
      repeat(kept, 1, factors, 0),
      repeat(doubled, 1, factors, 0),
    ];
    results.forEach((y) => tape.keep(y));
    tape.finish();
    expect(() => tape.run({})).toThrow('waits for files or other devices');
    for (let run = 0; run < 2; run++) {
      await tape.replay({});
      const values = await Promise.all(results.map((y) => device.read(tape.region(y))));
      expect(values.map((one) => [...new Float32Array(one).subarray(0, 4)])).toEqual([
        [1020, 1040, 1060, 1080],
        [20, 40, 60, 80],
        [4, 8, 12, 16],
      ]);
    }
    expect(given).toEqual([
      [2, 4, 6, 8],
      [2, 4, 6, 8],
    ]);
  } finally {
    device.destroy();
  }
});
