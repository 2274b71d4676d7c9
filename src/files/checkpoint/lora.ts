// A LoRA, in a GGUF file (files/gguf/lora.ts) or as PEFT saves it: adapter_config.json, and adapter_model.safetensors with an A [rank, k] and a B [rows, rank]
// for each module it adapts. What is more than that is refused by name, since leaving it out would change what it says.

import { badCheckpoint, EngineError, modelNotFound, unsupported } from '../error.ts';
import { ggufSets } from '../gguf/file-names.ts';
import { readGgufLora, type LoraBase } from '../gguf/lora.ts';
import { CONFIG, readLoraConfig, type Json, type LoraConfig } from './lora-config.ts';
import type { LoraModule } from '../tensors/lora-module.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import { readTensorFile } from '../tensors/tensor-file.ts';
import { textModule } from './text-half.ts';
import { keepingOpen, readJson, readText, type ByteSource, type Folder } from '../source.ts';

export type { LoraModule };

export interface LoraFile {
  path: string;
  modules: LoraModule[];
  /** Largest rank of the modules. */
  rank: number;
  /** Digest of settings and weights, independent of the folder. */
  identity: string;
  close(): Promise<void>;
}

const WEIGHTS = 'adapter_model.safetensors';
/** The same, as older versions of PEFT saved it. */
const TORCH_WEIGHTS = 'adapter_model.bin';

/**
 * The caller closes it. `base`: the model that it is for, which GGUF files are read by. Throws model_not_found where the folder holds no
 * settings of a LoRA, and bad_checkpoint and unsupported for what a LoRA's files say.
 */
export async function openLora(folder: Folder, base: LoraBase | null = null): Promise<LoraFile> {
  const gguf = await findGgufLora(folder);
  if (gguf !== null) return openGguf(folder, gguf, base);
  const config = readLoraConfig(folder.path, await readConfig(folder));
  const names = await folder.names();
  const file = [WEIGHTS, TORCH_WEIGHTS].find((name) => names.includes(name));
  if (file === undefined)
    throw badCheckpoint(
      `${folder.path} has no ${WEIGHTS}: give the folder that PEFT saved the LoRA in`,
      WEIGHTS,
    );
  const source = await folder.open(file);
  return keepingOpen([source], async () => {
    const { tensors } = await readTensorFile(source);
    const modules = readModules(folder.path, config, tensors);
    return loraFile(folder, modules, source, await readText(folder, CONFIG));
  });
}

async function loraFile(
  { path }: Folder,
  modules: LoraModule[],
  source: ByteSource,
  settings: string,
): Promise<LoraFile> {
  const rank = Math.max(...modules.map((module) => module.rank));
  return { path, modules, rank, identity: await identify(source, settings), close: () => source.close() };
}

/** The only GGUF file of a folder; null: there is none, or the folder is one of PEFT's. A folder that cannot be listed has none. */
async function findGgufLora(folder: Folder): Promise<string | null> {
  const names = await folder.names().catch((): string[] => []);
  const sets = names.includes(CONFIG) ? [] : ggufSets(names);
  return sets.length === 1 ? sets[0]!.names[0]! : null;
}

async function openGguf(folder: Folder, name: string, base: LoraBase | null): Promise<LoraFile> {
  const { modules, source } = await readGgufLora(folder, name, base).catch((cause: unknown) => {
    if (!(cause instanceof EngineError) || cause.code !== 'bad_checkpoint') throw cause;
    // Files that hold no header of GGUF are answered like folders without a LoRA.
    throw modelNotFound(cause.message, undefined, cause);
  });
  return keepingOpen([source], () => {
    if (modules.length === 0) throw bad(folder.path, name, 'holds no tensors');
    return loraFile(folder, modules, source, '');
  });
}

/** The file is opened without a look at its folder, so that a large folder without it takes no longer than one that does not exist. */
async function readConfig(folder: Folder): Promise<Json> {
  try {
    return await readJson(folder, CONFIG);
  } catch (cause) {
    throw modelNotFound(
      `${folder.path} has no ${CONFIG} that can be read: give the folder that PEFT saved the LoRA in`,
      CONFIG,
      cause,
    );
  }
}

/** Limit on the characters of a module's name; patterns are matched against it. */
const MOST_NAME = 256;
const TENSOR = /^base_model\.model\.(.+)\.lora_([AB])(?:\.default)?\.weight$/;

function readModules(
  path: string,
  config: LoraConfig,
  tensors: ReadonlyMap<string, TensorEntry>,
): LoraModule[] {
  const pairs = new Map<string, { A?: TensorEntry; B?: TensorEntry }>();
  for (const [name, entry] of tensors) {
    const [, module, factor] = TENSOR.exec(name) ?? [];
    if (module === undefined) {
      throw unsupported(
        `${path}: tensor ${name.slice(0, MOST_NAME)} is neither lora_A nor lora_B of a linear layer; merge the LoRA into its model, or train one without`,
        name,
      );
    }
    if (module.length > MOST_NAME)
      throw bad(path, `${module.slice(0, 80)}…`, `has a name of ${module.length} characters`);
    pairs.set(module, { ...pairs.get(module), [factor as 'A' | 'B']: entry });
  }
  if (pairs.size === 0) throw bad(path, WEIGHTS, 'holds no tensors');
  return [...pairs].map(([name, { A, B }]) => {
    if (!A || !B) throw bad(path, name, `lacks its lora_${A ? 'B' : 'A'}.weight`);
    const [rank = 0] = A.shape;
    const stated = config.rank(name);
    if (A.shape.length !== 2 || B.shape.length !== 2 || B.shape[1] !== rank || rank !== stated || rank < 1)
      throw bad(
        path,
        name,
        `has factors of [${A.shape.join(', ')}] and [${B.shape.join(', ')}], ${CONFIG} asks for rank ${stated}`,
      );
    return {
      name: textModule(name),
      a: A,
      b: B,
      rank,
      scale: config.scale(name),
    };
  });
}

const READ_BYTES = 4 * 2 ** 20;

/** Hash of two 32-bit FNV-1a sums over words. It distinguishes LoRAs and has no cryptographic strength. */
async function identify(source: ByteSource, config: string): Promise<string> {
  let [low, high] = [0x811c9dc5, 0x9e3779b9];
  const take = (word: number): void => {
    low = Math.imul(low ^ word, 0x01000193);
    high = Math.imul(high ^ (word >>> 13) ^ (word << 19), 0x01000193) ^ (low >>> 7);
  };
  for (const byte of new TextEncoder().encode(config)) take(byte);
  for (let at = 0; at < source.size; at += READ_BYTES) {
    const bytes = await source.read(at, Math.min(READ_BYTES, source.size - at));
    const whole = bytes.length - (bytes.length % 4);
    for (const word of new Uint32Array(bytes.buffer, bytes.byteOffset, whole / 4)) take(word);
    for (const byte of bytes.subarray(whole)) take(byte);
  }
  return [low, high, source.size].map((word) => (word >>> 0).toString(16)).join('-');
}

function bad(path: string, what: string, problem: string): EngineError {
  return badCheckpoint(
    `${path}: ${what} ${problem}: take ${CONFIG} and ${WEIGHTS} from where the LoRA was published`,
    what,
  );
}
