// Opens a text model in this thread: checkpoint, device, runner, scheduler and clock, behind the TextModel face.

import {
  checkTokenizerFiles,
  openCheckpoint,
  readCheckpointConfig,
  type Checkpoint,
} from '../../files/checkpoint/checkpoint.ts';
import { refuseEmbeddingFolder } from '../../files/checkpoint/checkpoint-refusal.ts';
import { EngineError } from '../../files/error.ts';
import type { Folder } from '../../files/source.ts';
import { openChatTemplate } from '../../files/template/template.ts';
import { expertLayers } from '../../models/experts-config.ts';
import { LLAMA_ARCHITECTURES, readLlamaConfig, type LlamaConfig } from '../../models/llama-config.ts';
import { fetchModel } from '../fetch-model.ts';
import type { Platform } from '../platform.ts';
import { contextNotes, endTokens, modelName, samplingDefaults } from './defaults.ts';
import { createCacheTiers, type CacheTiers } from './cache/cache-tiers.ts';
import { createGrammars } from './grammar/grammars.ts';
import { createVocabulary } from './grammar/vocabulary.ts';
import { connectTokenizer } from './long-text.ts';
import { createAdapters } from './adapters.ts';
import { loadOnto, type Loaded } from './load.ts';
import { createLoop } from './loop.ts';
import { createTextModel } from './model.ts';
import { describeFormat, detectFormats, outputFormat } from './output/detect.ts';
import type { RequestContext } from './request.ts';
import type { Runner } from './step/runner.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import type { OpenEvent } from '../open-event.ts';
import type { TextModel, TextModelInfo, TextModelOptions } from './text-model.ts';

const RUNNING_REQUESTS = 16;
const QUEUED_REQUESTS = 128;

/** What gives back what is open so far, where the rest cannot be opened. */
type Opened = (() => Promise<void>)[];

/** Errors: model_not_found, bad_checkpoint, unsupported, no_adapter, out_of_memory, network, cancelled where `signal` aborts. */
export async function openTextModelInline(
  platform: Platform,
  options: TextModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<TextModel> {
  let isOpen = false;
  // Told often while weights are read and kernels are prepared: the place to give up.
  const tell = (event: OpenEvent): void => {
    if (signal?.aborted && !isOpen) throw new EngineError('cancelled', 'opening the model was cancelled');
    onEvent(event);
  };
  const path = await fetchModel(platform, options, tell, signal, inspect);
  const folder = await platform.openFolder(path);
  const checkpoint = await openCheckpoint(folder, { architectures: LLAMA_ARCHITECTURES });
  const opened: Opened = [() => checkpoint.close()];
  try {
    refuseEmbeddingFolder(folder.path, await folder.names(), checkpoint.config);
    const model = await openModel(platform, checkpoint, options, tell, opened);
    isOpen = true;
    return model;
  } catch (error) {
    await Promise.allSettled(opened.toReversed().map((giveBack) => giveBack()));
    throw error;
  }
}

/** What can be refused before weights are fetched. */
async function inspect(folder: Folder): Promise<void> {
  const config = await readCheckpointConfig(folder, { architectures: LLAMA_ARCHITECTURES });
  const names = await folder.names();
  refuseEmbeddingFolder(folder.path, names, config);
  readConfig({ path: folder.path, config });
  checkTokenizerFiles(folder.path, names);
}

async function openModel(
  platform: Platform,
  checkpoint: Checkpoint,
  options: TextModelOptions,
  onEvent: (event: OpenEvent) => void,
  opened: Opened,
): Promise<TextModel> {
  const config = readConfig(checkpoint);
  const tokenizer = await checkpoint.tokenizer();
  const template = openChatTemplate(checkpoint.chatTemplate, tokenizer.specials);
  // A format that nobody knows is told before the weights are read.
  const output = outputFormat(
    { tools: options.toolCallParser, reasoning: options.reasoningParser },
    detectFormats(template.source, (text) => tokenizer.tokenToId(text) !== null),
  );
  const slots = options.maxRunningRequests ?? RUNNING_REQUESTS;
  const endIds = endTokens(checkpoint, tokenizer, config.vocabulary);
  // A model that comes back after a lost device must find room for as many pages: free memory is not guessed again.
  let before: { memoryBudget: number; pages: number } | null = null;
  const adapters = createAdapters(platform, options, (message) => onEvent({ type: 'note', message }));
  const start = async (): Promise<Loaded> => {
    // Requests' own functions run with bounds checks on.
    const safe = (options.safe ?? false) || (options.customLogitProcessors ?? false);
    const device = await platform.openDevice({
      ...options,
      ...(before && { memoryBudget: before.memoryBudget }),
      safe,
    });
    try {
      return await loadOnto(
        device,
        checkpoint,
        config,
        {
          ...options,
          slots,
          pages: before?.pages ?? null,
          endTokens: endIds.length,
          packed: platform.packed,
          adapters,
        },
        onEvent,
      );
    } catch (error) {
      device.destroy();
      throw error;
    }
  };

  const first = await start();
  let { device, runner } = first;
  opened.push(async () => device.destroy());
  for (const message of contextNotes(options, config.context, runner.contextLength, device))
    onEvent({ type: 'note', message });
  const scheduler = createScheduler(
    { pages: runner.pages, slots, rows: runner.rows },
    { loads: Math.max(1, Math.floor(LOAD_BYTES / runner.pageBytes)) },
  );
  const tiers = await openTiers(platform, checkpoint, options, {
    pages: scheduler.pages,
    runner: () => runner,
    computed: JSON.stringify([
      PAGE_LAYOUT,
      checkpoint.config,
      first.quantization,
      runner.kvFormat,
      device.summary,
    ]),
    onTrouble: (message) => onEvent({ type: 'note', message }),
  });
  opened.push(async () => tiers?.close());
  const loop = createLoop({
    scheduler,
    runner,
    storageBackend: tiers?.storage?.backend,
    async restart(reason) {
      onEvent({ type: 'note', message: `the GPU device was lost (${reason}); loading the model again` });
      before = { memoryBudget: device.memoryBudget, pages: runner.pages };
      ({ device, runner } = await start().catch((cause: unknown) => {
        throw new EngineError(
          'device_lost',
          `the GPU device was lost (${reason}) and could not be opened again: restart the program`,
          { cause },
        );
      }));
      return runner;
    },
  });
  if (template.problem) onEvent({ type: 'note', message: `${checkpoint.path}: ${template.problem.message}` });
  const defaults = samplingDefaults(checkpoint, options.samplingDefaults ?? 'model');
  const thread = platform.tokenizerThread && connectTokenizer(checkpoint.path, platform.tokenizerThread);
  const context: RequestContext = {
    tokenizer,
    output,
    name: modelName(options.model),
    longText: thread,
    // Made now, as no request may wait for another one's first grammar.
    grammars: createGrammars(createVocabulary(tokenizer, config.vocabulary, endIds), thread?.compile ?? null),
    template,
    vocabulary: config.vocabulary,
    contextLength: runner.contextLength,
    endIds,
    sampling: defaults.sampling,
    checkProcessor: options.customLogitProcessors ? (source) => runner.checkProcessor(source) : null,
    rope: config.rope,
    prefixCache: options.prefixCache ?? true,
    recording: {
      hiddenStates: options.enableHiddenStates ?? false,
      routedExperts: options.enableRoutedExperts ?? false,
      experts: config.experts && {
        layers: expertLayers(config.experts),
        chosen: config.experts.chosen,
      },
    },
  };
  const memory = device.memory();
  const info: TextModelInfo = {
    path: checkpoint.path,
    name: context.name,
    architecture: config.architecture,
    parameters: runner.parameters,
    quantization: first.quantization,
    vocabSize: config.vocabulary,
    contextLength: runner.contextLength,
    modelContextLength: config.context,
    maxRunningRequests: slots,
    maxQueuedRequests: options.maxQueuedRequests ?? QUEUED_REQUESTS,
    memory: {
      budget: device.memoryBudget,
      weights: memory.weights,
      kv: memory.kv,
      arena: memory.arena + memory.step,
    },
    storageBackend: tiers?.storage?.backend ?? null,
    sampling: defaults.sampling,
    samplingSource: defaults.source,
    hasChatTemplate: template.problem === null,
    outputFormat: describeFormat(output),
    adapter: device.summary,
  };
  return createTextModel({
    info,
    context,
    scheduler,
    loop,
    tiers,
    adapters,
    pageBytes: runner.pageBytes,
    timeouts: { queueTimeout: options.queueTimeout, totalTimeout: options.totalTimeout },
    async release() {
      device.destroy();
      await checkpoint.close();
    },
  });
}

/** Changes whenever a page's bytes mean something else, or come out otherwise. */
const PAGE_LAYOUT = 'layers of keys and values, 32 tokens';
/** Bytes of pages that are written to the device in one step while others decode. */
const LOAD_BYTES = 2 ** 24;
/** Bytes of files of pages, where nobody says otherwise. */
const STORED_BYTES = 10e9;

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
  { prefixCache = true, hostCache = 0, storageCache, storageCacheBytes = STORED_BYTES }: TextModelOptions,
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
  return createCacheTiers({ pages, runner, hostBytes: hostCache, storage });
}

function readConfig({ path, config }: Pick<Checkpoint, 'path' | 'config'>): LlamaConfig {
  const named = config['architectures'];
  const architecture = Array.isArray(named) ? String(named[0]) : 'none';
  if (!LLAMA_ARCHITECTURES.includes(architecture)) {
    throw new EngineError(
      'unsupported',
      `${path}: the architecture is ${architecture}; those that run are ${LLAMA_ARCHITECTURES.join(', ')}`,
    );
  }
  return readLlamaConfig(config, architecture);
}
