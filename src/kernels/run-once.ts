// Dispatches that run once, as they do where weights are loaded.

import type { Device } from '../gpu/device.ts';
import { Tape } from '../gpu/tape.ts';

/** Records dispatches of fixed sizes and submits them. */
export function runOnce(device: Device, record: (tape: Tape) => void): void {
  const tape = new Tape(device, {});
  try {
    record(tape);
    tape.finish();
    tape.run({});
  } finally {
    tape.destroy();
  }
}
