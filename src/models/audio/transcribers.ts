// The classes of models that transcribe sounds. A new one is one line here.

import { readMoonshineTranscriber } from './moonshine-transcriber.ts';
import type { Transcriber, TranscriberFiles } from './transcriber.ts';
import { MOONSHINE_CLASS, WHISPER_CLASS } from './transcriber-names.ts';
import { readWhisperTranscriber } from './whisper-transcriber.ts';

interface TranscriberClass {
  name: string;
  /** The `model_type` that means this class in a config.json without `architectures`. */
  modelType: string;
  read(files: TranscriberFiles): Transcriber;
}

const classes: readonly TranscriberClass[] = [
  { name: MOONSHINE_CLASS, modelType: 'moonshine', read: readMoonshineTranscriber },
  { name: WHISPER_CLASS, modelType: 'whisper', read: readWhisperTranscriber },
];

export const transcriberClasses = (): readonly Omit<TranscriberClass, 'read'>[] => classes;

/** Reads a model's configuration. Errors: bad_checkpoint, unsupported. */
export function readTranscriber(files: TranscriberFiles, className: string): Transcriber {
  return classes.find(({ name }) => name === className)!.read(files);
}
