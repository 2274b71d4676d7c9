// Whisper as the engine transcribes with it.

import { WHISPER_CLASS } from './transcriber-names.ts';
import { readAlignment } from './whisper-alignment.ts';
import { melSpectrum } from './mel-spectrum.ts';
import type { Transcriber, TranscriberFiles } from './transcriber.ts';
import { readWhisper } from './whisper-config.ts';
import { readWhisperDecoder } from './whisper-decoder-config.ts';
import { whisperTranscriber } from './whisper-decoder.ts';

/** Errors: bad_checkpoint, unsupported. */
export function readWhisperTranscriber(files: TranscriberFiles): Transcriber {
  const settings = readWhisper({ ...files, config: { audio_config: files.config } });
  const config = readWhisperDecoder(files, settings);
  const { vocabulary, layers, heads, context } = config;
  const { alignment, problem } = readAlignment(files, { layers, heads: heads.heads });
  const { mel, frames, encoder } = settings;
  const spectrum = melSpectrum(mel);
  return {
    architecture: WHISPER_CLASS,
    ...{ vocabulary, layers, heads, context },
    ropes: [],
    sound: {
      ...{ rate: mel.rate, hop: mel.hop, columns: mel.mels, frames, least: frames },
      framesOf: (samples) => Math.ceil(samples / mel.hop),
      rowsOf: () => encoder.positions,
      features: (samples, all) => spectrum(samples, all, all),
    },
    prompt: null,
    alignment,
    ...(problem !== null && { alignmentProblem: problem }),
    page: (weights) => whisperTranscriber(config, weights),
  };
}
