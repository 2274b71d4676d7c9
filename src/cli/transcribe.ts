// svc transcribe: the text of a sound file, on standard output or in a file.

import { writeFile } from 'node:fs/promises';
import type { CommandDef } from 'citty';
import {
  checkMediaFormat,
  EngineError,
  formatTranscription,
  MODEL_KINDS,
  type openAny,
  type TranscribeOptions,
  TRANSCRIPTION_FORMATS,
  type TranscriptionFormat,
  type TranscriptionModelOptions,
} from '../index.ts';
import { MEDIA_BOUNDS } from '../options/media.ts';
import { LOADING } from '../options/model.ts';
import { forModels } from '../options/setting.ts';
import { createCommand } from './options/command.ts';
import { toModelOptions } from './options/engine-options.ts';
import type { OptionTable, Values } from './options/option.ts';
import { optionsOf } from './options/setting-options.ts';
import { MOST_SOUND_BYTES, readBounded } from './process/bounded-file.ts';
import { UsageError } from './process/exit.ts';
import { untilInterrupted } from './process/interrupt.ts';
import { showOpening } from './process/progress.ts';
import { createLog } from './process/terminal.ts';

const OWN_OPTIONS = {
  'model-path': {
    kind: 'string',
    group: 'Model',
    value: 'folder|id',
    help: 'A folder, or an id on the hub as owner/name.',
    elsewhere: ['model', 'm'],
    isInput: true,
  },
  language: {
    kind: 'string',
    group: 'Transcription',
    help: 'Code or English name of the language that is spoken.',
    otherwise: 'the model finds out',
    elsewhere: ['l'],
  },
  translate: {
    kind: 'boolean',
    group: 'Transcription',
    help: 'Writes a translation to English.',
    otherwise: 'off',
    elsewhere: ['task'],
  },
  'word-timestamps': {
    kind: 'boolean',
    group: 'Transcription',
    help: 'Gives words times: JSON has them, and subtitles show one word at a time.',
    otherwise: 'off',
    elsewhere: ['word_timestamps'],
  },
  prompt: {
    kind: 'string',
    group: 'Transcription',
    help: 'Text that could stand before: names and words as they are to be written.',
    elsewhere: ['initial-prompt'],
  },
  temperature: {
    kind: 'number',
    min: 0,
    max: 2,
    group: 'Transcription',
    help: 'The only temperature that is tried.',
    otherwise: '0, and higher ones where a text repeats itself or is unlikely',
  },
  seed: {
    kind: 'integer',
    min: 0,
    group: 'Transcription',
    help: 'The same seed gives the same text above temperature 0.',
  },
  format: {
    kind: 'choice',
    choices: TRANSCRIPTION_FORMATS,
    group: 'Output',
    help: 'Plain text, segments as JSON, or subtitles.',
    otherwise: "the output file's, else txt",
    elsewhere: ['output-format', 'response-format'],
  },
  output: {
    kind: 'string',
    group: 'Output',
    help: 'File to write, in place of standard output.',
    value: 'path',
    elsewhere: ['o', 'output-path', 'output-file'],
  },
} as const satisfies OptionTable;

const OPTIONS = { ...OWN_OPTIONS, ...optionsOf(forModels({ ...LOADING, ...MEDIA_BOUNDS }, 'transcription')) };

type TranscribeValues = Values<typeof OWN_OPTIONS>;

/** `open`: openAny. */
export function createTranscribe(open: typeof openAny): CommandDef {
  return createCommand({
    name: 'transcribe',
    summary: 'Write what is said in a sound file.',
    positionals: [
      { name: 'file', help: 'a sound: WAV, MP3, FLAC, Ogg, WebM, MP4 and others', required: true },
    ],
    options: OPTIONS,
    run: async ({ options, positionals: [file = ''] }) => {
      const { 'model-path': path } = options;
      if (path === undefined)
        throw new UsageError('the model is missing: give --model-path, a folder or an id on the hub');
      const format = formatOf(options);
      const remedy = ': give a file that is there';
      const audio = new Uint8Array(await readBounded(file, file, MOST_SOUND_BYTES, remedy));
      checkMediaFormat(audio, 'audio', file);
      const progress = showOpening(createLog());
      const interrupt = untilInterrupted();
      try {
        const settings = toModelOptions<TranscriptionModelOptions>(MODEL_KINDS.transcription, path, options);
        const opened = open(settings, progress.event, interrupt.signal).finally(progress.end);
        const { kind, model } = await opened;
        await using closing = model;
        void closing;
        if (kind !== 'transcription' && kind !== 'text')
          throw new UsageError(`--model-path ${path} is a model of kind ${kind}: give one that hears sounds`);
        if (kind === 'text' || !model.info.writesTimes) checkUntimed(options, format);
        const made = await model
          .transcribe(audio, { ...requestOf(options), signal: interrupt.signal })
          .catch((error: unknown) => {
            throw error instanceof EngineError && error.param === 'audio' ? error.underName(file) : error;
          });
        const text = formatTranscription(made, format);
        if (options.output === undefined) process.stdout.write(text);
        else await write(options.output, text);
      } finally {
        interrupt.end();
      }
    },
  });
}

/** Throws UsageError for times, which language models that hear do not write, nor some that transcribe. */
function checkUntimed({ 'word-timestamps': words }: TranscribeValues, format: TranscriptionFormat): void {
  const remedy = 'needs times, and the model writes none';
  if (words) throw new UsageError(`--word-timestamps ${remedy}: leave it out`);
  if (format === 'srt' || format === 'vtt')
    throw new UsageError(`--format ${format} ${remedy}: give txt or json`);
}

/** Throws UsageError for a file whose name tells none. */
function formatOf({ format, output }: TranscribeValues): TranscriptionFormat {
  if (format !== undefined || output === undefined) return format ?? 'txt';
  const found = TRANSCRIPTION_FORMATS.find((one) => output.toLowerCase().endsWith(`.${one}`));
  if (found) return found;
  throw new UsageError(
    `--output ${output} names no format: end it in .${TRANSCRIPTION_FORMATS.join(', .')}, or give --format`,
  );
}

function requestOf(options: TranscribeValues): TranscribeOptions {
  const { language, translate, 'word-timestamps': words, prompt, temperature, seed } = options;
  return {
    ...(language !== undefined && { language }),
    ...(translate && { task: 'translate' }),
    ...(words && { words }),
    ...(prompt !== undefined && { prompt }),
    ...(temperature !== undefined && { temperature }),
    ...(seed !== undefined && { seed }),
  };
}

async function write(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `--output ${path} cannot be written (${error.code}): give a file in a folder that is there`,
    );
  });
}
