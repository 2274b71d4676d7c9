// Packed weights in the cache on disk: read back from the device once, region by region, and uploaded unchanged at later openings.

import type { PackedEntry } from '../../files/checkpoint/packed-file.ts';
import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import { fillHost } from '../../gpu/host-memory.ts';
import type { Region } from '../../gpu/tensor.ts';
import type { PackedSlot } from '../platform.ts';
import type { PackedRegion } from './place.ts';

const CHUNK_BYTES = 8 * 2 ** 20;

/** Returns false if the cache has no matching entry. */
export async function loadPacked(
  device: Device,
  regions: readonly PackedRegion[],
  slot: PackedSlot,
  onProgress: (bytes: number, totalBytes: number) => void,
): Promise<boolean> {
  const file = await slot.read();
  if (!file) return false;
  const entries = regions.map(({ name, region }) => ({ region, entry: file.tensors.get(name) }));
  try {
    if (!entries.every(({ entry, region }) => entry?.bytes === region.size)) return false;
    const total = regions.reduce((sum, { region }) => sum + region.size, 0);
    const host = new Uint8Array(CHUNK_BYTES);
    let done = 0;
    for (const { entry, region } of entries) {
      if (device.isHost(region.buffer)) {
        await fillHost(region.buffer, stored(entry!, host));
        onProgress((done += region.size), total);
        continue;
      }
      for (let at = 0; at < region.size; at += CHUNK_BYTES) {
        const bytes = host.subarray(0, Math.min(CHUNK_BYTES, region.size - at));
        await entry!.source.readInto(entry!.offset + at, bytes);
        device.gpu.queue.writeBuffer(region.buffer, region.offset + at, bytes);
        done += bytes.length;
        // Dawn keeps a copy of written bytes until the queue has consumed them.
        if (done % (8 * CHUNK_BYTES) < bytes.length) await device.gpu.queue.onSubmittedWorkDone();
        onProgress(done, total);
      }
    }
    await device.gpu.queue.onSubmittedWorkDone();
    return true;
  } finally {
    await file.close();
  }
}

export async function savePacked(
  device: Device,
  regions: readonly PackedRegion[],
  slot: PackedSlot,
): Promise<void> {
  await slot.write(
    regions.map(({ name, region }): PackedEntry => ({ name, chunks: chunksOf(device, region) })),
  );
}

/** Reads a region from the file piece by piece. */
async function* stored(
  { source, offset, bytes: size }: TensorEntry,
  host: Uint8Array<ArrayBuffer>,
): AsyncGenerator<{ offset: number; bytes: Uint8Array }> {
  for (let at = 0; at < size; at += CHUNK_BYTES) {
    const bytes = host.subarray(0, Math.min(CHUNK_BYTES, size - at));
    await source.readInto(offset + at, bytes);
    yield { offset: at, bytes };
  }
}

async function* chunksOf(device: Device, { buffer, offset, size }: Region): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; at += CHUNK_BYTES) {
    yield new Uint8Array(
      await device.read({ buffer, offset: offset + at, size: Math.min(CHUNK_BYTES, size - at) }),
    );
  }
}
