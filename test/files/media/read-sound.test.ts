import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { loadMediabunny } from '../../../src/files/media/container.ts';
import { readSound } from '../../../src/files/media/read-sound.ts';
import { type SoundPiece, soundPieces } from '../../../src/files/media/sound-pieces.ts';
import { resampleSound, soundReader } from '../../../src/files/media/sound-reader.ts';
import { PAGE_DECODERS } from '../../../src/files/page/decoders.ts';
import { soundGoldens } from './sounds-golden.ts';

const RATE = 16_000;
const bounds = { maxMediaSeconds: 60 };
const goldens = soundGoldens();
const golden = (name: string) => goldens.find((one) => one.name === name)!;
const read = (file: Uint8Array, maxMediaSeconds = 60) =>
  readSound(file, 'sound', { bounds: { maxMediaSeconds }, rate: RATE });

async function refusal(file: Uint8Array, maxMediaSeconds?: number): Promise<EngineError> {
  const error = await read(file, maxMediaSeconds).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EngineError);
  expect((error as EngineError).param).toBe('sound');
  return error as EngineError;
}

/** Decibels of the difference below the sound. */
function likeness(found: Float32Array, wanted: Float32Array): number {
  let [energy, error] = [0, 0];
  wanted.forEach((value, i) => {
    energy += value ** 2;
    error += (value - found[i]!) ** 2;
  });
  return 10 * Math.log10(energy / error);
}

describe('sound files', () => {
  it.each(goldens)('$name has the samples that load_audio reads', async ({ file, samples }) => {
    const sound = await read(file);
    expect(sound.rate).toBe(RATE);
    expect(sound.samples.length).toBe(samples.length);
    expect(likeness(sound.samples, samples)).toBeGreaterThan(60);
  });

  it('keeps the rate that the model takes, and raises lower ones', async () => {
    const { file, samples } = golden('16-bit');
    expect((await read(file)).samples).toEqual(samples);
    const higher = await readSound(golden('mu-law').file, 'sound', { bounds, rate: 24_000 });
    expect(higher.samples.length).toBe(Math.ceil(0.27 * 24_000));
  });

  it('are read alike without Node', async () => {
    const { file, samples } = golden('flac');
    const all = { maxImagePixels: 1, maxVideoPixels: 1, maxVideoFrames: 1, maxMediaSeconds: 60 };
    const sound = await PAGE_DECODERS.audio(file, 'sound', { bounds: all, rate: RATE });
    expect(likeness(sound.samples, samples)).toBeGreaterThan(60);
  });
});

describe('a sound is resampled while it is decoded', () => {
  const mp4 = Buffer.from('\0\0\0\x1cftypisom');
  const [rate, length, count] = [384_000, 8192, 20];
  const sample = (i: number) => Math.sin(i / 50) / 2;
  const reader = (pieces: () => AsyncGenerator<SoundPiece, void>) =>
    soundReader(async () => pieces())(mp4, 'sound', { bounds, rate: RATE });

  it('and the pieces are not kept', async () => {
    const sound = await reader(async function* () {
      // Each piece lies where the one before it was.
      const piece = new Float32Array(length);
      for (let at = 0; at < count * length; at += length) {
        piece.forEach((_, i) => (piece[i] = sample(at + i)));
        yield { channels: [piece], rate };
      }
    });
    const whole = Float32Array.from({ length: count * length }, (_, i) => sample(i));
    const wanted = await resampleSound({ samples: whole, rate }, { rate: RATE });
    expect(sound.samples.length).toBe(Math.ceil((count * length * RATE) / rate));
    expect(sound).toEqual(wanted);
  });

  it('and a sample that is not a number ends the sound', async () => {
    let given = 0;
    const reading = reader(async function* () {
      for (; given < count; given++)
        yield { channels: [new Float32Array(length).fill(given === 2 ? NaN : 0)], rate };
    });
    await expect(reading).rejects.toThrow('not a finite number');
    expect(given).toBe(2);
  });

  it('and other work runs while there is nothing to decode', async () => {
    const other = { turns: 0 };
    const timer = setInterval(() => other.turns++);
    const reading = reader(async function* () {
      const end = performance.now() + 5000;
      while (other.turns < 3 && performance.now() < end) yield { channels: [], rate };
      yield { channels: [new Float32Array(length)], rate };
    });
    await reading.finally(() => clearInterval(timer));
    expect(other.turns).toBeGreaterThanOrEqual(3);
  });
});

describe('channels of a WAV file', () => {
  /** Each frame has one value in all channels. */
  function wavOf(channels: number, frames: number): Buffer {
    const file = Buffer.alloc(44 + 2 * channels * frames);
    file.write('RIFF\0\0\0\0WAVEfmt ');
    file.writeUInt32LE(16, 16);
    [1, channels].forEach((value, i) => file.writeUInt16LE(value, 20 + 2 * i));
    file.writeUInt32LE(RATE, 24);
    [2 * channels, 16].forEach((value, i) => file.writeUInt16LE(value, 32 + 2 * i));
    file.write('data', 36);
    file.writeUInt32LE(2 * channels * frames, 40);
    for (let i = 0; i < channels * frames; i++)
      file.writeInt16LE(Math.floor(i / channels) % 1000, 44 + 2 * i);
    return file;
  }

  it('are read up to 64, few frames of them at once', async () => {
    const file = wavOf(64, 3000);
    for await (const { channels } of soundPieces(file, 'WAV')!)
      expect(channels.length * channels[0]!.length).toBeLessThanOrEqual(2 ** 16);
    const { samples } = await read(file);
    expect(samples).toEqual(Float32Array.from({ length: 3000 }, (_, i) => (i % 1000) / 2 ** 15));
  });

  it.each([65, 20_000])('are refused if there are %d', async (channels) => {
    const { code, message } = await refusal(wavOf(channels, 2));
    expect(code).toBe('unsupported');
    expect(message).toBe(`sound has ${channels} channels; give a sound of 64 at most, such as stereo`);
  });
});

it('a FLAC file is read between tags', async () => {
  const { file, samples } = golden('flac');
  const tagged = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\x07 fLaC a'), file]);
  const both = Buffer.concat([tagged, Buffer.from('TAG'.padEnd(128, '.'))]);
  for (const one of [tagged, both]) expect(likeness((await read(one)).samples, samples)).toBeGreaterThan(60);
});

describe('refusals of sounds', () => {
  it('refuses a FLAC file by the length that it states, before it is decoded', async () => {
    const head = Uint8Array.from(golden('flac').file.subarray(0, 42));
    new DataView(head.buffer).setUint32(22, 2 ** 31);
    expect((await refusal(head)).message).toContain('lasts more than 60 seconds');
  });

  it('states how long a sound may be', async () => {
    for (const name of ['16-bit', 'flac', 'vorbis', 'mp3']) {
      const { code, message } = await refusal(golden(name).file, 0.1);
      expect(code).toBe('bad_request');
      expect(message).toContain('0.1');
    }
  });

  it.each(['16-bit', 'mp3-low', 'flac', 'vorbis', 'opus'])('%s cut off', async (name) => {
    const { file } = golden(name);
    const { code, message } = await refusal(file.subarray(0, Math.floor(file.length * 0.6)));
    expect(code).toBe('bad_request');
    expect(message).toMatch(/damaged or cut off/);
  });

  it('name files that are no sound, have no samples, or a rate that is not heard', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
    expect((await refusal(png)).message).toContain('is a PNG file, an image and not a sound');
    expect((await refusal(Buffer.from('hello there'))).message).toContain('no known format');
    const { file } = golden('16-bit');
    const empty = Buffer.from(file.subarray(0, 44));
    empty.writeUInt32LE(0, 40);
    expect((await refusal(empty)).message).toContain('no samples');
    const slow = Buffer.from(file);
    slow.writeUInt32LE(7, 24);
    expect((await refusal(slow)).message).toContain('7 samples a second');
    const adpcm = Buffer.from(file);
    adpcm.writeUInt16LE(17, 20);
    const { code, message } = await refusal(adpcm);
    expect(code).toBe('unsupported');
    expect(message).toMatch(
      /^sound is a WAV file with IMA ADPCM \(format 17, 16 bits\), which is not read; convert it to a WAV file of 16-bit PCM/,
    );
    expect(
      (await refusal(golden('float').file.map((byte, at) => (at > 100 ? 255 : byte)))).message,
    ).toContain('finite');
  });

  it('names the package that containers need', async () => {
    const m4a = Buffer.concat([Buffer.from('0000001c', 'hex'), Buffer.from('ftypM4A \0\0\0\0M4A mp42isom')]);
    const { code, message } = await refusal(m4a);
    if (await loadMediabunny()) expect(message).toMatch(/damaged or cut off|has no sound track/);
    else
      expect([code, message]).toEqual([
        'unsupported',
        expect.stringContaining('npm install @mediabunny/server'),
      ]);
  });

  it('stops when the request is cancelled', async () => {
    const signal = AbortSignal.abort(new EngineError('cancelled', 'it is cancelled'));
    const reading = readSound(golden('flac').file, 'sound', { bounds, rate: RATE, signal });
    await expect(reading).rejects.toThrow('it is cancelled');
  });
});
