// Packed weights in the cache on disk: read back from the device once, region by region, and uploaded unchanged at later openings. Regions
// that have no other place stay in the file, from which tapes read them.

import type { PackedEntry, PackedFile } from '../../files/checkpoint/packed-file.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import { badCheckpoint } from '../../files/error.ts';
import type { Device } from '../../gpu/device.ts';
import type { StoredBytes } from '../../gpu/host-buffers.ts';
import { fillHost } from '../../gpu/host-memory.ts';
import type { Region } from '../../gpu/tensor.ts';
import type { PackedSlot } from '../platform/platform.ts';
import type { PackedRegion } from './place.ts';

const CHUNK_BYTES = 8 * 2 ** 20;

/** Changes whenever the packed layout, the rounding of quantization, or the checks before packing change. */
const PACKED_LAYOUT = 'columns32-block32-checked-exact';

/** Returns what the bytes of packed weights depend on beside their checkpoint and their format. */
export function packedLayout(device: Device): string {
  return `${PACKED_LAYOUT}-${device.capabilities.bindingLimit}`;
}

/** Returns the file, for the caller to close, once the regions have its bytes; null: the cache has no matching entry. */
export async function loadPacked(
  device: Device,
  regions: readonly PackedRegion[],
  slot: PackedSlot,
  onProgress: (bytes: number, totalBytes: number) => void = () => {},
): Promise<PackedFile | null> {
  const file = await slot.read();
  if (!file) return null;
  try {
    if (await fillPacked(device, regions, file, onProgress)) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return null;
}

/** Gives regions the bytes that a file has for them; returns false if it does not have those. */
export async function fillPacked(
  device: Device,
  regions: readonly PackedRegion[],
  file: PackedFile,
  onProgress: (bytes: number, totalBytes: number) => void = () => {},
): Promise<boolean> {
  const entries = regions.map(({ name, region }) => ({ region, entry: file.tensors.get(name) }));
  if (!entries.every(({ entry, region }) => entry?.bytes === region.size)) return false;
  const total = regions.reduce((sum, { region }) => sum + region.size, 0);
  const host = new Uint8Array(CHUNK_BYTES);
  let done = 0;
  const report = async (bytes: number): Promise<void> => {
    done += bytes;
    // Dawn keeps a copy of written bytes until the queue has consumed them.
    if (done % (8 * CHUNK_BYTES) < bytes) await device.gpu.queue.onSubmittedWorkDone();
    onProgress(done, total);
  };
  for (const { entry, region } of entries) {
    const { buffer, size } = region;
    if (device.host.isStored(buffer)) device.host.storedAt(buffer, storedIn(entry!));
    else if (device.host.has(buffer)) await fillHost(buffer, stored(entry!, host));
    else {
      await upload(device, region, entry!, host, report);
      continue;
    }
    await report(size);
  }
  await device.gpu.queue.onSubmittedWorkDone();
  return true;
}

function storedIn({ source, offset }: TensorEntry): StoredBytes {
  return {
    readInto: (at, target) =>
      source.readInto(offset + at, target).catch((cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw badCheckpoint(
          `packed layers cannot be read from the cache (${reason}): try again, and they are packed anew`,
          source.name,
          cause,
        );
      }),
  };
}

async function upload(
  device: Device,
  region: Region,
  { source, offset }: TensorEntry,
  host: Uint8Array<ArrayBuffer>,
  report: (bytes: number) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < region.size; at += CHUNK_BYTES) {
    const bytes = host.subarray(0, Math.min(CHUNK_BYTES, region.size - at));
    await source.readInto(offset + at, bytes);
    device.gpu.queue.writeBuffer(region.buffer, region.offset + at, bytes);
    await report(bytes.length);
  }
}

/** Writes regions while their bytes are on the device, or in host memory. Throws what `regions` and writing throw. */
export async function savePacked(
  device: Device,
  regions: Iterable<PackedRegion> | AsyncIterable<PackedRegion>,
  slot: PackedSlot,
): Promise<void> {
  await slot.write(entriesOf(device, regions));
}

async function* entriesOf(
  device: Device,
  regions: Iterable<PackedRegion> | AsyncIterable<PackedRegion>,
): AsyncGenerator<PackedEntry> {
  for await (const { name, region } of regions) yield { name, chunks: chunksOf(device, region) };
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
