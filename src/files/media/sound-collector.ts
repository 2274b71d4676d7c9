// Collects the samples of a sound at the rate of the model, while pieces of it arrive at its own. Other work runs in between.

import type { Sound } from './decoded.ts';
import { Resampler } from './resample-sound.ts';

/** Milliseconds of decoding and resampling after which other work runs. */
const TURN = 5;
/** Samples that the resampler takes at once, of which it keeps a copy. */
const PIECE_SAMPLES = 2 ** 16;
/** Samples that there is room for at first, if the length is not known. */
const LEAST_ROOM = 2 ** 16;

export class SoundCollector {
  readonly #rate: number;
  readonly #signal: AbortSignal | undefined;
  #resampler: Resampler | null = null;
  #samples: Float32Array;
  #length = 0;
  #turnBegan = performance.now();

  /** `seconds`: about how long the sound is, if it is known; there may be more and less of it. */
  constructor(rate: number, seconds: number | null, signal?: AbortSignal) {
    this.#rate = rate;
    this.#signal = signal;
    this.#samples = new Float32Array(seconds === null ? LEAST_ROOM : Math.ceil(seconds * rate) + 1);
  }

  /** Adds samples of a rate, which is a whole number and the same each time. They may be overwritten afterwards. Throws the signal's reason. */
  async add(samples: Float32Array, rate: number): Promise<void> {
    if (rate === this.#rate) return this.#append([samples]);
    this.#resampler ??= new Resampler(rate, this.#rate);
    for (let first = 0; first < samples.length; first += PIECE_SAMPLES)
      await this.#append(this.#resampler.push(samples.subarray(first, first + PIECE_SAMPLES)));
  }

  /** The sound. Throws the signal's reason. */
  async end(): Promise<Sound> {
    if (this.#resampler) await this.#append(this.#resampler.end());
    return { samples: this.#samples.subarray(0, this.#length), rate: this.#rate };
  }

  async #append(pieces: Iterable<Float32Array>): Promise<void> {
    for (const piece of pieces) {
      const end = this.#length + piece.length;
      if (end > this.#samples.length) {
        const larger = new Float32Array(2 * end);
        larger.set(this.#samples.subarray(0, this.#length));
        this.#samples = larger;
      }
      this.#samples.set(piece, this.#length);
      this.#length = end;
      await this.pause();
    }
  }

  /** Lets other work run from time to time. Throws the signal's reason. */
  async pause(): Promise<void> {
    if (performance.now() - this.#turnBegan >= TURN) {
      await new Promise((resolve) => setTimeout(resolve));
      this.#turnBegan = performance.now();
    }
    this.#signal?.throwIfAborted();
  }
}
