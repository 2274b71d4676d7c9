// Files of tensors by their names: safetensors, or what torch.save wrote.

import type { ByteSource } from '../source.ts';
import { readSafetensors, type Safetensors } from './safetensors.ts';
import { readTorchFile } from './torch-file.ts';

/** Whether the name of a file is that of safetensors. */
export const isSafetensors = (name: string): boolean => /\.safetensors$/i.test(name);

/** Whether the name of a file is one that torch's files have. */
export const isTorchName = (name: string): boolean => /\.(ckpt|pt|pth|bin)$/i.test(name);

/** Whether a path is that of a model's or a component's weights in the layouts of transformers and diffusers. */
export const isLayoutWeights = (path: string): boolean =>
  isSafetensors(path) || /(^|\/)(diffusion_)?pytorch_model\b.*\.bin$/.test(path);

export const isTensorFile = (name: string): boolean => isSafetensors(name) || isTorchName(name);

/** A file's name without the ending of a file of tensors. */
export const tensorStem = (name: string): string => name.replace(/\.(safetensors|ckpt|pt|pth|bin)$/i, '');

/** The files of tensors among names: safetensors alone, where there are any. Torch's files beside them hold the same, or the states of a training. */
export function tensorFiles(names: readonly string[]): string[] {
  const safe = names.filter(isSafetensors);
  return safe.length > 0 ? safe : names.filter(isTorchName);
}

/** Reads the header of a file. Errors: bad_checkpoint. */
export async function readTensorFile(source: ByteSource): Promise<Safetensors> {
  if (!isTorchName(source.name)) return readSafetensors(source);
  return { tensors: await readTorchFile(source), metadata: {} };
}
