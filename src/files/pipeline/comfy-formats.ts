// Layers in formats of newer ComfyUI files and of ModelOpt that are not computed: refused by the name of the format, which a small tensor of
// JSON beside the layer states, or which its scales show. source: ComfyUI's comfy/quant_ops.py and comfy/ops.py

import { type EngineError, unsupported } from '../error.ts';
import { jsonObject } from '../source.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';

const STATEMENT = /(^|\.)comfy_quant$/;
/** Tensors whose codes stand in 8-bit floats, or which are stored as numbers. */
const READ: readonly string[] = ['F8_E4M3', 'F8_E5M2', 'F32', 'F16', 'BF16'];
/** Limit on the bytes of a statement; published ones have less than 100. */
const MOST_BYTES = 4096;

/** Throws unsupported for a file with a layer in another format than 8-bit floats. */
export async function refuseFormats(tensors: ReadonlyMap<string, TensorEntry>): Promise<void> {
  for (const [name, entry] of tensors) {
    const module = name.replace(STATEMENT, '');
    const weight = tensors.get(module === '' ? 'weight' : `${module}.weight`);
    if (module === name || weight === undefined || READ.includes(weight.dtype)) continue;
    throw notRead(weight, await formatOf(entry));
  }
  // ModelOpt states its formats beside the file alone; a second scale for the scales of blocks is NVFP4's.
  const second = [...tensors.keys()].find((name) => name.endsWith('.weight_scale_2'));
  const weight = second === undefined ? undefined : tensors.get(second.replace(/_scale_2$/, ''));
  if (weight?.dtype === 'U8') throw notRead(weight, 'nvfp4');
}

function notRead({ name, dtype, shape }: TensorEntry, format: string | null): EngineError {
  const stated = format === null ? 'a format that is not named' : `the format ${format}`;
  return unsupported(
    `tensor ${name} is ${dtype} of [${shape.join(', ')}] in ${stated}, which is not read: choose the FP8 (E4M3), NF4 or GGUF file of the model, or its original`,
    name,
  );
}

/** The format that a statement names; null: none. */
async function formatOf({ source, offset, bytes }: TensorEntry): Promise<string | null> {
  if (bytes > MOST_BYTES) return null;
  const format = jsonObject(new TextDecoder().decode(await source.read(offset, bytes)))?.['format'];
  return typeof format === 'string' ? format : null;
}
