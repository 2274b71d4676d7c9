// A LoRA of an image model: one .safetensors file, or a folder with one, and PEFT's adapter_config.json where that lies beside it.
// Scales come from the file's own alphas, else from those settings, else from those that diffusers writes into the file's metadata.

import { readLoraConfig, CONFIG, type Json } from '../checkpoint/lora-config.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import { readTensorFile, tensorFiles, tensorStem } from '../tensors/tensor-file.ts';
import { badCheckpoint, type EngineError, modelNotFound, unsupported } from '../error.ts';
import { ReopenedSource } from '../reopened-source.ts';
import { smallValues } from '../pipeline/file-parts.ts';
import { jsonObject, keepingOpen, readJson, type Folder } from '../source.ts';
import { readKey } from './keys.ts';
import type { ImageLoraModule } from './module.ts';
import { readModules, wrongAlpha, type StatedScale } from './modules.ts';

export interface ImageLora {
  /** Path of the file. */
  path: string;
  /** Name of the file without its ending. */
  name: string;
  modules: readonly ImageLoraModule[];
  /** Names of tensors that no factor is named like. */
  unknown: readonly string[];
  /** The header's own statements, such as those of the program that trained it. */
  metadata: Readonly<Record<string, string>>;
  /** Closes the file; tensors that are read later open it for that time. */
  close(): Promise<void>;
}

/** PEFT's file, whose scales stand in a file of settings beside it. */
const PEFT_FILES = ['adapter_model.safetensors', 'adapter_model.bin'];
/** File names that programs give to LoRAs, most usual first. */
const USUAL = ['pytorch_lora_weights.safetensors', 'pytorch_lora_weights.bin', ...PEFT_FILES];

/**
 * Opens the LoRA in a folder, or the file that stands for one. `beside`: the folder of such a file. The caller closes it. Throws
 * bad_checkpoint, unsupported, model_not_found.
 */
export async function openImageLora(folder: Folder, beside: Folder = folder): Promise<ImageLora> {
  const names = await folder.names();
  const file = chooseFile(folder, names);
  const isFile = folder.path.endsWith(file);
  const path = isFile ? folder.path : `${folder.path}/${file}`;
  const source = await ReopenedSource.open(folder, file);
  return keepingOpen([source], async () => {
    const { tensors, metadata } = await readTensorFile(source);
    const settings = isFile && !PEFT_FILES.includes(file) ? null : await settingsIn(isFile ? beside : folder);
    const stated = settings ?? metadataScale(path, metadata);
    const { modules, unknown } = readModules(path, tensors, await readAlphas(path, tensors), stated);
    // Whole norms alone are those of a model.
    if (modules.every(({ weight }) => weight?.replaces)) throw noModules(path, [...tensors.keys()]);
    const close = (): Promise<void> => source.close();
    return { path, name: tensorStem(file), modules, unknown, metadata, close };
  });
}

/** The scales of PEFT's settings in a folder; null: there are none. */
async function settingsIn(folder: Folder): Promise<StatedScale | null> {
  const source = await folder.open(CONFIG).catch(() => null);
  await source?.close();
  return source && scaleOf(folder.path, await readJson(folder, CONFIG));
}

function chooseFile({ path }: Folder, names: readonly string[]): string {
  const files = tensorFiles(names);
  const found = USUAL.find((name) => files.includes(name)) ?? (files.length === 1 ? files[0] : undefined);
  if (found !== undefined) return found;
  const problem =
    files.length === 0
      ? 'has no .safetensors file: give the file of a LoRA, or the folder that it lies in'
      : `has ${files.length} files (${files.slice(0, 3).join(', ')}${files.length > 3 ? ' …' : ''}): name one of them`;
  throw modelNotFound(`${path} ${problem}`);
}

/** Names of cloneofsimo's program, which counts the layers that it changed in the order of the model's classes. */
const NUMBERED = /^\w+:\d+:(?:up|down)$/;

function noModules(path: string, unknown: readonly string[]): EngineError {
  const [first] = unknown;
  const numbered = unknown.find((name) => NUMBERED.test(name));
  if (numbered !== undefined)
    return unsupported(
      `${path} is a LoRA in the numbered layout of cloneofsimo's lora, whose tensors, such as ${numbered}, name no module of a model: merge it into its model with that program, or take it in the layout of kohya, PEFT or diffusers`,
      numbered,
    );
  const problem =
    first === undefined ? 'holds no tensors' : `holds no adapter: its first tensor is ${first.slice(0, 256)}`;
  return badCheckpoint(`${path} ${problem}; give a file that holds LoRA, LoHa or LoKr factors`, first);
}

async function readAlphas(
  path: string,
  tensors: ReadonlyMap<string, TensorEntry>,
): Promise<Map<string, number>> {
  const alphas = new Map<string, number>();
  for (const [name, entry] of tensors) {
    if (readKey(name)?.role !== 'alpha') continue;
    const values = entry.bytes > 64 ? null : await smallValues({ path, tensors }, name);
    if (values?.length !== 1) throw wrongAlpha(path, name, `of the shape [${entry.shape.join(', ')}]`);
    const value = values[0]!;
    alphas.set(name, value);
  }
  return alphas;
}

/** Settings that LoRAs of text models must not have and those of image models may have: their tensors say all of it. */
const HONOURED = { use_dora: false, lora_bias: false, bias: 'none', fan_in_fan_out: false };

function scaleOf(path: string, config: Json): StatedScale {
  const read = readLoraConfig(path, { ...config, ...HONOURED, peft_type: config['peft_type'] ?? 'LORA' });
  return (module, rank) => {
    const stated = read.rank(module);
    if (stated === rank) return read.scale(module);
    throw badCheckpoint(
      `${path}: ${module} has factors of rank ${rank}, and the settings beside it ask for ${stated}: take both from where the LoRA was published`,
      module,
    );
  };
}

/** The key under which diffusers writes the settings of each component's LoRA, with the component's name before each setting. */
const METADATA = 'lora_adapter_metadata';

function metadataScale(path: string, { [METADATA]: text }: Readonly<Record<string, string>>): StatedScale {
  if (text === undefined) return () => null;
  const settings = parsed(path, text);
  const components = new Map<string, Record<string, unknown>>();
  for (const [key, value] of Object.entries(settings)) {
    const [, component, setting] = /^(\w+)\.(\w+)$/.exec(key) ?? [];
    if (setting === undefined) continue;
    const own = components.get(component!) ?? {};
    own[setting] = value;
    components.set(component!, own);
  }
  const scales = new Map([...components].map(([name, config]) => [name, scaleOf(path, config)]));
  return (module, rank) => {
    const [, component, own] = /^(\w+)\.(.*)$/.exec(module) ?? [];
    return (component !== undefined && scales.get(component)?.(own!, rank)) || null;
  };
}

function parsed(path: string, text: string): Record<string, unknown> {
  const value = jsonObject(text);
  if (value !== null) return value;
  throw badCheckpoint(
    `${path}: ${METADATA} in the header is not a JSON object: take the file from where the LoRA was published`,
    METADATA,
  );
}
