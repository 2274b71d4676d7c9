// The weights of a model's towers, and where they are. The KV pages are allocated when the model opens, one buffer a layer, with what the
// budget leaves: memory that towers free later cannot become pages. So it is decided before. Where the budget does not hold the pages that are
// of use beside the towers, or the towers are large, their layers lie in host memory: the device has those that are computed, in the slots
// of the tower's own arena, and nothing of an idle tower's layers. Resident ones leave the device where something needs memory while they
// are idle, such as an adapter that is loaded, and the next medium brings them back, to the device or to host memory.

import { bytesText } from '../../../files/bytes-text.ts';
import type { TensorEntry } from '../../../files/tensors/safetensors.ts';
import { MEDIA_NOUNS } from '../../../files/media/media-nouns.ts';
import type { Device } from '../../../gpu/device.ts';
import type { MediaModel, Tower } from '../../../models/media.ts';
import type { OwnLora } from '../lora/own-loras.ts';
import { weightBytesIn } from '../../weights/quantization.ts';
import { openWeights, type Weights } from '../../weights/weights.ts';

/** The media of a text model, and the tensors of its towers. */
export interface RunnerMedia {
  model: MediaModel;
  tensors: ReadonlyMap<string, TensorEntry>;
  /** LoRAs that the language model has for prompts with media; left out: none. */
  loras?: readonly OwnLora[];
}

/** Bytes of weights, by where they are. */
export interface TowerBytes {
  deviceBytes: number;
  hostBytes: number;
}

/** Towers are resident if their weights take at most this share of what the budget leaves. */
const WEIGHT_SHARE = 1 / 4;

export class TowerWeights {
  readonly #device: Device;
  readonly #media: RunnerMedia;
  /** By the names of towers; null: they have left. */
  #weights: Map<string, Weights<Tower>> | null = null;
  #parameters = 0;

  constructor(device: Device, media: RunnerMedia) {
    this.#device = device;
    this.#media = media;
  }

  /** Whether the weights have left. */
  get isAway(): boolean {
    return this.#weights === null;
  }

  get bytes(): TowerBytes {
    const all = [...(this.#weights?.values() ?? [])];
    return {
      deviceBytes: all.reduce((sum, { deviceBytes }) => sum + deviceBytes, 0),
      hostBytes: all.reduce((sum, { hostBytes }) => sum + hostBytes, 0),
    };
  }

  /** Number of parameters, wherever they are. */
  get parameters(): number {
    return this.#parameters;
  }

  page(tower: string): Tower {
    return this.#weights!.get(tower)!.page;
  }

  /** Tells where weights are that are not on the device; null: all are. */
  get note(): string | null {
    const { hostBytes } = this.bytes;
    if (hostBytes === 0) return null;
    const { readers } = this.#media.model;
    const kinds = (['image', 'video', 'audio'] as const).filter((kind) => readers[kind]);
    const nouns = kinds.map((kind) => MEDIA_NOUNS[kind].many).join(' and ');
    return `${bytesText(hostBytes)} of weights that read ${nouns} are in host memory, from which each medium copies them`;
  }

  /**
   * Opens the weights. `beside`: bytes that other things are to have beside resident ones. With `unread` nothing is read, for planning.
   * Errors: out_of_memory, bad_checkpoint.
   */
  async enter(beside: number, { unread = false }: { unread?: boolean } = {}): Promise<void> {
    const device = this.#device;
    const { model, tensors } = this.#media;
    const opened = new Map<string, Weights<Tower>>();
    try {
      for (const [name, page] of Object.entries(model.towers)) {
        const bytes = weightBytesIn(device, tensors, page)('none');
        const fits = await device.reserve(device.memoryUsed + Math.max(bytes / WEIGHT_SHARE, bytes + beside));
        const streamed = fits ? {} : { streamed: { bytes: 0 } };
        const weights = openWeights(device, tensors, page, { format: null, mayStore: false, ...streamed });
        opened.set(name, weights);
        await weights.load({ unread });
      }
    } catch (error) {
      for (const weights of opened.values()) weights.free();
      throw error;
    }
    this.#weights = opened;
    this.#parameters = [...opened.values()].reduce((sum, { parameters }) => sum + parameters, 0);
  }

  /** Frees resident weights, which nothing may be using; returns whether there are any. */
  leave(): boolean {
    const all = [...(this.#weights?.values() ?? [])];
    if (all.every(({ hostBytes }) => hostBytes > 0)) return false;
    for (const weights of all) weights.free();
    this.#weights = null;
    return true;
  }
}
