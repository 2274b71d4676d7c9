// Folders that contain a model which cannot be opened as a language model: each kind is recognised by its files, and the refusal
// says what to fetch or run instead.

import { option, say } from '../message.ts';
import { countText } from '../count-text.ts';
import { drawsWith, embedsWith, servesAll } from '../openers.ts';
import { badCheckpoint, type EngineError, unsupported } from '../error.ts';
import { METHOD_NAMES } from '../coded/methods.ts';
import { MODULES } from './embedding-folder.ts';
import { describeQuantized, quantizedFolder, type Quantized } from '../coded/quantized.ts';
import { isGgufName } from '../gguf/file-names.ts';
import { isTorchName } from '../tensors/tensor-file.ts';
import { weightsFileOf } from './weights-file.ts';
import type { Folder } from '../source.ts';

/** Throws for a folder that contains another kind of checkpoint, or no config.json. `within`: names of folders in it that hold models. */
export function refuseForeignFolder(
  path: string,
  names: readonly string[],
  within: readonly string[] = [],
): void {
  if (names.includes('model_index.json')) {
    throw unsupported(
      say`${path} is a diffusion pipeline (model_index.json), not a language model: ${drawsWith(path)}`,
      'model_index.json',
    );
  }
  if (names.includes('config.json')) return;
  refuseWhisperCpp(path, names);
  if (names.length === 1 && !isGgufName(weightsFileOf(names) ?? 'x.gguf')) {
    throw unsupported(
      say`${path} is weights without config.json: give the folder of a language model, which has config.json and a tokenizer beside its weights; if this is an image model in one file, ${drawsWith(path)}`,
      'model_index.json',
    );
  }
  if (!names.some((name) => READ.test(name))) refuseForeignWeights(path, names);
  if (names.includes('adapter_config.json')) throw loraFolder(path);
  if (names.includes(MISTRAL)) {
    throw unsupported(
      `${path} holds a model in Mistral's own layout (${MISTRAL}), which is not read: fetch the files of the Hugging Face layout, config.json and model.safetensors, from a revision or a conversion that has them`,
      MISTRAL,
    );
  }
  const [first] = within;
  if (first !== undefined) {
    const several =
      within.length > 1 ? `${countText(within.length, 'folder')} of models` : 'the folder of a model';
    throw badCheckpoint(
      say`${path} has no config.json, and holds ${several}: give one, such as ${path}/${first}${servesAll(path)}`,
      'config.json',
    );
  }
  throw badCheckpoint(`${path} has no config.json: give the folder of a whole checkpoint`, 'config.json');
}

const MISTRAL = 'params.json';
/** Files of weights that are read. */
const READ = /\.safetensors(\.index\.json)?$|^pytorch_model\.bin(\.index\.json)?$/;
/** File names of a LoRA, and of weights in any format. */
const LORA_FILE = /^adapter_(config\.json$|model\.)/;
const WEIGHTS = /\.(safetensors|bin|pt|pth|gguf)(\.index\.json)?$/;

function loraFolder(path: string): EngineError {
  return unsupported(
    say`${path} is a LoRA (adapter_config.json), not a model: open the model that it was trained on, with ${option('loraPaths')}`,
    'adapter_config.json',
  );
}

/** Throws for a folder whose weights are in another format, or missing. */
export function refuseWeightFiles(path: string, names: readonly string[]): void {
  const own = names.filter((name) => !LORA_FILE.test(name));
  // Training tools leave the model's config.json beside a LoRA.
  if (own.length < names.length && !own.some((name) => WEIGHTS.test(name))) throw loraFolder(path);
  if (names.some((name) => READ.test(name))) return;
  refuseForeignWeights(path, names);
  throw badCheckpoint(
    `${path} has a config.json but no weights: fetch model.safetensors as well`,
    'model.safetensors',
  );
}

function refuseWhisperCpp(path: string, names: readonly string[]): void {
  const ggml = names.find((name) => /^ggml-.*\.bin$/.test(name));
  if (ggml === undefined) return;
  throw unsupported(
    `${path} holds its weights in the format of whisper.cpp (${ggml}), which is no GGUF and is not read: fetch the model in the layout of transformers, with config.json and model.safetensors`,
    ggml,
  );
}

function refuseForeignWeights(path: string, names: readonly string[]): void {
  const gguf = names.find((name) => /\.gguf$/i.test(name));
  if (gguf !== undefined) {
    throw unsupported(
      `${path} holds of GGUF files only ${gguf}, which is not a text model by its name: fetch the file of the text model as well`,
      gguf,
    );
  }
  const other = names.find((name) => isTorchName(name) && !LORA_FILE.test(name));
  if (other === undefined) return;
  throw unsupported(
    `${path} holds its weights in ${other}, and of torch's files those in transformers' layout are read, as pytorch_model.bin: fetch a revision or a conversion that has it, or model.safetensors`,
    other,
  );
}

/**
 * Throws for an embedding model, recognised by the files of sentence-transformers or by a class that is used only for embeddings.
 */
export function refuseEmbeddingFolder(
  path: string,
  names: readonly string[],
  architecture: string | null,
  classes: readonly string[],
): void {
  const hasModules = names.includes(MODULES);
  if (!hasModules && !classes.includes(architecture ?? '')) return;
  const sign = hasModules ? MODULES : `architecture ${architecture}`;
  throw unsupported(
    say`${path} makes embeddings (by its ${sign}), it is not a language model: ${embedsWith(path)}`,
    // The file that shows the kind, by which a server opens such a model.
    MODULES,
  );
}

/** Returns what a file declares about weights that another program quantized; null: none does. Throws for a way that is not read. */
export async function refuseQuantized(
  folder: Folder,
  names: readonly string[],
  config: Readonly<Record<string, unknown>>,
): Promise<Quantized | null> {
  const found = await quantizedFolder(folder, names, config);
  if (found === null || found.isRead) return found;
  // In a checkpoint of mixed precision most weights have the fewest bits: those of the experts.
  const size = (found.bits[0] ?? 0) > 4 ? 'int8' : 'int4';
  throw unsupported(
    say`${folder.path} is quantized${describeQuantized({ ...found, method: found.method ?? 'an unnamed method' })} (${found.where}), which is not read (read are ${METHOD_NAMES.join(', ')}): take the original checkpoint, and ${option('quantization')} ${size} for its size`,
    found.file,
  );
}
