// Python pickles, which can run code when they are read: recognised by the endings of their names, and refused with the tool that converts them.

import { unsupported } from './error.ts';

/** Whether the name of a file is that of a pickle. */
export const isPickle = (name: string): boolean => /\.(ckpt|pt|pth|bin)$/i.test(name);

/** Why pickles are not read, for messages. */
export const PICKLED = 'is a Python pickle, which can run code when it is read';

/** The tool that converts the tensors of a pickle. */
export const CONVERT_PICKLE =
  'take the .safetensors file that its publisher offers, or convert it where its code may run, with safetensors.torch.save_file';

/** Throws unsupported for the path of a pickle. */
export function refusePickle(path: string, param?: string): void {
  if (isPickle(path)) throw unsupported(`${path} ${PICKLED}: ${CONVERT_PICKLE}`, param);
}
