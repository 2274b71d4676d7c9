// A GGUF file as a checkpoint: its metadata as config.json, tokenizer, chat templates and generation settings, its tensors under the names
// of the page that computes it.

import type { KnownClasses } from './architecture.ts';
import { plainLayout, type EmbeddingLayout, type Pooling } from './embedding-folder.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import { type EngineError, unsupported } from '../error.ts';
import { say } from '../message.ts';
import { drawsWith } from '../openers.ts';
import { closeAll, keepingOpen, type ByteSource, type Folder } from '../source.ts';
import type { ChatTemplates } from '../template/template.ts';
import { openTokenizer, type Tokenizer } from '../tokenizer/tokenizer.ts';
import type { GgufTensor } from '../gguf/gguf.ts';
import { malformed } from '../gguf/header-cursor.ts';
import type { GgufKeys } from '../gguf/keys.ts';
import type { GgufClass, GgufModel } from '../gguf/model.ts';
import { openGgufFiles, type GgufFiles } from '../gguf/open-files.ts';
import { isNeverRead } from '../tensors/tensor-types.ts';
import { entryOf } from '../gguf/tensors.ts';
import { checkTokenizer, endTokenProblem, tokenizerFiles } from '../gguf/tokenizer-json.ts';
import { endIds, readTokens } from '../gguf/vocabulary.ts';

export interface GgufCheckpoint {
  architecture: string;
  /** general.architecture */
  metadata: string;
  keys: GgufKeys;
  config: Record<string, unknown>;
  generationConfig: Record<string, unknown>;
  /** See Checkpoint. */
  generationConfigProblem: string | null;
  tensors: Map<string, TensorEntry>;
  sources: ByteSource[];
  /** Throws where another tokenizer is asked for than can be read. */
  tokenizer(): Tokenizer;
  /** Throws for a tokenizer that is not read, by the names of its kind and its rules. */
  checkTokenizer(): void;
  chatTemplate: ChatTemplates | null;
  /** How vectors are made of the states; null: the file does not say. */
  layout: EmbeddingLayout | null;
}

/** Opens the file `name` of a folder. On an error nothing stays open. */
export async function openGgufCheckpoint(
  folder: Folder,
  name: string,
  known: KnownClasses,
): Promise<GgufCheckpoint> {
  const files = await openGgufFiles(folder, name);
  return keepingOpen(files.sources, () => ggufCheckpoint(files, known));
}

/** The checkpoint in opened files. */
export async function ggufCheckpoint(files: GgufFiles, known: KnownClasses): Promise<GgufCheckpoint> {
  const { keys } = files;
  const gguf = classOf(files, known);
  refuseTypes(files);
  const { className, config } = await gguf.read(modelOf(files, gguf.name));
  return {
    architecture: className,
    metadata: gguf.name,
    keys,
    config,
    generationConfig: generationConfig(keys),
    generationConfigProblem: hasTokens(keys) ? endTokenProblem(keys) : null,
    tensors: entries(files, gguf, config),
    sources: files.sources,
    tokenizer: () => openTokenizer({ ...tokenizerFiles(keys), file: keys.file }),
    checkTokenizer: () => checkTokenizer(keys),
    chatTemplate: chatTemplates(keys, known.template),
    layout: layoutOf(files, gguf.name),
  };
}

/** Tokenizer and chat templates alone. */
export async function readGgufSpeech(
  folder: Folder,
  name: string,
  template?: KnownClasses['template'],
): Promise<{ tokenizer: Tokenizer; chatTemplate: ChatTemplates | null }> {
  const { keys, sources } = await openGgufFiles(folder, name);
  await closeAll(sources);
  return {
    tokenizer: openTokenizer({ ...tokenizerFiles(keys), file: keys.file }),
    chatTemplate: chatTemplates(keys, template),
  };
}

const KINDS: Readonly<Record<string, string>> = {
  adapter: 'a LoRA: open the model that it was trained on, and load the LoRA into it',
  mmproj: 'the vision or audio part of a model: open the file of its text model',
  imatrix: 'an importance matrix: open the file of a model',
};

/** A tensor of every language model in llama.cpp's files. */
const EMBEDDING = /^(token_embd|token_types|enc\.|dec\.)/;

function classOf({ keys, tensors }: GgufFiles, known: KnownClasses): GgufClass {
  const kind = keys.text('general.type', 'model');
  if (kind !== 'model') {
    const what = KINDS[kind] ?? 'no model: give the file of one';
    throw unsupported(`${keys.file} holds ${what} (general.type ${kind})`, 'general.type');
  }
  const classes = known.gguf?.() ?? new Map<string, GgufClass>();
  const stated = keys.get('general.architecture');
  const found = typeof stated === 'string' ? classes.get(stated) : undefined;
  if (found) return found;
  const names = [...tensors.keys()];
  if (names.length > 0 && !names.some((one) => EMBEDDING.test(one))) throw noLanguageModel(keys, names[0]!);
  const name = keys.text('general.architecture');
  throw unsupported(
    `${keys.file}: general.architecture ${name} is not built; choose a model of ${[...classes.keys()].join(', ')}, or its safetensors files`,
    'general.architecture',
  );
}

function noLanguageModel(keys: GgufKeys, tensor: string): EngineError {
  const stated = keys.get('general.architecture');
  const architecture = typeof stated === 'string' ? ` (general.architecture ${stated})` : '';
  return unsupported(
    say`${keys.file} holds no language model${architecture}: its tensors have names such as ${tensor}; if they are those of an image model, ${drawsWith()}`,
    'general.architecture',
  );
}

function modelOf({ keys, tensors }: GgufFiles, architecture: string): GgufModel {
  return { keys, architecture, tensors, floats: (name) => floatsOf(keys.file, name, tensors.get(name)) };
}

/** Values of one tensor that a conversion may read. */
const MOST_FLOATS = 2 ** 16;

async function floatsOf(file: string, name: string, tensor: GgufTensor | undefined): Promise<Float32Array> {
  if (tensor?.type !== 'F32' || tensor.bytes > 4 * MOST_FLOATS) {
    const problem = tensor === undefined ? 'is missing' : `has ${tensor.bytes} bytes as ${tensor.type}`;
    throw malformed(file, `tensor ${name} ${problem}, and at most ${MOST_FLOATS} values of F32 are needed`);
  }
  const bytes = await tensor.source.read(tensor.offset, tensor.bytes);
  return new Float32Array(bytes.slice().buffer);
}

/** Throws unsupported for types that are never computed, and for blocks of NVFP4 that a factor in another tensor multiplies. */
function refuseTypes({ keys, tensors }: GgufFiles): void {
  const factor = (name: string): string => `${name.replace(/\.weight$/, '')}.scale`;
  const scaled = [...tensors.values()].find(
    ({ name, type }) => type === 'NVFP4' && tensors.has(factor(name)),
  );
  if (scaled !== undefined)
    throw unsupported(
      `${keys.file}: tensor ${scaled.name} is NVFP4 with a factor in ${factor(scaled.name)}, which is not read: take the model's safetensors files in NVFP4, or the file of another quantization, as Q4_K_M`,
      factor(scaled.name),
    );
  const never = [...tensors.values()].find(({ type }) => isNeverRead(type));
  if (never === undefined) return;
  throw unsupported(
    `${keys.file}: tensor ${never.name} is stored as ${never.type}, which is not read: fetch the file of another quantization of the model, as Q4_K_M, IQ4_XS, Q3_K_M or Q2_K`,
    never.name,
  );
}

/** Tensors under the page's names. One that the architecture does not know keeps its own, and is refused as one that nothing reads. */
function entries(
  { keys, tensors }: GgufFiles,
  gguf: GgufClass,
  config: Record<string, unknown>,
): Map<string, TensorEntry> {
  const found = new Map<string, TensorEntry>();
  for (const tensor of tensors.values()) {
    const parts = gguf.parts(tensor, config) ?? [{ name: tensor.name, shape: tensor.shape }];
    for (const part of parts) {
      if (found.has(part.name)) throw malformed(keys.file, `two of its tensors are ${part.name}`);
      found.set(part.name, entryOf(tensor, part));
    }
  }
  return found;
}

/** Sampling values of general.sampling → their names in generation_config.json. */
const SAMPLING: Readonly<Record<string, string>> = {
  temp: 'temperature',
  top_k: 'top_k',
  top_p: 'top_p',
  min_p: 'min_p',
  penalty_repeat: 'repetition_penalty',
};

const hasTokens = (keys: GgufKeys): boolean => keys.get('tokenizer.ggml.tokens') !== undefined;

function generationConfig(keys: GgufKeys): Record<string, unknown> {
  const stated = Object.entries(SAMPLING).flatMap(([name, own]) => {
    const key = `general.sampling.${name}`;
    return keys.get(key) === undefined ? [] : [[own, keys.real(key)] as const];
  });
  const ends = hasTokens(keys) ? endIds(keys, readTokens(keys)) : [];
  const suppressed = keys.numbers('tokenizer.ggml.suppress_tokens');
  return {
    ...Object.fromEntries(stated),
    ...(ends.length > 0 && { eos_token_id: ends }),
    ...(suppressed && { suppress_tokens: Array.from(suppressed) }),
  };
}

const TEMPLATE = 'tokenizer.chat_template';

/**
 * The template, and those with a name of their own; null: there are none. Where a model was published without one, llama.cpp writes one that knows no
 * images, in whose place that of the class stands.
 */
function chatTemplates(keys: GgufKeys, template: KnownClasses['template']): ChatTemplates | null {
  const own = template?.(keys.text('general.architecture', '')) ?? null;
  if (own !== null && !keys.text(TEMPLATE, '').includes('image')) return { default: own };
  const named = keys
    .names()
    .filter((key) => key === TEMPLATE || key.startsWith(`${TEMPLATE}.`))
    .map((key) => [key === TEMPLATE ? 'default' : key.slice(TEMPLATE.length + 1), keys.text(key)] as const)
    .filter(([, template]) => template.trim() !== '');
  return named.length === 0 ? null : Object.fromEntries(named);
}

const POOLINGS: readonly (Pooling | null)[] = [null, 'mean', 'cls', 'last'];

/** The pooling type of files that rank texts by a head. */
const RANK = 4;

function layoutOf({ keys, tensors }: GgufFiles, architecture: string): EmbeddingLayout | null {
  const key = `${architecture}.pooling_type`;
  if (keys.get(key) === undefined) return null;
  // The head says which states it reads.
  if (keys.count(key) === RANK && tensors.has('cls.output.weight'))
    return { ...plainLayout('last'), isStated: true };
  const pooling = POOLINGS[keys.count(key)];
  if (pooling === undefined)
    throw keys.unsupported(
      key,
      'choose a model that has 1 (mean), 2 (cls), 3 (last), or 4 (rank) with cls.output.weight',
    );
  return pooling === null ? null : { ...plainLayout(pooling), isStated: true };
}
