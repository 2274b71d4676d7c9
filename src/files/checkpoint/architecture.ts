// Determines the class that computes a checkpoint from its config.json, and whether Python code in its repository would compute
// something else.

import { badCheckpoint, unsupported } from '../error.ts';
import type { ExpertOrder } from './fused-experts.ts';
import type { GgufClass } from '../gguf/model.ts';
import type { DerivedVectors } from '../tensors/derived.ts';
import type { GgufTower } from '../gguf/tower.ts';
import { option, say } from '../message.ts';
import { listsClasses, talksWith, transcribesWith } from '../openers.ts';
import { isRecord } from '../source.ts';
import { MODULES } from './embedding-folder.ts';

/** The classes that are built in, as one kind of model is opened with them. */
export interface KnownClasses {
  names: readonly string[];
  /** model_type → class, for a config.json without `architectures`. */
  modelTypes: ReadonlyMap<string, string>;
  /** Classes with which another kind of model is opened: embeddings. */
  embeddings?: readonly string[];
  /** Classes with which language models are opened that are not of this kind. */
  otherwise?: readonly string[];
  /** Classes with which transcription models are opened. */
  transcribers?: readonly string[];
  /** GGUF files that are read, by their general.architecture; left out: none. */
  gguf?: () => ReadonlyMap<string, GgufClass>;
  /** Towers in files beside those; left out: none is opened. */
  towers?: () => readonly GgufTower[];
  /** How the checkpoints of a class store experts in one tensor; null, or left out: they do not. */
  fusedExperts?: (architecture: string) => ExpertOrder | null;
  /** Names of the matrices that checkpoints of a class store as [k, rows]; null, or left out: there are none. */
  transposed?: (architecture: string) => RegExp | null;
  /** How vectors of a class are computed from tensors that are stored; null, or left out: none is. */
  derived?: (config: Json, architecture: string) => DerivedVectors | null;
  /** The chat template of a class, or of a general.architecture, whose checkpoints were published without one; null, or left out: there is none. */
  template?: (architecture: string) => string | null;
  /** For messages: the option for rerankers that asked for these classes; left out: none did. */
  rerankersBy?: string;
  /** For messages: "those that run". */
  purpose: string;
  /** Classes that Python code of their repositories defines, or defined before transformers did; that code is not looked at. */
  codeOnly?: readonly string[];
  /** Built-in classes by the class of configurations that such code defines for them; left out: none. */
  ofCode?: ReadonlyMap<string, readonly string[]>;
  /** The entry of auto_map that transformers would use. */
  role: 'AutoModelForCausalLM' | 'AutoModelForSpeechSeq2Seq' | 'AutoModel';
  /** Returns the text model within a class that wraps one; null if none is built in. */
  textHalf?: (
    config: Json,
    architecture: string,
  ) => { config: Record<string, unknown>; architecture: string } | null;
}

type Json = Readonly<Record<string, unknown>>;

const FILE = 'config.json';

/**
 * Returns the class that `architectures` names, ignoring case, or that of model_type if there is none. If both are known and
 * differ, model_type counts, as in transformers; the folder's `files` decide whether it makes embeddings. Returns null if neither
 * is stated. Throws bad_checkpoint for an `architectures` that is not a list of names.
 */
export function architectureOf(config: Json, files: readonly string[], known: KnownClasses): string | null {
  const { names, modelTypes, role } = known;
  const listed = config['architectures'] ?? [];
  if (!Array.isArray(listed) || !listed.every((name) => typeof name === 'string')) {
    throw badCheckpoint(
      `${FILE}: architectures is ${JSON.stringify(listed).slice(0, 200)}, a list with the name of a class is needed`,
      'architectures',
    );
  }
  const [stated] = listed;
  const coded = classOfCode(config, stated ?? 'Model', known);
  if (coded !== null) return coded;
  const type = config['model_type'];
  const ofType = typeof type === 'string' ? modelTypes.get(type) : undefined;
  if (stated === undefined) return ofType ?? null;
  const built = names.find((name) => name.toLowerCase() === stated.toLowerCase());
  const isCausal = (name: string | undefined): boolean => name?.endsWith('ForCausalLM') === true;
  if (isCausal(built) && isCausal(ofType)) return ofType!;
  // sentence-transformers takes the model without its head, whatever the head is for.
  if (built === undefined && role === 'AutoModel' && files.includes(MODULES)) return ofType ?? stated;
  return built ?? stated;
}

/** Ends of names of classes whose head makes no vectors, so that transformers opens the model without it. */
const HEADLESS = /^(Model|LoRA|ForMaskedLM|ForPreTraining)$/;

/**
 * The built-in class of a configuration that Python code defines, by the end of a name: that of a model with the same head, or without one. null: no such
 * configuration is stated, or the class is not built.
 */
export function classOfCode(config: Json, name: string, { ofCode }: KnownClasses): string | null {
  const { className } = codeOf(config, (key) => key === 'AutoConfig') ?? {};
  const found = ofCode?.get(className ?? '');
  if (found === undefined) return null;
  const [end] = /(Model|LoRA|For[A-Z]\w*)$/.exec(name) ?? [];
  const own = end !== undefined && HEADLESS.test(end) ? 'Model' : end;
  return found.find((one) => own !== undefined && one.endsWith(own)) ?? null;
}

/** Throws unsupported for a class that is not built, whether transformers or Python code of the repository defines it. */
export function refuseUnknownClass(
  path: string,
  config: Json,
  architecture: string | null,
  { names, purpose, rerankersBy, otherwise = [], transcribers = [] }: KnownClasses,
): void {
  if (architecture !== null && names.includes(architecture)) return;
  if (architecture !== null && transcribers.includes(architecture))
    throw unsupported(
      say`${path} transcribes sounds (${architecture}) and does not ${purpose}: ${transcribesWith(path)}`,
      architecture,
    );
  if (architecture !== null && otherwise.includes(architecture)) {
    const chats = talksWith(path);
    const remedy =
      rerankersBy === undefined
        ? say`${chats}`
        : say`${option(rerankersBy)} is for rerankers of classes that do (${listsClasses(purpose)}); leave it out to chat: ${chats}`;
    throw unsupported(
      say`${path} is a language model (${architecture}), which does not ${purpose}: ${remedy}`,
      FILE,
    );
  }
  const type = config['model_type'];
  const stated =
    architecture === null
      ? `${FILE} names no architecture, and its model_type is ${type === undefined ? 'missing' : `${JSON.stringify(type)}, of which no class is built`}`
      : `the architecture is ${architecture}, which is not built`;
  const { module } = codeOf(config, (key) => key.startsWith('AutoModel')) ?? {};
  const code = module === undefined ? '' : `, and Python code of its repository (${module}.py) is never run`;
  throw unsupported(say`${path}: ${stated}${code}; choose another model: ${listsClasses(purpose)}`, FILE);
}

interface Code {
  /** The entry of auto_map: "modeling_x.XForCausalLM", or "owner/name--modeling_x.XForCausalLM". */
  reference: string;
  module: string;
  className: string;
}

/** The first class that auto_map names for one of these roles; null: none. */
function codeOf({ auto_map: map }: Json, isRole: (key: string) => boolean): Code | null {
  if (!isRecord(map)) return null;
  const named = Object.keys(map).filter(isRole);
  const reference = named.map((key) => map[key]).find((value) => typeof value === 'string');
  if (typeof reference !== 'string') return null;
  const [module = '', className = ''] = reference
    .slice(reference.lastIndexOf('--') + 1)
    .replace(/^-/, '')
    .split('.');
  return { reference, module, className };
}

/**
 * Throws unsupported if auto_map replaces a class that is built by Python code of the repository: by a class of another name, or by one of
 * the same name whose file is in the folder, since that file can compute anything. An entry whose file does not exist has no effect, and
 * neither has one of a class that such files define and that is built in.
 */
export function refuseCustomCode(
  config: Json,
  files: readonly string[],
  architecture: string | null,
  known: KnownClasses,
): void {
  const { names, role, codeOnly = [] } = known;
  if (architecture === null || !names.includes(architecture)) return;
  if (classOfCode(config, architecture, known) !== null) return;
  const code = codeOf(config, (key) => key === role);
  if (code === null) return;
  const { reference, module, className } = code;
  const [stated] = Array.isArray(config['architectures']) ? (config['architectures'] as unknown[]) : [];
  const isBuilt = codeOnly.includes(className);
  if (isBuilt && (stated === className || codeOnly.includes(architecture))) return;
  const isSame = familyOf(className) === familyOf(architecture);
  if (isSame && (reference.includes('--') || !files.includes(`${module}.py`))) return;
  const problem = isSame
    ? `${architecture} is defined anew by Python code in its own repository (${module}.py, auto_map in ${FILE}), which is never run and may compute something else`
    : `${className} is defined by Python code in its own repository (${module}.py, auto_map in ${FILE}), which is never run`;
  const remedy = isSame
    ? `choose a model of the plain class, or if you know that the file changes nothing, remove auto_map`
    : `choose a model of the plain class ${architecture}`;
  throw unsupported(`${problem}: ${remedy}`, FILE);
}

/** Qwen2Model and Qwen2ForCausalLM are of one family. */
const familyOf = (name: string): string => name.replace(/(ForCausalLM|Model)$/, '').toLowerCase();
