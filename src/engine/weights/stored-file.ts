// The file from which tapes read weights as they run: an entry of the cache of packed weights, open as long as the weights are used. Weights
// that LoRAs have changed have an entry of their own, which is removed afterwards.

import { option, say } from '../../files/message.ts';
import { bytesText } from '../../files/bytes-text.ts';
import { EngineError } from '../../files/error.ts';
import type { PackedFile } from '../../files/checkpoint/packed-file.ts';
import type { Device } from '../../gpu/device.ts';
import type { PackedSlot } from '../platform/platform.ts';
import { fillPacked, loadPacked, savePacked } from './packed.ts';
import type { PackedRegion } from './place.ts';

export class StoredFile {
  readonly #file: PackedFile;
  readonly #remove: () => Promise<void>;
  #closed: Promise<void> | null = null;

  /** `remove`: called once the file is closed; left out: it stays. The file is closed with its device, too. */
  constructor(device: Device, file: PackedFile, remove: () => Promise<void> = () => Promise.resolve()) {
    this.#file = file;
    this.#remove = remove;
    void device.lost.then(() => this.close());
  }

  /** Writes regions as they are packed, and opens the file for those that stay in it. Throws disk_full and out_of_memory. */
  static async write(
    device: Device,
    packed: AsyncIterable<PackedRegion>,
    stored: readonly PackedRegion[],
    { slot, isChanged }: { slot: PackedSlot | null; isChanged: boolean },
  ): Promise<StoredFile> {
    if (slot === null) throw noFile(stored);
    await savePacked(device, packed, slot);
    const file = await loadPacked(device, stored, slot);
    if (file === null) throw noFile(stored);
    return new StoredFile(device, file, isChanged ? () => slot.remove() : undefined);
  }

  /** Gives regions on the device their bytes again. Throws what reading throws. */
  async fill(device: Device, regions: readonly PackedRegion[]): Promise<void> {
    await fillPacked(device, regions, this.#file);
  }

  /** Closes the file once, however often it is called. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#file.close();
    await this.#remove();
  }
}

function noFile(stored: readonly PackedRegion[]): EngineError {
  const bytes = stored.reduce((sum, { region }) => sum + region.size, 0);
  return new EngineError(
    'out_of_memory',
    say`host memory has no room for ${bytesText(bytes)} of the weights, and they cannot be kept in a file, because the version of the checkpoint's files is not known here: choose ${option('quantization')} int4, or give a model of the hub`,
  );
}
