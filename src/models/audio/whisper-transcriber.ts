// Whisper as the engine transcribes with it.

import { WHISPER_CLASS } from './transcriber-names.ts';
import { readAlignment } from './whisper-alignment.ts';
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
  return {
    architecture: WHISPER_CLASS,
    ...{ vocabulary, layers, heads, context },
    sound: { mel: settings.mel, frames: settings.frames, rows: settings.encoder.positions },
    alignment,
    ...(problem !== null && { alignmentProblem: problem }),
    page: (weights) => whisperTranscriber(config, weights),
  };
}
