// Tokens of a part of a vocabulary become those of the whole one, by row and by slot.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Region } from '../../src/gpu/tensor.ts';
import { CHOICE_WORDS } from '../../src/kernels/batch.ts';
import { offsetTokens } from '../../src/kernels/offset-tokens.ts';
import { NOT_A_TOKEN } from '../../src/kernels/sample.ts';
import { openTestDevice } from '../gpu/test-device.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

function region(values: Uint32Array<ArrayBuffer>): Region {
  const buffer = device.allocate('step', 'words', values.byteLength);
  device.gpu.queue.writeBuffer(buffer, 0, values);
  return { buffer, offset: 0, size: values.byteLength };
}

it('tokens get what the table has for them, but for what is no token', async () => {
  const offsets = Uint32Array.from([0, 4, 4, 9, 0xffffffff]); // the last is -1
  const tokens = [3, 0, NOT_A_TOKEN, 4, 1, 2, 4];
  const slots = [5, 0, 6, 1, 4, 2, 3];
  const choices = new Uint32Array(tokens.length * CHOICE_WORDS);
  slots.forEach((slot, row) => (choices[row * CHOICE_WORDS + 7] = slot));
  const batch = {
    ids: region(Uint32Array.from(tokens)),
    sampled: region(new Uint32Array(slots.length + 1).fill(77)),
    choices: region(choices),
  };
  const tape = new Tape(device, { sampled: tokens.length });
  offsetTokens(tape, batch, region(offsets), offsets.length);
  tape.finish();
  tape.run({ sampled: 6 }); // the last row is not of this step
  const moved = [12, 0, NOT_A_TOKEN, 3, 5, 6];
  expect([...new Uint32Array(await device.read(batch.ids))]).toEqual([...moved, 4]);
  const bySlot = Array.from({ length: 8 }, () => 77);
  moved.forEach((token, row) => token !== NOT_A_TOKEN && (bySlot[slots[row]!] = token));
  expect([...new Uint32Array(await device.read(batch.sampled))]).toEqual(bySlot);
});
