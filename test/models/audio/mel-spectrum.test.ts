import { expect, it } from 'vitest';
import { readSound } from '../../../src/files/media/read-sound.ts';
import { melSpectrum } from '../../../src/models/audio/mel-spectrum.ts';
import { finished } from '../../../src/models/preparation.ts';
import { soundGoldens } from '../../files/media/sounds-golden.ts';

const RATE = 16_000;
const [SECONDS, PER_SECOND] = [30, 100];

it.each(soundGoldens())(
  'features of $name are those of transformers',
  async ({ file, mels, frames, features, rest }) => {
    const { samples } = await readSound(file, 'sound', { bounds: { maxMediaSeconds: 60 }, rate: RATE });
    const spectrum = melSpectrum({ rate: RATE, window: 400, hop: 160, mels });
    const all = SECONDS * PER_SECOND;
    const found = finished(spectrum(samples, all, all));
    expect(found.length).toBe(all * mels);
    expect(finished(spectrum(samples, all, frames))).toEqual(found.subarray(0, frames * mels));
    const range = features.reduce((a, b) => Math.max(a, b)) - features.reduce((a, b) => Math.min(a, b));
    let [most, sum] = [0, 0];
    for (let frame = 0; frame < frames; frame++)
      for (let mel = 0; mel < mels; mel++) {
        const difference = Math.abs(found[frame * mels + mel]! - features[mel * frames + frame]!) / range;
        most = Math.max(most, difference);
        sum += difference;
      }
    expect(most).toBeLessThan(2 / 255);
    expect(sum / (frames * mels)).toBeLessThan(1e-3);
    expect(Math.abs(found.at(-1)! - rest)).toBeLessThan(1e-4);
  },
);

it('a sound that fills its window is mirrored', () => {
  const spectrum = melSpectrum({ rate: RATE, window: 400, hop: 160, mels: 20 });
  const even = Float32Array.from({ length: 1600 }, (_, i) => Math.cos((Math.PI * i * 100) / 1599));
  const features = finished(spectrum(even, 10, 10));
  // A tone whose mirrored ends continue it has the same power in the first frame as in the middle.
  const at = (frame: number) =>
    features.subarray(frame * 20, (frame + 1) * 20).reduce((a, b) => Math.max(a, b));
  expect(Math.abs(at(0) - at(5))).toBeLessThan(2e-3);
});
