// Components whose weights are packed by another program: refused by component and method before any weight is read, for their
// tensors would only be missing or of another shape.

import { option, say } from '../message.ts';
import { EngineError } from '../error.ts';
import { describeQuantized, quantizedBeside, quantizedBy } from '../quantized.ts';

export interface Component {
  config: Readonly<Record<string, unknown>>;
  /** The file that holds `config`. */
  file: string;
  /** Names of the files in its folder. */
  names: readonly string[];
}

/** Throws unsupported where the configuration of a component, or a file beside it, declares that its weights are quantized. */
export function refuseQuantized(path: string, name: string, { config, file, names }: Component): void {
  const declared = quantizedBy(config, file);
  const beside = quantizedBeside(names);
  if (declared === null && beside === undefined) return;
  const found = declared ?? { method: null, bits: null, where: beside!, file: beside! };
  throw new EngineError(
    'unsupported',
    say`the ${name} in ${path} is quantized${describeQuantized(found)} (${found.where}), which is not read: give the original with ${option('componentPaths')}, and ${option('quantization')} int8 or int4 for its size`,
    { param: `${name}/${found.file}` },
  );
}
