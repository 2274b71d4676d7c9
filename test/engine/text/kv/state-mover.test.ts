// Copies of large fixed states on the device: every bit stays, from slot to copy, to host memory, and back into another slot.

import { expect, it } from 'vitest';
import { copiesBytes, StateMover } from '../../../../src/engine/text/kv/state-mover.ts';
import type { StateSlots } from '../../../../src/kernels/batch.ts';
import { openTestDevice } from '../../../gpu/test-device.ts';

it('states of several layers keep their bits in copies that take several buffers', async () => {
  const device = await openTestDevice();
  const slots = 3;
  const words = [2 ** 19, 2 ** 18 + 4];
  const bits = words.map((count, layer) =>
    // Any bits, those of values that are not numbers included.
    Uint32Array.from({ length: slots * count }, (_, i) => Math.imul(i + layer, 0x9e3779b1)),
  );
  const stores = bits.map((values, i): StateSlots => {
    const { buffer } = device.tensor('kv', `states ${i}`, [values.length], values).region!;
    return { kind: 'slot', values: { buffer, offset: 0, size: values.byteLength } };
  });
  const used = device.memoryUsed;
  const mover = new StateMover(device, stores, slots, 24);
  expect(mover.bytes).toBe(4 * (words[0]! + words[1]!));
  expect(device.memoryUsed - used).toBe(copiesBytes(24, mover.bytes));
  // Copy 23 lies in the second buffer.
  mover.move([
    { from: { slot: 2 }, to: { copy: 0 } },
    { from: { copy: 0 }, to: { slot: 0 } },
    { from: { slot: 1 }, to: { copy: 23 } },
  ]);
  const [second, first] = await mover.read([23, 0]);
  const ofSlot = (slot: number): Buffer =>
    Buffer.concat(
      words.map((count, i) => Buffer.from(bits[i]!.slice(slot * count, (slot + 1) * count).buffer)),
    );
  expect(Buffer.compare(first!, ofSlot(2))).toBe(0);
  expect(Buffer.compare(second!, ofSlot(1))).toBe(0);
  // Bytes from the host and copies keep their order.
  mover.move([
    { from: { bytes: second! }, to: { slot: 2 } },
    { from: { slot: 0 }, to: { copy: 5 } },
    { from: { bytes: first! }, to: { copy: 6 } },
    { from: { copy: 6 }, to: { slot: 1 } },
    { from: { slot: 2 }, to: { copy: 6 } },
  ]);
  const [fifth, sixth] = await mover.read([5, 6]);
  expect(Buffer.compare(fifth!, ofSlot(2))).toBe(0);
  expect(Buffer.compare(sixth!, ofSlot(1))).toBe(0);
  mover.move([{ from: { slot: 1 }, to: { copy: 7 } }]);
  expect(Buffer.compare((await mover.read([7]))[0]!, ofSlot(2))).toBe(0);
  device.destroy();
});
