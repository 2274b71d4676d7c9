// A Hugging Face checkpoint folder: config, weights in one or many files, tokenizer, chat template.
// Opening reads headers only. Nothing of the weights is read before the loader asks for it, tensor by tensor.

import {
  architectureOf,
  classOfCode,
  refuseCustomCode,
  refuseUnknownClass,
  type KnownClasses,
} from './architecture.ts';
import {
  refuseEmbeddingFolder,
  refuseForeignFolder,
  refuseQuantized,
  refuseWeightFiles,
} from './checkpoint-refusal.ts';
import { poolsStates, readEmbeddingLayout } from './embedding-folder.ts';
import { splitExperts } from './fused-experts.ts';
import { ggufOf, openGguf } from './gguf-folder.ts';
import type { Checkpoint, ConfigSource, Wrapper } from './opened-checkpoint.ts';
import { withDerived } from '../tensors/derived.ts';
import { tensorFiles } from '../tensors/tensor-file.ts';
import { turned } from '../tensors/turned.ts';
import { readCoded } from '../coded/fold.ts';
import { badCheckpoint, badRequest, EngineError } from '../error.ts';
import { readGgufSpeech } from './gguf-checkpoint.ts';
import type { GivenTower } from '../gguf/tower.ts';
import { option, say } from '../message.ts';
import { openShards, type Weights } from './shards.ts';
import { plainNames } from './parametrized.ts';
import { readProcessors } from './processors.ts';
import { besideTensors, textTensors } from './text-half.ts';
import type { Quantized } from '../coded/quantized.ts';
import { closeAll, isRecord, keepingOpen, readJson, readText, type Folder } from '../source.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import type { ChatTemplates } from '../template/template.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { checkTokenizerFiles, readTokenizer } from './tokenizer-files.ts';

export type { Checkpoint, ConfigSource, Wrapper };

const CONFIG_JSON: ConfigSource = { name: 'config.json', metadata: null };
const INDEX = 'model.safetensors.index.json';
/** Names of all weights, first come first taken: those of torch.save hold what the others hold. */
const WHOLE = ['model.safetensors', INDEX, 'pytorch_model.bin', 'pytorch_model.bin.index.json'];

/** `tower`: that of a GGUF model; left out: the one beside it. Throws bad_request for the tower of any other model. */
export async function openCheckpoint(
  folder: Folder,
  known: KnownClasses,
  tower?: GivenTower,
): Promise<Checkpoint> {
  const names = await folder.names();
  const gguf = ggufOf(folder.path, names);
  if (gguf !== null) return openGguf(folder, gguf, known, tower);
  if (tower) refuseTower(folder.path);
  const { config, stated, architecture, wrapper, quantized } = await readCheckpointConfig(folder, known);
  const [generation, tokenizerConfig] = await Promise.all([
    readGenerationConfig(folder, names),
    names.includes('tokenizer_config.json') ? readJson(folder, 'tokenizer_config.json') : {},
  ]);
  const ownTemplate = known.template?.(wrapper ?? architecture);
  const chatTemplate = (await readChatTemplates(folder, names, tokenizerConfig)) ?? templates(ownTemplate);
  const processors = wrapper === null ? {} : await readProcessors(folder, names);
  const { tensors: stored, sources } = await openWeights(folder, names, quantized);
  const { tensors: own, ...left } = wrapper === null ? { tensors: stored } : textTensors(stored);
  const order = known.fusedExperts?.(architecture) ?? null;
  const plain = plainNames(own);
  const split = order === null ? plain : splitExperts(plain, order);
  const turned = withTransposed(split, known.transposed?.(architecture) ?? null);
  const derived = known.derived?.(config, architecture) ?? null;
  const tensors = derived === null ? turned : withDerived(turned, derived);
  let tokenizer: Promise<Tokenizer> | undefined;
  return {
    path: folder.path,
    architecture,
    wrapper: wrapper === null ? null : { architecture: wrapper, left: [], leftTensors: 0, ...left },
    beside: wrapper === null ? null : { config: stated, processors, tensors: besideTensors(stored), folder },
    towerNote: null,
    config,
    configSource: CONFIG_JSON,
    ...generation,
    tensors,
    shards: sources.map(({ name }) => name),
    tokenizer: () => (tokenizer ??= readTokenizer(folder, names, tokenizerConfig)),
    checkTokenizer: () => checkTokenizerFiles(folder.path, names),
    chatTemplate,
    layout: (otherwise) => readEmbeddingLayout(folder, otherwise),
    close: () => closeAll(sources),
  };
}

/** Throws for a tower that was given for a model in other files. */
export function refuseTower(path: string): never {
  throw badRequest(
    say`${path} is not a GGUF model, and has its towers among its own weights: leave out ${option('mmproj')}`,
    'mmproj',
  );
}

/** Tokenizer and chat templates of a folder that was opened as a checkpoint before; its weights are not looked at. */
export async function readCheckpointSpeech(
  folder: Folder,
  template: KnownClasses['template'],
): Promise<{ tokenizer: Tokenizer; chatTemplate: ChatTemplates | null }> {
  const names = await folder.names();
  const gguf = ggufOf(folder.path, names);
  if (gguf !== null) return readGgufSpeech(folder, gguf, template);
  const config = names.includes('tokenizer_config.json')
    ? await readJson(folder, 'tokenizer_config.json')
    : {};
  const chatTemplate = await readChatTemplates(folder, names, config);
  const tokenizer = await readTokenizer(folder, names, config);
  const isWhole = chatTemplate !== null || !template || !names.includes('config.json');
  if (isWhole) return { tokenizer, chatTemplate };
  const { architectures } = await readJson(folder, 'config.json');
  const named: unknown = Array.isArray(architectures) ? architectures[0] : null;
  return { tokenizer, chatTemplate: templates(typeof named === 'string' ? template(named) : null) };
}

/** The tokenizer of a folder with these settings, or that of the folder's GGUF file. */
export async function readFolderTokenizer(
  folder: Folder,
  config: Record<string, unknown>,
): Promise<Tokenizer> {
  const names = await folder.names();
  const gguf = ggufOf(folder.path, names);
  return gguf === null
    ? readTokenizer(folder, names, config)
    : (await readGgufSpeech(folder, gguf)).tokenizer;
}

/** The chat templates of a folder with these settings, or those of the folder's GGUF file; null: there are none. */
export async function readFolderTemplates(
  folder: Folder,
  config: Record<string, unknown>,
): Promise<ChatTemplates | null> {
  const names = await folder.names();
  const gguf = ggufOf(folder.path, names);
  return gguf === null
    ? readChatTemplates(folder, names, config)
    : (await readGgufSpeech(folder, gguf)).chatTemplate;
}

/** A file that is not JSON is ignored, as by transformers. */
async function readGenerationConfig(
  folder: Folder,
  names: readonly string[],
): Promise<Pick<Checkpoint, 'generationConfig' | 'generationConfigProblem'>> {
  const name = 'generation_config.json';
  try {
    const generationConfig = names.includes(name) ? await readJson(folder, name) : {};
    return { generationConfig, generationConfigProblem: null };
  } catch (error) {
    if (!(error instanceof EngineError && error.cause instanceof SyntaxError)) throw error;
    const generationConfigProblem = `${name} is not JSON (${error.cause.message}): its sampling defaults and end tokens are not used`;
    return { generationConfig: {}, generationConfigProblem };
  }
}

export interface CheckpointConfig {
  /** Configuration of the text model; a part of config.json if another class wraps the text model. */
  config: Record<string, unknown>;
  /** All of config.json. */
  stated: Record<string, unknown>;
  configSource: ConfigSource;
  architecture: string;
  /** The class that wraps it; null: none. */
  wrapper: string | null;
  /** What the folder's files declare about weights that another program quantized; null: nothing. */
  quantized: Quantized | null;
}

/** Reads config.json and determines the class, if the folder's files and the class can be opened. */
export async function readCheckpointConfig(folder: Folder, known: KnownClasses): Promise<CheckpointConfig> {
  const { path } = folder;
  const names = await folder.names();
  const gguf = ggufOf(path, names);
  if (gguf !== null) {
    const { config, configSource, architecture, wrapper, close } = await openGguf(folder, gguf, known);
    await close();
    const outer = wrapper?.architecture ?? null;
    return { config, stated: config, configSource, architecture, wrapper: outer, quantized: null };
  }
  refuseForeignFolder(path, names, names.includes('config.json') ? [] : await folder.models?.());
  const stated = await readJson(folder, 'config.json');
  const named = await withoutHead(folder, names, stated, known);
  const half = named === null ? null : (known.textHalf?.(stated, named) ?? null);
  const config = half?.config ?? stated;
  const architecture = half?.architecture ?? named;
  if (known.embeddings) refuseEmbeddingFolder(path, names, architecture, known.embeddings);
  refuseCustomCode(stated, names, architecture, known);
  refuseUnknownClass(path, config, architecture, known);
  const outer = await refuseQuantized(folder, names, stated);
  const quantized = outer ?? (half && (await refuseQuantized(folder, names, config)));
  refuseWeightFiles(path, names);
  return {
    config,
    stated,
    configSource: CONFIG_JSON,
    architecture: architecture!,
    wrapper: half ? named : null,
    quantized,
  };
}

/** The class that is named, or the one without its head for a model whose states sentence-transformers pools. */
async function withoutHead(
  folder: Folder,
  names: readonly string[],
  config: Record<string, unknown>,
  known: KnownClasses,
): Promise<string | null> {
  const named = architectureOf(config, names, known);
  if (known.role !== 'AutoModel' || named === null || !HEADED.test(named)) return named;
  const body = classOfCode(config, 'Model', known) ?? known.modelTypes.get(String(config['model_type']));
  return body !== undefined && (await poolsStates(folder, names)) ? body : named;
}

const HEADED = /For(SequenceClassification|TokenClassification|QuestionAnswering)$/;

/** Opens the file of all weights, or the shards that an index lists. */
async function openWeights(folder: Folder, names: string[], quantized: Quantized | null): Promise<Weights> {
  const weights = await openFiles(folder, names);
  const tensors = await keepingOpen(weights.sources, () => readCoded(weights.tensors, quantized));
  return { ...weights, tensors };
}

function openFiles(folder: Folder, names: string[]): Promise<Weights> {
  const whole = WHOLE.find((name) => names.includes(name));
  if (whole !== undefined) return openShards(folder, names, whole);
  const found = tensorFiles(names).join(', ');
  throw badCheckpoint(
    `${folder.path} has neither model.safetensors nor ${INDEX} (but ${found}): fetch the whole checkpoint, or where it was published so, a repository in the layout of transformers`,
    INDEX,
  );
}

/** The chat templates of a folder, from a file of their own or tokenizer_config.json; null where there are none. */
export async function readChatTemplates(
  folder: Folder,
  names: readonly string[],
  tokenizerConfig: Readonly<Record<string, unknown>>,
): Promise<ChatTemplates | null> {
  if (names.includes('chat_template.jinja')) return templates(await readText(folder, 'chat_template.jinja'));
  const json = names.includes('chat_template.json') ? await readJson(folder, 'chat_template.json') : {};
  return templates(json['chat_template']) ?? templates(tokenizerConfig['chat_template']);
}

/** A template, or a list of { name, template }. */
function templates(value: unknown): ChatTemplates | null {
  // An empty template would render every conversation as an empty prompt.
  if (typeof value === 'string') return value.trim() === '' ? null : { default: value };
  if (!Array.isArray(value)) return null;
  const named = value.flatMap((entry: unknown) =>
    isRecord(entry) && typeof entry['name'] === 'string' && typeof entry['template'] === 'string'
      ? [[entry['name'], entry['template']]]
      : [],
  );
  return named.length === 0 ? null : Object.fromEntries(named);
}

/** Matrices of these names as they are read, [rows, k], of tensors [k, rows]. */
function withTransposed(tensors: Map<string, TensorEntry>, names: RegExp | null): Map<string, TensorEntry> {
  if (names === null) return tensors;
  return new Map(
    [...tensors].map(([name, entry]) =>
      names.test(name) && entry.shape.length === 2 ? [name, turned(entry)] : [name, entry],
    ),
  );
}
