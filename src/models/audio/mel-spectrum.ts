// Log-mel features of sounds, as Whisper takes them: powers of short frames in bands whose widths follow hearing (Slaney's scale), their
// logarithms within 80 dB of the loudest.

export interface MelConfig {
  /** Samples per second. */
  rate: number;
  /** Samples of a frame's window, and from one frame to the next. */
  window: number;
  hop: number;
  /** Number of bands. */
  mels: number;
  /** Power of ten that counts as the loudest of any sound; left out: that of each sound. */
  loudest?: number;
}

/** Frames between which other work may run. */
const PIECE_FRAMES = 128;

/** The smallest power, and the range below the largest, in powers of ten. */
const [LEAST, RANGE] = [1e-10, 8];

/** Features of a sound that silence fills up to `frames` frames, whole or not, of which the first `wanted` are returned: [wanted, mels]; yields between pieces. */
export function melSpectrum(config: MelConfig) {
  const { window, hop, mels, loudest } = config;
  const powers = spectrum(window);
  const bands = melBands(config);

  return function* (
    samples: Float32Array,
    frames: number,
    wanted: number,
  ): Generator<void, Float32Array<ArrayBuffer>, void> {
    const logs = new Float32Array(wanted * mels).fill(Math.log10(LEAST));
    let most = Math.log10(LEAST);
    // Frames are centred on their samples, so that those behind the sound are silent.
    const heard = Math.min(Math.floor(frames), Math.ceil((samples.length + window / 2) / hop));
    const row = new Float32Array(mels);
    for (let frame = 0; frame < heard; frame++) {
      if (frame % PIECE_FRAMES === 0) yield;
      const found = powers(samples, frame * hop - window / 2, frames * hop);
      for (const [mel, { first, weights }] of bands.entries()) {
        let sum = 0;
        for (let i = 0; i < weights.length; i++) sum += weights[i]! * found[first + i]!;
        row[mel] = Math.log10(Math.max(LEAST, sum));
        most = Math.max(most, row[mel]);
      }
      if (frame < wanted) logs.set(row, frame * mels);
    }
    const least = (loudest ?? most) - RANGE;
    return logs.map((value) => (Math.max(value, least) + 4) / 4);
  };
}

/** Returns the powers of a window's frequencies from sample `first` on. The sound and the silence behind it are mirrored at both ends. */
function spectrum(window: number): (samples: Float32Array, first: number, length: number) => Float64Array {
  const half = window / 2;
  const hann = Float64Array.from(
    { length: window },
    (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / window),
  );
  const frame = new Float64Array(window);
  const powers = new Float64Array(half + 1);
  const fold = powerFold(window);
  return (samples, first, length) => {
    for (let i = 0; i < window; i++) {
      const at = Math.abs(first + i);
      const mirrored = at < length ? at : 2 * (length - 1) - at;
      frame[i] = (samples[mirrored] ?? 0) * hann[i]!;
    }
    fold(frame, powers);
    return powers;
  };
}

/**
 * Powers of a real signal's frequencies. Samples i and n - i share their cosine, those of half the signal apart from each other too, up to
 * the sign: each frequency is a sum of a quarter of the products. `n`: samples, a multiple of 4; frame [n], powers [n / 2 + 1]
 */
export function powerFold(n: number): (frame: Float64Array, powers: Float64Array) => void {
  const cosine = Float64Array.from({ length: n }, (_, i) => Math.cos((2 * Math.PI * i) / n));
  const [half, quarter] = [n / 2, Math.floor(n / 4)];
  const sine = cosine.map((_, i) => cosine[(i + 3 * quarter) % n]!);
  /** Sums and differences of sample i with n - i, then with those of half - i: for even and for odd frequencies. */
  const folded = Array.from({ length: 4 }, () => new Float64Array(quarter + 1));
  const [evenCos, oddCos, evenSin, oddSin] = folded as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  return (frame, powers) => {
    const sum = (i: number): number => (i === 0 || i === half ? frame[i]! : frame[i]! + frame[n - i]!);
    const difference = (i: number): number => (i === 0 || i === half ? 0 : frame[i]! - frame[n - i]!);
    for (let i = 0; i <= quarter; i++) {
      const isMiddle = i === half - i;
      evenCos[i] = isMiddle ? sum(i) : sum(i) + sum(half - i);
      oddCos[i] = isMiddle ? 0 : sum(i) - sum(half - i);
      evenSin[i] = isMiddle ? 0 : difference(i) - difference(half - i);
      oddSin[i] = isMiddle ? difference(i) : difference(i) + difference(half - i);
    }
    for (let k = 0; k <= half; k++) {
      const [cosines, sines] = k % 2 === 0 ? [evenCos, evenSin] : [oddCos, oddSin];
      let [real, imaginary] = [0, 0];
      for (let i = 0, at = 0; i <= quarter; i++) {
        real += cosines[i]! * cosine[at]!;
        imaginary += sines[i]! * sine[at]!;
        at += k;
        if (at >= n) at -= n;
      }
      powers[k] = real * real + imaginary * imaginary;
    }
  };
}

/** Weights of the frequencies from `first` on in a band. */
interface Band {
  first: number;
  weights: Float64Array;
}

/** Triangles over three neighbouring edges, of equal areas. */
function melBands({ rate, window, mels }: MelConfig): Band[] {
  const top = melOf(rate / 2);
  const edges = Array.from({ length: mels + 2 }, (_, i) => hertzOf((top * i) / (mels + 1)));
  const step = rate / window;
  return Array.from({ length: mels }, (_, mel) => {
    const [low, middle, high] = edges.slice(mel, mel + 3) as [number, number, number];
    const first = Math.max(0, Math.ceil(low / step));
    const last = Math.min(window / 2, Math.floor(high / step));
    const weights = Float64Array.from({ length: Math.max(0, last - first + 1) }, (_weight, i) => {
      const hertz = (first + i) * step;
      const height = Math.min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
      return (2 / (high - low)) * Math.max(0, height);
    });
    return { first, weights };
  });
}

/** Slaney's scale is linear up to 1000 Hz and logarithmic above. */
const [BEND, LINEAR, STEP] = [1000, 200 / 3, Math.log(6.4) / 27];

const melOf = (hertz: number): number =>
  hertz < BEND ? hertz / LINEAR : BEND / LINEAR + Math.log(hertz / BEND) / STEP;

const hertzOf = (mel: number): number =>
  mel < BEND / LINEAR ? mel * LINEAR : BEND * Math.exp(STEP * (mel - BEND / LINEAR));
