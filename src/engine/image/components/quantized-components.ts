// Components whose weights are quantized with a low-rank part when they are read first: which of their matrices are, and where the results are kept.

import { badRequest } from '../../../files/error.ts';
import { option, say } from '../../../files/message.ts';
import { crc32 } from '../../../files/crc32.ts';
import type { Weights } from '../../../files/checkpoint/shards.ts';
import type { TensorEntry } from '../../../files/tensors/safetensors.ts';
import type { Device } from '../../../gpu/device.ts';
import { SHARED } from '../../../models/low-rank.ts';
import type { WeightTable } from '../../../models/weights.ts';
import type { PackedCache, PackedSlot } from '../../platform/platform.ts';
import { collect } from '../../weights/collect.ts';
import { QuantizedTensors } from '../../weights/svdquant/quantized-tensors.ts';
import { nameOfSettings, type SvdquantSettings } from '../../weights/svdquant/settings.ts';
import { fits, targetsOf } from '../../weights/svdquant/targets.ts';
import { folderOf } from '../../../files/posix-path.ts';

export interface LowRankComponents {
  settings: SvdquantSettings;
  /** Names of the components that are quantized so. */
  names: readonly string[];
}

/** Changes whenever the same weights are quantized to other bytes. */
const LAYOUT = 'svdquant-1';

export interface QuantizedPage {
  tensors: ReadonlyMap<string, TensorEntry>;
  /** Distinguishes the packed weights from those of other settings. */
  mark: string;
  /** Makes the tensors, once. */
  make(onProgress: (bytes: number, totalBytes: number) => void): Promise<void>;
}

export class QuantizedComponents {
  readonly #device: Device;
  readonly #options: LowRankComponents;
  readonly #packed: PackedCache | null;
  readonly #onNote: (message: string) => void;
  readonly #made = new Map<string, QuantizedTensors>();

  constructor(
    device: Device,
    options: LowRankComponents,
    { packed, onNote }: { packed: PackedCache | null; onNote(message: string): void },
  ) {
    this.#device = device;
    this.#options = options;
    this.#packed = packed;
    this.#onNote = onNote;
  }

  /** The tensors of a page on a component; null: its weights stay as they are. Throws bad_request where none of them can be quantized so. */
  of(name: string, weights: Weights, page: (table: WeightTable) => unknown): QuantizedPage | null {
    const { names, settings } = this.#options;
    const isQuantized = [...weights.tensors.keys()].some((one) => SHARED.test(one));
    if (!names.includes(name) || isQuantized) return null;
    const targets = targetsOf(collect(weights.tensors, page).requests, weights.tensors, settings);
    if (targets.length === 0) {
      if ([...weights.tensors.values()].some((entry) => fits(entry, settings))) return null;
      throw badRequest(
        say`${option('enableSvdquant')} finds no matrix of the ${name} that holds numbers, has inputs in groups of ${settings.groupKs} and sides of twice the rank ${settings.rank}: give a smaller rank or group, or leave it out`,
        'enableSvdquant',
      );
    }
    const key = crc32(JSON.stringify(targets)).toString(16);
    const known = this.#made.get(`${name}/${key}`);
    const made = known ?? new QuantizedTensors(this.#device, targets, weights.tensors, settings);
    this.#made.set(`${name}/${key}`, made);
    return {
      tensors: made.tensors,
      mark: `-${nameOfSettings(settings)}`,
      make: async (onProgress) => {
        const slot = await this.#slot(`${name}-${key}`, weights);
        await made.make({ slot, onProgress, onNote: this.#onNote });
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#made.values()].map((made) => made.close()));
  }

  async #slot(name: string, { path, sources }: Weights): Promise<PackedSlot | null> {
    const { settings } = this.#options;
    return (
      this.#packed?.slot({
        path: path.endsWith('.json') ? folderOf(path) : path,
        shards: sources.map((source) => source.name),
        quantization: `${name}-${nameOfSettings(settings)}`.replace(/[^\w.-]/g, '_'),
        layout: LAYOUT,
      }) ?? null
    );
  }
}
