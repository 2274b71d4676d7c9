// Sounds for Qwen3-ASR: features in chunks of a second, of which the last is filled with zeros, and where the rows of each stand.

import { partsOf } from '../text/wrappers.ts';
import type { MediaFamily, Preparation, Sound } from '../media.ts';
import { placesUpTo, sineRows } from '../sines.ts';
import type { TranscriptionForm } from '../transcription-form.ts';
import { melSpectrum } from './mel-spectrum.ts';
import { readQwen3Asr, type Qwen3AsrConfig, type Qwen3AsrSounds } from './qwen3-asr-config.ts';
import { convolved, qwen3AsrTower, type Qwen3AsrLayout } from './qwen3-asr.ts';

const TOWER = 'sound';
const TOKEN = '<|audio_pad|>';

/** source: Qwen3ASRProcessor's transcription requests */
const FORM: TranscriptionForm = {
  transcribe: {
    known: { user: '', reply: 'language {language}<asr_text>' },
    unknown: { user: '', reply: '' },
  },
  translate: null,
  takesPrompt: true,
  marker: '<asr_text>',
};

export const QWEN3_ASR: MediaFamily = {
  classes: ['Qwen3ASRForConditionalGeneration'],
  read(files) {
    const settings = readQwen3Asr({ ...files, config: partsOf(files.config) });
    const spectrum = melSpectrum(settings.mel);
    return {
      readers: {
        audio: {
          placeholder: TOKEN,
          rate: settings.mel.rate,
          transcription: FORM,
          prepare: (sound) => prepare(settings, spectrum, sound),
        },
      },
      towers: { [TOWER]: (weights) => qwen3AsrTower(settings.encoder, weights) },
      spans: false,
    };
  },
};

function* prepare(
  { encoder, mel, least }: Qwen3AsrSounds,
  spectrum: ReturnType<typeof melSpectrum>,
  { samples }: Sound,
): Preparation {
  const { frames, mels } = encoder;
  const length = Math.max(samples.length, least);
  const heard = Math.floor(length / mel.hop);
  const chunks = Math.ceil(heard / frames);
  const last = convolved(heard - (chunks - 1) * frames);
  const ofChunk = convolved(frames);
  const rows = (chunks - 1) * ofChunk + last;
  yield rows;
  const found = yield* spectrum(samples, length / mel.hop, heard);
  const features = new Float32Array(chunks * mels * frames);
  for (let frame = 0; frame < heard; frame++) {
    const chunk = Math.floor(frame / frames);
    for (let band = 0; band < mels; band++)
      features[(chunk * mels + band) * frames + (frame % frames)] = found[frame * mels + band]!;
  }
  const seen = Math.min(rows, encoder.together * (chunks > 1 ? ofChunk : last));
  const layout: Qwen3AsrLayout = { rows, windows: Math.ceil(rows / seen), seen };
  return {
    parts: [rows],
    token: TOKEN,
    tower: TOWER,
    inputs: { features: { shape: [chunks, mels, frames], data: features }, ...placesOf(encoder, layout) },
    layout,
  };
}

function placesOf(
  { mels, channels, frames, hidden }: Qwen3AsrConfig,
  { rows, windows, seen }: Qwen3AsrLayout,
) {
  const [bands, ofChunk, all] = [convolved(mels), convolved(frames), windows * seen];
  const isRow = (row: number): number => (row < rows ? 1 : 0);
  const sources = Uint32Array.from({ length: all * bands }, (_, i) => {
    const [row, band] = [Math.floor(i / bands), i % bands];
    return isRow(row) * ((Math.floor(row / ofChunk) * bands + band) * ofChunk + (row % ofChunk));
  });
  const shares = Float32Array.from(sources, (_, i) => isRow(Math.floor(i / bands)));
  // Columns as the product behind the convolutions has them: the bands of a channel follow each other.
  const order = Uint32Array.from(
    { length: channels * bands },
    (_, i) => (i % bands) * channels + Math.floor(i / bands),
  );
  return {
    sources: { shape: [all * bands, 1], data: sources },
    shares: { shape: [all * bands, 1], data: shares },
    places: { shape: [ofChunk, hidden], data: sineRows(placesUpTo(ofChunk), hidden) },
    at: { shape: [all, 1], data: Uint32Array.from({ length: all }, (_, row) => row % ofChunk) },
    parts: { shape: [all, 1], data: Float32Array.from({ length: all }, (_, row) => isRow(row)) },
    order: { shape: [1, channels * bands], data: order },
    counts: {
      shape: [windows],
      data: Uint32Array.from({ length: windows }, (_, i) => Math.min(seen, rows - i * seen)),
    },
  };
}
