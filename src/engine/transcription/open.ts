// The files of a transcription model as it is opened, how its runner is loaded onto a device, and what serves requests on it.

import { openCheckpoint, readCheckpointConfig, type Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import { readProcessors } from '../../files/checkpoint/processors.ts';
import { noteOf } from '../../files/message.ts';
import { checkVocabularySize } from '../../files/tokenizer/token-ids.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { Device } from '../../gpu/device.ts';
import type { Transcriber } from '../../models/audio/transcriber.ts';
import { readTranscriber } from '../../models/audio/transcribers.ts';
import { DEFAULTS } from '../../options/limits.ts';
import { TRANSCRIPTION_CLASSES } from '../opening/architectures.ts';
import { fetchModel } from '../opening/fetch-model.ts';
import { modelName } from '../opening/model-name.ts';
import type { OpenEvent } from '../opening/open-event.ts';
import type { Opening, ReadModel } from '../opening/served.ts';
import type { Platform } from '../platform/platform.ts';
import { chooseQuantization, weightBytesIn } from '../weights/quantization.ts';
import { LocalTranscriptionModel, soundBounds } from './model.ts';
import { openTranscriptionRunner } from './runner.ts';
import { readSpeechTokens, textTokens, type SpeechTokens } from './speech-tokens.ts';
import { StepQueue, type LoadedTranscriber } from './step-queue.ts';
import type {
  TranscriptionModel,
  TranscriptionModelInfo,
  TranscriptionModelOptions,
} from './transcription-model.ts';

/** Windows of requests that are transcribed together. */
export const MOST_WINDOWS = 4;

/** The files of a model, which outlive its device. */
interface TranscriberFiles {
  checkpoint: Checkpoint;
  transcriber: Transcriber;
  tokenizer: Tokenizer;
  tokens: SpeechTokens;
}

/** Reads a transcription model's files. See ReadFiles. */
export async function openTranscription(
  platform: Platform,
  options: TranscriptionModelOptions,
  opening: Opening,
): Promise<ReadModel<TranscriptionModel, LoadedTranscriber>> {
  const files = await openFiles(platform, options, opening);
  const { transcriber, tokens, tokenizer } = files;
  const parts = { transcriber, tokens, tokenizer, decoders: platform.media, bounds: soundBounds(options) };
  return {
    openDevice: () => platform.openDevice(options),
    load: (device, _, onLoad) => load(device, files, options, onLoad),
    serve: async (device) =>
      new LocalTranscriptionModel(describe(files, options, device.parts), parts, device),
  };
}

async function openFiles(
  platform: Platform,
  options: TranscriptionModelOptions,
  { onEvent, signal, defer, note }: Opening,
): Promise<TranscriberFiles> {
  const path = await fetchModel(platform, options, onEvent, signal, async (settings) => {
    await readCheckpointConfig(settings, TRANSCRIPTION_CLASSES);
  });
  const folder = await platform.openFolder(path);
  const checkpoint = await openCheckpoint(folder, TRANSCRIPTION_CLASSES);
  defer(() => checkpoint.close());
  const { config, generationConfig, generationConfigProblem } = checkpoint;
  if (generationConfigProblem) note(`${path}: ${generationConfigProblem}`);
  const processors = await readProcessors(folder, await folder.names());
  const transcriber = readTranscriber(
    { config, processors, generation: generationConfig },
    checkpoint.architecture,
  );
  if (transcriber.alignmentProblem) note(`${path}: ${transcriber.alignmentProblem}`);
  const tokenizer = await checkpoint.tokenizer();
  checkVocabularySize(tokenizer, transcriber.vocabulary);
  const { prompt } = transcriber;
  const tokens = prompt
    ? textTokens(prompt, generationConfig, config)
    : readSpeechTokens(tokenizer, generationConfig, config);
  return { checkpoint, transcriber, tokenizer, tokens };
}

async function load(
  device: Device,
  { checkpoint, transcriber }: TranscriberFiles,
  options: TranscriptionModelOptions,
  onEvent: (event: OpenEvent) => void,
): Promise<LoadedTranscriber> {
  const bytesIn = weightBytesIn(device, checkpoint.tensors, (table) => transcriber.page(table));
  const quantization = await chooseQuantization(device, options.quantization, bytesIn, (message) =>
    onEvent(noteOf(message)),
  );
  const runner = await openTranscriptionRunner(device, checkpoint, transcriber, {
    quantization,
    slots: MOST_WINDOWS,
    onProgress: (bytes, totalBytes) => onEvent({ type: 'load', bytes, totalBytes }),
    onNote: (message) => onEvent(noteOf(message)),
  });
  const steps = new StepQueue(runner);
  await warmUp(steps, transcriber, (done, total) => onEvent({ type: 'warmup', done, total }));
  return { device, runner, steps, quantization };
}

function describe(
  { checkpoint, transcriber, tokens }: TranscriberFiles,
  options: TranscriptionModelOptions,
  { device, runner, quantization }: LoadedTranscriber,
): TranscriptionModelInfo {
  const memory = device.memory();
  const { rate, hop, frames } = transcriber.sound;
  const type = checkpoint.config['model_type'];
  return {
    kind: 'transcription',
    path: checkpoint.path,
    name: modelName(options.model),
    architecture: transcriber.architecture,
    ...(typeof type === 'string' && { modelType: type }),
    ...runner.facts,
    quantization,
    languages: tokens.languages.size === 0 ? ['en'] : [...tokens.languages.keys()],
    translates: tokens.languages.size > 0,
    writesTimes: tokens.times !== null,
    timesWords: transcriber.alignment !== null,
    windowSeconds: (frames * hop) / rate,
    maxQueuedRequests: options.maxQueuedRequests ?? DEFAULTS.queuedRequests,
    memory: {
      budget: device.memoryBudget,
      weights: memory.weights,
      kv: memory.kv,
      arena: memory.arena + memory.step,
    },
    adapter: device.summary,
  };
}

/** Runs each kernel once, because kernels are compiled at their first use and a request should not wait for that. */
async function warmUp(
  steps: StepQueue,
  { sound }: Transcriber,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const { signal } = new AbortController();
  const total = 2;
  onProgress(0, total);
  await steps.withWindow(
    new Float32Array(sound.frames * sound.columns),
    async ({ write }) => {
      await write([0, 0, 0], { first: 0, prompt: 3, wanted: [0, 2] });
      onProgress(1, total);
      await write([0, 0, 0, 0], { first: 3, prompt: 3, wanted: [3] });
    },
    signal,
  );
  onProgress(total, total);
}
