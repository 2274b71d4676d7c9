// Components whose weights another program quantized: those that are not computed in their own codes are refused by component and method
// before any weight is read, because their tensors would only be missing or of another shape.

import { option, say } from '../message.ts';
import { unsupported } from '../error.ts';
import { describeQuantized, quantizedBeside, quantizedBy, type Quantized } from '../coded/quantized.ts';

export interface Component {
  config: Readonly<Record<string, unknown>>;
  /** The file that holds `config`. */
  file: string;
  /** Names of the files in its folder. */
  names: readonly string[];
}

/**
 * The quantization that the configuration of a component declares; null: none. Throws unsupported for one that is not computed, and for one
 * that a file beside the configuration declares.
 */
export function declaredQuantization(
  path: string,
  name: string,
  { config, file, names }: Component,
): Quantized | null {
  const declared = quantizedBy(config, file);
  if (declared?.isRead) return declared;
  const beside = quantizedBeside(names);
  if (declared === null && beside === undefined) return null;
  const found = declared ?? { method: null, settings: {}, bits: [], where: beside!, file: beside! };
  throw unsupported(
    say`the ${name} in ${path} is quantized${describeQuantized(found)} (${found.where}), which is not read: give the original with ${option('componentPaths')}, and ${option('quantization')} int8 or int4 for its size`,
    `${name}/${found.file}`,
  );
}
