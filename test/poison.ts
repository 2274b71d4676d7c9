// Fills new memory of devices with NaN, because on GPUs it has arbitrary contents.

import { Device } from '../src/gpu/device.ts';

/** NaN as f32, and as a pair of f16 or bf16. */
const POISON = new Uint32Array(1 << 20).fill(0x7fff7fff);

let isPoisoned = false;

/** Makes all devices of this thread do so. Files that share a process call it once each. */
export function poisonMemory(): void {
  if (isPoisoned) return;
  isPoisoned = true;
  const allocate = Object.getOwnPropertyDescriptor(Device.prototype, 'allocate')!.value as Device['allocate'];
  Device.prototype.allocate = function (...given) {
    const buffer = allocate.apply(this, given);
    for (let at = 0; at < buffer.size; at += POISON.byteLength) {
      const words = Math.min(POISON.byteLength, buffer.size - at) / 4;
      this.gpu.queue.writeBuffer(buffer, at, POISON, 0, words);
    }
    return buffer;
  };
}
