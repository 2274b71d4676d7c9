// A LoRA in a GGUF file, as llama.cpp's converter writes it: for each tensor that it adapts a lora_a [rank, k] and a lora_b
// [rows, rank] under the tensor's name, and one alpha for all. The rows of lora_b stand in the order of the tensor's own rows.

import type { LoraModule } from '../tensors/lora-module.ts';
import { badCheckpoint, unsupported } from '../error.ts';
import { keepingOpen, type ByteSource, type Folder } from '../source.ts';
import type { GgufTensor } from './gguf.ts';
import type { GgufKeys } from './keys.ts';
import type { GgufClass } from './model.ts';
import { openGgufFiles } from './open-files.ts';
import { entryOf } from './tensors.ts';

/** The model that a LoRA is for. */
export interface LoraBase {
  architecture: string;
  config: Readonly<Record<string, unknown>>;
  /** GGUF files that are read, by their general.architecture. */
  gguf: ReadonlyMap<string, GgufClass>;
}

const FACTOR = /^(.+)\.lora_([ab])$/;

/** The caller closes the source. Throws bad_checkpoint, and unsupported for what is more than factors of linear layers. */
export async function readGgufLora(
  folder: Folder,
  name: string,
  base: LoraBase | null,
): Promise<{ modules: LoraModule[]; source: ByteSource }> {
  const { keys, tensors, sources } = await openGgufFiles(folder, name);
  return keepingOpen(sources, () => {
    const { gguf, config } = checkLoraHeader(keys, sources.length, base);
    const alpha = keys.real('adapter.lora.alpha', 0);
    const modules = pairsOf(keys.file, tensors).flatMap(([tensor, a, b]) =>
      modulesOf(keys.file, gguf, config, { tensor, a, b, alpha }),
    );
    return { modules, source: sources[0]! };
  });
}

/** Returns how the LoRA's tensors are named, and the model's configuration. Throws unsupported for a file that is not a LoRA of the model. */
function checkLoraHeader(
  keys: GgufKeys,
  parts: number,
  base: LoraBase | null,
): { gguf: GgufClass; config: LoraBase['config'] } {
  const refuse = (problem: string, param: string) => unsupported(`${keys.file} ${problem}`, param);
  const [kind, type] = [keys.text('general.type', 'model'), keys.text('adapter.type', 'none')];
  if (kind !== 'adapter' || type !== 'lora')
    throw refuse(
      `is not a LoRA (general.type ${kind}, adapter.type ${type}): give the file or folder of a LoRA`,
      'adapter.type',
    );
  if (parts > 1)
    throw refuse(
      'is a LoRA in several parts, and one file is read: merge the parts, or convert the LoRA again',
      'split.count',
    );
  const invocation = 'adapter.alora.invocation_tokens';
  if (keys.get(invocation) !== undefined)
    throw refuse(
      'is a LoRA that begins at certain tokens, which is not built: give one that holds for all tokens',
      invocation,
    );
  const architecture = keys.text('general.architecture');
  const gguf = base?.gguf.get(architecture);
  if (base && gguf?.classNames.includes(base.architecture)) return { gguf, config: base.config };
  throw refuse(
    `is a LoRA for ${architecture}, and the model is ${base?.architecture ?? 'unknown'}: give one that was trained on it`,
    'general.architecture',
  );
}

function pairsOf(file: string, tensors: ReadonlyMap<string, GgufTensor>): [string, GgufTensor, GgufTensor][] {
  const pairs = new Map<string, { a?: GgufTensor; b?: GgufTensor }>();
  for (const [name, tensor] of tensors) {
    const [, module, factor] = FACTOR.exec(name) ?? [];
    if (module === undefined)
      throw unsupported(
        `${file}: tensor ${name} is neither lora_a nor lora_b of a linear layer; merge the LoRA into its model, or give one of linear layers alone`,
        name,
      );
    pairs.set(module, { ...pairs.get(module), [factor as 'a' | 'b']: tensor });
  }
  return [...pairs].map(([name, { a, b }]) => {
    const isPair = a?.shape.length === 2 && b?.shape.length === 2 && a.shape[0] === b.shape[1];
    if (isPair) return [name, a, b];
    const shapeOf = (tensor: GgufTensor | undefined): string =>
      tensor === undefined ? 'nothing' : `[${tensor.shape.join(', ')}]`;
    throw badCheckpoint(
      `${file}: ${name} has the factors ${shapeOf(a)} and ${shapeOf(b)}, [rank, k] and [rows, rank] are needed: fetch the file again`,
      name,
    );
  });
}

interface Pair {
  tensor: string;
  a: GgufTensor;
  b: GgufTensor;
  alpha: number;
}

/** llama.cpp scales by 1 where a file states no alpha, or 0. */
function scaleOf({ alpha }: Pair, rank: number): number {
  return alpha === 0 ? 1 : alpha / rank;
}

/** The modules of one tensor: a fused one has several, which share lora_a. */
function modulesOf(file: string, gguf: GgufClass, config: LoraBase['config'], pair: Pair): LoraModule[] {
  const { tensor, a, b } = pair;
  const [rank, k] = [a.shape[0]!, a.shape[1]!];
  const parts = gguf.parts({ name: tensor, shape: [b.shape[0]!, k] }, config) ?? [];
  const isLinear =
    parts.length > 0 && parts.every(({ name }) => name.endsWith('.weight') && !/embed/.test(name));
  if (!isLinear)
    throw unsupported(
      `${file} adapts ${tensor}, which is not a linear layer of the model: merge the LoRA into its model`,
      tensor,
    );
  return parts.map(({ name, shape, ...part }) => ({
    name: name.replace(/\.weight$/, ''),
    a: entryOf(a, { name: a.name, shape: a.shape }),
    b: entryOf(b, { ...part, name: b.name, shape: [shape[0]!, rank] }),
    rank,
    scale: scaleOf(pair, rank),
  }));
}
