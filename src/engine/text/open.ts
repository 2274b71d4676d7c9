// Opens a text model in this thread: checkpoint, device, runner, scheduler and clock, behind the TextModel face.

import {
  checkTokenizerFiles,
  openCheckpoint,
  readCheckpointConfig,
  type Checkpoint,
} from '../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../files/error.ts';
import type { Folder } from '../../files/source.ts';
import { openChatTemplate } from '../../files/template/template.ts';
import type { TextDeclaration } from '../../models/text/architecture.ts';
import { readText } from '../../models/text/registry.ts';
import { TEXT_CLASSES } from '../architectures.ts';
import { checkVocabularySize } from '../../files/tokenizer/token-ids.ts';
import { fetchModel } from '../fetch-model.ts';
import { DEFAULTS } from '../../options/limits.ts';
import type { Platform } from '../platform.ts';
import { contextNotes, endTokens, modelName, samplingDefaults } from './defaults.ts';
import { CacheTiers } from './cache/cache-tiers.ts';
import { GrammarCache } from './grammar-cache.ts';
import { createVocabulary } from '../../grammar/vocabulary.ts';
import { connectTokenizer } from './long-text.ts';
import { Adapters } from './adapters.ts';
import { loadOnto, type Loaded, type LoadingOptions } from './load.ts';
import { EngineLoop } from './loop.ts';
import { LocalTextModel, TEXT_CALLS } from './model.ts';
import { describeFormat, detectFormats, outputFormat } from './output/detect.ts';
import type { RequestContext } from './request.ts';
import type { Runner } from './step/runner.ts';
import { Scheduler } from './scheduler.ts';
import { DeviceSession, type DeviceSource } from '../session/device-session.ts';
import { localModel } from '../session/model.ts';
import type { OpenEvent } from '../session/open-event.ts';
import { Opening } from '../session/opening.ts';
import type { TextModel, TextModelOptions } from './text-model.ts';
import { untieStoredHead } from './tied-head.ts';
import { wrapperNote } from './wrapper-note.ts';

/**
 * Errors: model_not_found, bad_checkpoint, unsupported, no_adapter, out_of_memory, network; device_lost where the device is lost
 * meanwhile; cancelled where `signal` aborts.
 */
export function openTextModelInline(
  platform: Platform,
  options: TextModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<TextModel> {
  return Opening.run(onEvent, signal, async (opening) => {
    const path = await fetchModel(platform, options, opening.onEvent, signal, inspect);
    const checkpoint = await openCheckpoint(await platform.openFolder(path), TEXT_CLASSES);
    opening.resources.defer(() => checkpoint.close());
    return openModel(platform, checkpoint, options, opening);
  });
}

/** Checks what can be refused before weights are fetched. */
async function inspect(folder: Folder): Promise<void> {
  const { config, architecture } = await readCheckpointConfig(folder, TEXT_CLASSES);
  readText(config, architecture);
  checkTokenizerFiles(folder.path, await folder.names());
}

async function openModel(
  platform: Platform,
  checkpoint: Checkpoint,
  options: TextModelOptions,
  opening: Opening,
): Promise<TextModel> {
  const { note } = opening;
  const stated = readText(checkpoint.config, checkpoint.architecture);
  const config = await untieStoredHead(stated, checkpoint.tensors, note);
  const speech = await readSpeech(checkpoint, config, options);
  const adapters = new Adapters(platform, options, note);
  const slots = options.maxRunningRequests ?? DEFAULTS.runningRequests;
  const loading = { ...options, slots, endTokens: speech.endIds.length, adapters };
  const session = await DeviceSession.open(opening, deviceSource(platform, checkpoint, config, loading));
  const { device, runner, quantization } = session.parts;
  for (const message of contextNotes(options, config.context, runner.contextLength, device)) note(message);

  const scheduler = new Scheduler(
    { pages: runner.pages, slots, rows: runner.rows },
    { loads: Math.max(1, Math.floor(LOAD_BYTES / runner.pageBytes)) },
  );
  const { kvFormat } = runner;
  const tiers = await openTiers(platform, checkpoint, options, {
    pages: scheduler.pages,
    runner: () => session.parts.runner,
    computed: JSON.stringify([PAGE_LAYOUT, checkpoint.config, quantization, kvFormat, device.summary]),
    onTrouble: note,
  });
  session.defer(() => tiers?.close());
  const storageBackend = tiers?.storage?.backend;
  const restart = async (): Promise<Runner> => (await session.ready()).runner;
  const loop = new EngineLoop({ scheduler, runner, storageBackend, restart });
  if (checkpoint.wrapper) note(wrapperNote(checkpoint.architecture, checkpoint.wrapper));
  if (checkpoint.generationConfigProblem) note(`${checkpoint.path}: ${checkpoint.generationConfigProblem}`);
  if (speech.template.problem) note(`${checkpoint.path}: ${speech.template.problem.message}`);

  const { sampling, source } = samplingDefaults(checkpoint, options.samplingDefaults ?? 'model');
  const context = { ...requestContext(platform, checkpoint, config, options, speech, session), sampling };
  const model = new LocalTextModel({
    info: {
      ...describeModel(checkpoint, config, context, session.parts),
      maxRunningRequests: slots,
      maxQueuedRequests: options.maxQueuedRequests ?? DEFAULTS.queuedRequests,
      storageBackend: storageBackend ?? null,
      sampling,
      samplingSource: source,
    },
    context,
    scheduler,
    loop,
    tiers,
    adapters,
    pageBytes: runner.pageBytes,
    timeouts: { queueTimeout: options.queueTimeout, totalTimeout: options.totalTimeout },
    session,
  });
  return localModel<TextModel>(model, TEXT_CALLS);
}

/** The device of a model and its runner. A model that is loaded again needs room for as many pages as before. */
function deviceSource(
  platform: Platform,
  checkpoint: Checkpoint,
  config: TextDeclaration,
  options: Omit<LoadingOptions, 'pages' | 'packed'>,
): DeviceSource<Loaded> {
  // Kernels run with bounds checks where requests may bring their own.
  const safe = (options.safe ?? false) || (options.customLogitProcessors ?? false);
  return {
    openDevice(before) {
      const memoryBudget = before?.device.memoryBudget ?? options.memoryBudget;
      return platform.openDevice({ ...options, memoryBudget, safe });
    },
    load(device, before, onEvent) {
      const loading = { ...options, pages: before?.runner.pages ?? null, packed: platform.packed };
      return loadOnto(device, checkpoint, config, loading, onEvent);
    },
  };
}

type Speech = Pick<RequestContext, 'tokenizer' | 'template' | 'output' | 'endIds'>;

/** How text goes in and comes out. A format that nobody knows is told before the weights are read. */
async function readSpeech(
  checkpoint: Checkpoint,
  { vocabulary }: TextDeclaration,
  { toolCallParser: tools, reasoningParser: reasoning }: TextModelOptions,
): Promise<Speech> {
  const tokenizer = await checkpoint.tokenizer();
  checkVocabularySize(tokenizer, vocabulary);
  const template = openChatTemplate(checkpoint.chatTemplate, tokenizer.specials);
  const detected = detectFormats(template.source, (text) => tokenizer.tokenToId(text) !== null);
  const output = outputFormat({ tools, reasoning }, detected);
  return { tokenizer, template, output, endIds: endTokens(checkpoint, tokenizer, vocabulary) };
}

/** What requests are read with. */
function requestContext(
  platform: Platform,
  checkpoint: Checkpoint,
  { vocabulary, ropes, layers, experts }: TextDeclaration,
  options: TextModelOptions,
  speech: Speech,
  session: DeviceSession<Loaded>,
): Omit<RequestContext, 'sampling'> {
  const thread = platform.tokenizerThread && connectTokenizer(checkpoint.path, platform.tokenizerThread);
  return {
    ...speech,
    name: modelName(options.model),
    longText: thread,
    // Made now, as no request may wait for another one's first grammar.
    grammars: new GrammarCache(
      createVocabulary(speech.tokenizer, vocabulary, speech.endIds),
      thread?.compile ?? null,
    ),
    vocabulary,
    contextLength: session.parts.runner.contextLength,
    checkProcessor: options.customLogitProcessors
      ? (code) => session.parts.runner.checkProcessor(code)
      : null,
    ropes,
    isPaged: layers.every(({ kind }) => kind === 'kv'),
    prefixCache: options.prefixCache ?? true,
    recording: {
      hiddenStates: options.enableHiddenStates ?? false,
      routedExperts: options.enableRoutedExperts ?? false,
      experts,
    },
  };
}

/** What was opened, by its files and its device. */
function describeModel(
  { path }: Checkpoint,
  { architecture, vocabulary, context: modelContextLength }: TextDeclaration,
  { name, contextLength, template, output }: Omit<RequestContext, 'sampling'>,
  { device, runner, quantization }: Loaded,
) {
  const memory = device.memory();
  return {
    path,
    name,
    architecture,
    parameters: runner.parameters,
    quantization,
    vocabSize: vocabulary,
    contextLength,
    modelContextLength,
    memory: {
      budget: device.memoryBudget,
      weights: memory.weights,
      kv: memory.kv,
      arena: memory.arena + memory.step,
    },
    hasChatTemplate: template.problem === null,
    outputFormat: describeFormat(output),
    adapter: device.summary,
  };
}

/** Changes whenever a page's bytes mean something else, or come out otherwise. */
const PAGE_LAYOUT = 'layers of keys and values, 32 tokens';
/** Bytes of pages that are written to the device in one step while others decode. */
const LOAD_BYTES = 2 ** 24;

interface TierPlace {
  pages: Scheduler['pages'];
  runner: () => Runner;
  /** All beside the weights that decides what a page holds. */
  computed: string;
  onTrouble(message: string): void;
}

async function openTiers(
  platform: Platform,
  checkpoint: Checkpoint,
  {
    prefixCache = true,
    hostCache = 0,
    storageCache,
    storageCacheBytes = DEFAULTS.storedBytes,
  }: TextModelOptions,
  { pages, runner, computed, onTrouble }: TierPlace,
): Promise<CacheTiers | null> {
  if (!prefixCache || (hostCache === 0 && storageCache === undefined)) return null;
  if (storageCache !== undefined && !platform.openPageStore) {
    throw new EngineError('unsupported', 'there is no storage for a cache here: leave out storageCache', {
      param: 'storageCache',
    });
  }
  const place = { where: storageCache ?? '', most: storageCacheBytes, checkpoint, computed, onTrouble };
  const storage = storageCache === undefined ? null : await platform.openPageStore!(place);
  return new CacheTiers({ pages, runner, hostBytes: hostCache, storage });
}
