// Log-mel features of sounds, as encoders of the kind of the Universal Speech Model take them: magnitudes of frames in bands of equal widths on the
// mel scale of HTK. Or as Kaldi computes them: powers, and triangles that are straight on that scale.

import { powerFold } from './mel-spectrum.ts';

export interface HtkMelConfig {
  /** Samples per second. */
  rate: number;
  /** Samples of a frame's window, of the transform that zeros fill up, and from one frame to the next. */
  window: number;
  length: number;
  hop: number;
  /** Number of bands, and their lowest and highest frequency. */
  mels: number;
  least: number;
  most: number;
  /** Added to each band before its logarithm, or the least value of one. */
  floor: number;
  isFloorAdded: boolean;
  /** Samples of zeros before a sound. */
  before: number;
  /** Pre-emphasis coefficient: share of the sample before that is subtracted; for a frame's first sample, of itself (HTK). */
  emphasis: number;
  /** Powers in triangles that are straight on the mel scale, of frames in a symmetric Hamming window, and a factor on samples; left out: magnitudes in triangles that are straight in hertz, in a periodic Hann window. */
  kaldi?: { gain: number };
}

/** Frames between which other work may run. */
const PIECE_FRAMES = 128;

/** Features of the first frames of a sound, [frames, mels]; yields between pieces. */
export function htkMel(config: HtkMelConfig) {
  const { window, length, hop, mels, floor, isFloorAdded, before, emphasis, kaldi } = config;
  const shape = kaldi
    ? Float64Array.from(
        { length: window },
        (_, i) => kaldi.gain * (0.54 - 0.46 * Math.cos((2 * Math.PI * i) / (window - 1))),
      )
    : Float32Array.from({ length: window }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / window));
  const fold = powerFold(length);
  const bands = htkBands(config);

  return function* (samples: Float32Array, frames: number): Generator<void, Float32Array<ArrayBuffer>, void> {
    const logs = new Float32Array(frames * mels);
    const frame = new Float64Array(length);
    const powers = new Float64Array(length / 2 + 1);
    for (let at = 0; at < frames; at++) {
      if (at % PIECE_FRAMES === 0) yield;
      for (let i = 0; i < window; i++) {
        const from = at * hop - before + i;
        const sample = samples[from] ?? 0;
        frame[i] = (sample - emphasis * (i === 0 ? sample : (samples[from - 1] ?? 0))) * shape[i]!;
      }
      fold(frame, powers);
      for (const [mel, band] of bands.entries()) {
        let sum = 0;
        for (let i = band.first; i <= band.last; i++)
          sum += band.weights[i - band.first]! * (kaldi ? powers[i]! : Math.sqrt(powers[i]!));
        logs[at * mels + mel] = Math.log(isFloorAdded ? sum + floor : Math.max(sum, floor));
      }
    }
    return logs;
  };
}

interface Band {
  /** Frequencies of the transform within it. */
  first: number;
  last: number;
  /** Of each. */
  weights: Float64Array;
}

/** Triangles over three neighbouring edges, of height 1. */
function htkBands({ rate, length, mels, least, most, kaldi }: HtkMelConfig): Band[] {
  const [low, high] = [melOf(least), melOf(most)];
  const edges = Array.from({ length: mels + 2 }, (_, i) => hertzOf(low + ((high - low) * i) / (mels + 1)));
  const step = rate / length;
  const scaled = kaldi ? melOf : (hertz: number): number => hertz;
  return Array.from({ length: mels }, (_, mel) => {
    const [from, middle, to] = edges.slice(mel, mel + 3) as [number, number, number];
    const first = Math.max(0, Math.ceil(from / step));
    const last = Math.min(length / 2, Math.floor(to / step));
    const [begin, top, end] = [from, middle, to].map(scaled) as [number, number, number];
    const weights = Float64Array.from({ length: Math.max(0, last + 1 - first) }, (_band, i) => {
      const at = scaled((first + i) * step);
      return Math.max(0, Math.min((at - begin) / (top - begin), (end - at) / (end - top)));
    });
    return { first, last, weights };
  });
}

const melOf = (hertz: number): number => 2595 * Math.log10(1 + hertz / 700);
const hertzOf = (mel: number): number => 700 * (10 ** (mel / 2595) - 1);
