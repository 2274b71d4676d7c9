// The files of an embedding model as it is opened, how its runner is loaded onto a device, and what serves requests on it.

import { unsupported } from '../../files/error.ts';
import { noteOf, option, say } from '../../files/message.ts';
import { openCheckpoint, readCheckpointConfig, type Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import { openDenseModules } from '../../files/checkpoint/dense-modules.ts';
import type { EmbeddingLayout } from '../../files/checkpoint/embedding-folder.ts';
import { answeredPair } from '../../files/template/answered-pair.ts';
import { openPairTemplate } from '../../files/template/pair-template.ts';
import { checkVocabularySize } from '../../files/tokenizer/token-ids.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { Device } from '../../gpu/device.ts';
import type { TextDeclaration, TextTasks } from '../../models/text/blocks/architecture.ts';
import type { TextOutputs } from '../../models/text/blocks/outputs.ts';
import { readText } from '../../models/text/registry.ts';
import { embeddingClasses, modelTypeOf } from '../opening/architectures.ts';
import { fetchModel } from '../opening/fetch-model.ts';
import { DEFAULTS } from '../../options/limits.ts';
import type { Platform } from '../platform/platform.ts';
import type { OpenEvent } from '../opening/open-event.ts';
import type { Opening, ReadModel } from '../opening/served.ts';
import { untieStoredHead } from '../opening/tied-head.ts';
import { withTokenScore } from './token-score.ts';
import { withDense } from './vector-modules.ts';
import { withPlace } from '../opening/replicas.ts';
import { modelName } from '../opening/model-name.ts';
import { chooseQuantization, weightBytesIn } from '../weights/quantization.ts';
import type { EmbeddingModel, EmbeddingModelInfo, EmbeddingModelOptions } from './embedding-model.ts';
import { answerScore } from './answer-score.ts';
import { embeddingContextNotes, wantedContext } from './context.ts';
import { LocalEmbeddingModel } from './model.ts';
import { templateEncoder } from './pair-encoder.ts';
import type { EmbeddingTask, TextEncoder } from './request-tokens.ts';
import {
  openEmbeddingRunner,
  WARM_UP_BATCHES,
  type EmbeddingRunner,
  type LoadedEmbedding,
} from './runner.ts';

/** The files of a model, which outlive its device. */
interface EmbeddingFiles {
  checkpoint: Checkpoint;
  declaration: TextDeclaration;
  layout: EmbeddingLayout;
  tokenizer: Tokenizer;
  /** Tokenizer of texts and of pairs of texts. */
  encoder: TextEncoder;
  /** Whether it is a language model whose files say nothing about vectors. */
  isUnstated: boolean;
}

const UNSTATED = say`this is a language model, and no modules.json says that it makes vectors: they are the states of the last token; a model that ranks by the logits of "yes" and "no" is opened with ${option('judge')}`;

/** Reads an embedding model's files. See ReadFiles. */
export async function openEmbedding(
  platform: Platform,
  options: EmbeddingModelOptions,
  opening: Opening,
): Promise<ReadModel<EmbeddingModel, LoadedEmbedding>> {
  const files = await openFiles(platform, options, opening);
  return {
    openDevice: () => platform.openDevice(withPlace(options)),
    load: (device, _, onLoad) => load(device, files, options, onLoad),
    async serve(device) {
      const info = describe(files, options, device.parts);
      return new LocalEmbeddingModel(info, files.tokenizer, device, files.encoder);
    },
  };
}

async function openFiles(
  platform: Platform,
  options: EmbeddingModelOptions,
  { onEvent, signal, defer }: Opening,
): Promise<EmbeddingFiles> {
  const classes = embeddingClasses(options);
  const path = await fetchModel(platform, options, onEvent, signal, async (settings) => {
    await readCheckpointConfig(settings, classes);
  });
  const folder = await platform.openFolder(path);
  const checkpoint = await openCheckpoint(folder, classes);
  defer(() => checkpoint.close());
  const stated = readText(checkpoint.config, checkpoint.architecture, checkpoint.configSource);
  const isWhole = stated.inputs.attention === 'whole';
  const found = await checkpoint.layout(isWhole ? 'mean' : 'last');
  const tokenizer = await checkpoint.tokenizer();
  const isUnstated = !found.isStated && stated.generate !== null && stated.outputs === undefined;
  const isJudge = isUnstated && options.judge === true;
  const layout = isJudge ? { ...found, tokenScore: answerScore(path, tokenizer) } : found;
  if (isUnstated && !isJudge) onEvent(noteOf(UNSTATED));
  const dense = await openDenseModules(folder, layout.dense);
  defer(dense.close);
  const asStored =
    layout.tokenScore === null
      ? stated
      : await untieStoredHead(stated, checkpoint.tensors, (message) => onEvent(noteOf(message)));
  const declaration = withTokenScore(withDense(asStored, layout.dense), layout.tokenScore);
  checkVocabularySize(tokenizer, declaration.vocabulary);
  const tensors = new Map([...checkpoint.tensors, ...dense.tensors]);
  const encoder = encoderOf(checkpoint, tokenizer, declaration, layout, isJudge);
  const files = { checkpoint: { ...checkpoint, tensors }, declaration, layout, tokenizer, encoder };
  return { ...files, isUnstated: isUnstated && !isJudge };
}

/** The tokenizer, or what writes pairs by the template of a model that judges documents. */
function encoderOf(
  { path, chatTemplate }: Pick<Checkpoint, 'path' | 'chatTemplate'>,
  tokenizer: Tokenizer,
  { outputs, tasks }: TextDeclaration,
  { tokenScore, prompts, usualPrompt }: EmbeddingLayout,
  isJudge: boolean,
): TextEncoder {
  const template =
    outputs?.per === 'text'
      ? openPairTemplate(chatTemplate, tokenizer.specials, tokenScore?.instruction)
      : null;
  if (template !== null) return templateEncoder(tokenizer, template);
  const { default: conversation } = chatTemplate ?? {};
  if (isJudge && conversation !== undefined)
    return templateEncoder(tokenizer, answeredPair(conversation, tokenizer.specials));
  if (tokenScore === null) return withTasks(tokenizer, tasksOf(prompts, tasks), usualPrompt);
  throw unsupported(
    `${path} judges documents by its logits and has no chat template${isJudge ? '' : ' with the roles query and document'}: fetch chat_template.jinja of its repository`,
    'chat_template',
  );
}

/** The tokenizer with tasks, if there are any. */
function withTasks(tokenizer: Tokenizer, tasks: readonly EmbeddingTask[], usual: string | null): TextEncoder {
  if (tasks.length === 0) return tokenizer;
  const usualTask = tasks.find(({ name }) => name === usual);
  return {
    encode: (text, options) => tokenizer.encode(text, options),
    encodePair: (text, pair, most) => tokenizer.encodePair(text, pair, most),
    tasks,
    ...(usualTask && { usualTask }),
  };
}

/** The tasks of prompts and of LoRAs; a prompt of sentence-transformers' settings counts before the one beside the LoRA. */
function tasksOf(
  prompts: EmbeddingLayout['prompts'],
  { names, prompts: own }: Pick<TextTasks, 'names' | 'prompts'> = { names: [], prompts: {} },
): EmbeddingTask[] {
  return [...new Set([...names, ...Object.keys(prompts)])].map((name) => {
    const lora = names.indexOf(name);
    const prompt = [prompts, own].find((some) => Object.hasOwn(some, name))?.[name] ?? '';
    return { name, prompt, lora: lora < 0 ? null : lora };
  });
}

async function load(
  device: Device,
  { checkpoint, declaration, layout }: EmbeddingFiles,
  options: EmbeddingModelOptions,
  onEvent: (event: OpenEvent) => void,
): Promise<LoadedEmbedding> {
  const bytesIn = weightBytesIn(device, checkpoint.tensors, declaration.embed!);
  const quantization = await chooseQuantization(device, options.quantization, bytesIn, (message) =>
    onEvent(noteOf(message)),
  );
  const runner = await openEmbeddingRunner(device, checkpoint, declaration, {
    pooling: layout.pooling,
    quantization,
    contextLength: wantedContext(options.contextLength, layout),
    onProgress: (bytes, totalBytes) => onEvent({ type: 'load', bytes, totalBytes }),
    onNote: (message) => onEvent(noteOf(message)),
  });
  const opened = runner.facts.contextLength;
  const notes = embeddingContextNotes(options.contextLength, declaration, layout, opened, device);
  for (const message of notes) onEvent(noteOf(message));
  await warmUp(runner, (done, total) => onEvent({ type: 'warmup', done, total }));
  return { device, runner, quantization };
}

function describe(
  { checkpoint, declaration, layout, encoder, isUnstated }: EmbeddingFiles,
  options: EmbeddingModelOptions,
  { device, runner, quantization }: LoadedEmbedding,
): EmbeddingModelInfo {
  const memory = device.memory();
  return {
    kind: 'embedding',
    path: checkpoint.path,
    name: modelName(options.model),
    architecture: declaration.architecture,
    ...modelTypeOf(checkpoint.config, declaration.architecture),
    ...runner.facts,
    quantization,
    vocabSize: declaration.vocabulary,
    pooling: declaration.outputs?.pooling ?? layout.pooling,
    normalized: declaration.outputs === undefined && layout.normalize,
    ...(declaration.outputs && { classifier: classifierOf(declaration.outputs) }),
    ...(isUnstated && { isUnstated: true as const }),
    ...(encoder.tasks && { tasks: encoder.tasks.map(({ name }) => name) }),
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

/** The labels and the activation of a model's head, for the info of the model. */
function classifierOf({ per, labels, activation }: TextOutputs): EmbeddingModelInfo['classifier'] {
  return { per, labels, activation };
}

/** Runs each kernel once, because kernels are compiled at their first use and a request should not wait for that. */
async function warmUp(
  runner: EmbeddingRunner,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  for (const [done, { tokens, texts }] of WARM_UP_BATCHES.entries()) {
    onProgress(done, WARM_UP_BATCHES.length);
    const ids = Array<number>(Math.min(tokens, runner.facts.contextLength)).fill(0);
    await runner.run(
      Array.from({ length: texts }, () => ({ ids })),
      () => true,
    );
  }
  onProgress(WARM_UP_BATCHES.length, WARM_UP_BATCHES.length);
}
