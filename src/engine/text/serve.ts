// Serves requests on a text model that is loaded: scheduler, cache and loop behind the TextModel face, with the model's description.

import type { Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import type { Device } from '../../gpu/device.ts';
import type { MediaBounds } from '../../files/media/media.ts';
import { createVocabulary } from '../../grammar/masks/vocabulary.ts';
import { INSTRUCTED } from '../../models/transcription-form.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import { DEFAULTS } from '../../options/limits.ts';
import { modelTypeOf } from '../opening/architectures.ts';
import type { Platform } from '../platform/platform.ts';
import type { ServedDevice } from '../opening/served.ts';
import type { Loras } from './lora/loras.ts';
import { openTiers } from './cache/open-tiers.ts';
import { modelName } from '../opening/model-name.ts';
import { batchNotes, contextNotes, samplingDefaults } from './request/defaults.ts';
import { languageNote } from './request/source-language.ts';
import { leftNote, readSourceSettings, type SourceSettings } from './request/source-settings.ts';
import { GrammarCache } from './threads/grammar-cache.ts';
import type { LoadedText } from './load.ts';
import { connectTextThreads } from './threads/text-threads.ts';
import { MediaLibrary } from './media/library.ts';
import { EngineLoop } from './run/loop.ts';
import { LocalTextModel } from './model.ts';
import { describeFormat } from './output/detect.ts';
import type { RequestContext } from './request/request-context.ts';
import { Scheduler } from './run/scheduler.ts';
import { openSpeculator } from './open-speculator.ts';
import { DRAFT_COUNTS } from './step/runner-options.ts';
import type { Runner } from './step/text-runner.ts';
import type { TextFiles } from './text-files.ts';
import type { TextModelOptions } from './calls/text-model.ts';
import { wrapperNote } from './wrapper-note.ts';

/** Bytes of pages that are written to the device in one step while others decode. */
const LOAD_BYTES = 2 ** 24;

/** Starts a scheduler, its cache and its loop on the parts that the session has loaded. */
export async function serve(
  platform: Platform,
  files: TextFiles,
  options: TextModelOptions,
  session: ServedDevice<LoadedText>,
  loras: Loras,
): Promise<LocalTextModel> {
  const { note } = session;
  const { checkpoint, config } = files;
  const { device, runner } = session.parts;
  const slots = options.maxRunningRequests ?? DEFAULTS.runningRequests;
  for (const message of contextNotes(options, config, runner.contextLength, device)) note(message);
  for (const message of batchNotes(options, device, slots)) note(message);

  const scheduler = new Scheduler(
    {
      ...{ pages: runner.pages, slots, rows: runner.rows, decodeRows: runner.decodeRows },
      ...{ windows: runner.layout.windows, copies: runner.copies },
      ...{ sampledRows: runner.sampledRows, draftCounts: DRAFT_COUNTS },
      expansion: runner.expansion,
      ...(runner.sources && { sourceTokens: runner.sources.tokens }),
    },
    { loads: Math.max(1, Math.floor(LOAD_BYTES / runner.pageBytes)) },
  );
  const tiers = await openTiers(platform, checkpoint, options, {
    pages: scheduler.pages,
    parts: () => session.parts,
    onTrouble: note,
  });
  session.defer(() => tiers?.close());
  const storageBackend = tiers?.storage?.backend;
  const restart = async (): Promise<Runner> => (await session.ready()).runner;
  const speculator = openSpeculator(options, runner.decodeRows ?? runner.rows);
  const loop = new EngineLoop({ scheduler, runner, speculator, storageBackend, restart });
  noteProblems(files, note);

  const { sampling, source: samplingSource } = samplingDefaults(
    checkpoint,
    options.samplingDefaults ?? 'model',
  );
  const source = sourceSettings(files, options, runner);
  for (const said of source ? [leftNote(source), languageNote(files.speech.tokenizer)] : [])
    if (said) note(said);
  const context = { ...requestContext(platform, files, options, session), sampling, source };
  return new LocalTextModel({
    info: {
      ...describeModel(checkpoint, config, context, session.parts),
      maxRunningRequests: slots,
      maxQueuedRequests: options.maxQueuedRequests ?? DEFAULTS.queuedRequests,
      storageBackend: storageBackend ?? null,
      sampling,
      samplingSource,
    },
    context,
    scheduler,
    loop,
    speculator,
    tiers,
    loras,
    pageBytes: runner.pageBytes,
    timeouts: { queueTimeout: options.queueTimeout, totalTimeout: options.totalTimeout },
    session,
  });
}

function noteProblems({ checkpoint, speech, media }: TextFiles, note: (message: string) => void): void {
  if (checkpoint.wrapper && !media) note(wrapperNote(checkpoint.architecture, checkpoint.wrapper));
  if (checkpoint.towerNote) note(`${checkpoint.path}: ${checkpoint.towerNote}`);
  if (checkpoint.generationConfigProblem) note(`${checkpoint.path}: ${checkpoint.generationConfigProblem}`);
  if (speech.template.problem) note(`${checkpoint.path}: ${speech.template.problem.message}`);
}

/** How prompts are read as sources: of so many tokens as the adapter computes at once. */
function sourceSettings(
  { checkpoint, config }: TextFiles,
  { samplingDefaults: from = 'model' }: TextModelOptions,
  { sources }: Pick<Runner, 'sources'>,
): SourceSettings | null {
  const settings = readSourceSettings(checkpoint, config, from);
  return settings && { ...settings, tokens: Math.min(settings.tokens, sources?.tokens ?? Infinity) };
}

function mediaBounds(options: TextModelOptions): MediaBounds {
  return {
    maxImagePixels: options.maxImagePixels ?? DEFAULTS.imagePixels,
    maxVideoPixels: options.maxVideoPixels ?? DEFAULTS.videoPixels,
    maxVideoFrames: options.maxVideoFrames ?? DEFAULTS.videoFrames,
    maxMediaSeconds: options.maxMediaSeconds ?? DEFAULTS.mediaSeconds,
    mediaDecodeTimeout: options.mediaDecodeTimeout ?? DEFAULTS.mediaDecodeTimeout,
  };
}

/** The parts of the model that are needed to read requests. */
function requestContext(
  platform: Platform,
  { checkpoint, config: { vocabulary, ropes, experts }, speech, media }: TextFiles,
  options: TextModelOptions,
  session: ServedDevice<LoadedText>,
): Omit<RequestContext, 'sampling' | 'source'> {
  const thread = platform.tokenizerThread && connectTextThreads(checkpoint.path, platform.tokenizerThread);
  return {
    ...speech,
    name: modelName(options.model),
    longText: thread,
    // Created now, so that its warm-up does not delay a request.
    grammars: new GrammarCache(
      createVocabulary(speech.tokenizer, vocabulary, speech.endIds),
      thread?.compile ?? null,
    ),
    vocabulary,
    contextLength: session.parts.runner.contextLength,
    ownLoras: media?.loras ?? [],
    library: media && new MediaLibrary(media.model, speech.template, platform.media, mediaBounds(options)),
    checkProcessor: options.customLogitProcessors
      ? (code) => session.parts.runner.checkProcessor(code)
      : null,
    ropes,
    prefixCache: options.prefixCache ?? true,
    looksDraftsUp: options.speculativeAlgorithm === 'ngram',
    jsonSchemaMode: options.jsonSchemaMode ?? 'declared',
    recording: {
      hiddenStates: options.enableHiddenStates ?? false,
      routedExperts: options.enableRoutedExperts ?? false,
      experts,
    },
  };
}

/** Collects the members of a model's info that depend on its files and its device. */
function describeModel(
  { path, wrapper, config, beside }: Checkpoint,
  { architecture, vocabulary, context: modelContextLength }: TextDeclaration,
  { name, contextLength, template, output, library }: Omit<RequestContext, 'sampling' | 'source'>,
  { device, peers = [], runner, quantization }: LoadedText,
) {
  const devices = [device, ...peers];
  const sum = (of: (one: Device) => number): number => devices.reduce((all, one) => all + of(one), 0);
  const isWhole = library && wrapper;
  const heard = library?.model.readers.audio;
  const className = isWhole ? wrapper.architecture : architecture;
  return {
    kind: 'text' as const,
    path,
    name,
    architecture: className,
    ...modelTypeOf((isWhole && beside?.config) || config, className),
    parameters: runner.parameters + (runner.towers?.parameters ?? 0),
    quantization,
    weightFormats: runner.weightFormats,
    kvCacheDtype: runner.kvFormat,
    vocabSize: vocabulary,
    contextLength,
    modelContextLength,
    memory: {
      budget: sum((one) => one.memoryBudget),
      weights: sum((one) => one.memory().weights),
      kv: sum((one) => one.memory().kv),
      arena: sum((one) => one.memory().arena + one.memory().step),
    },
    media: [...(library?.kinds ?? [])],
    ...(heard && template.problem === null && { transcription: heard.transcription ?? INSTRUCTED }),
    hasChatTemplate: template.problem === null,
    outputFormat: describeFormat(output),
    adapter: device.summary,
  };
}
