// The note about activations in 8 bits that a model shows when it opens: which weights are multiplied by integers, and which by floats.

import { badRequest } from '../../../files/error.ts';
import { option, say, type Message } from '../../../files/message.ts';
import type { Device } from '../../../gpu/device.ts';
import { FORMATS, type FormatName } from '../../../kernels/formats.ts';
import { matrixTiles } from '../../../kernels/matrix-tile.ts';

/**
 * Tells how a model with weights in these formats is computed with activations in 8 bits; null: they are floats. Throws bad_request where no weights are
 * multiplied by integers.
 */
export function activationsNote(
  { profile, capabilities }: Device,
  weightFormats: readonly string[],
): Message | null {
  if (profile.activations === 'float') return null;
  const isInteger = (name: string): boolean => FORMATS[name as FormatName].integers;
  const integers = weightFormats.filter(isInteger);
  const floats = weightFormats.filter((name) => !isInteger(name));
  const given = option('activationDtype');
  if (integers.length === 0) {
    const quantizable: readonly string[] = FORMATS.int8.sources;
    const canQuantize = floats.every((name) => quantizable.includes(name));
    const remedy = canQuantize
      ? say`add ${option('quantization')} int8 or int4, or leave it out`
      : say`leave it out, or open a checkpoint of other weights`;
    throw badRequest(
      say`${given} int8 is for weights whose codes are integers, and those of this model are in ${floats.join(', ')}: ${remedy}`,
      'activationDtype',
    );
  }
  const others = floats.length === 0 ? '' : `, those in ${floats.join(', ')} by floats`;
  const prompts =
    matrixTiles(capabilities).length === 0
      ? ''
      : '; prompts are multiplied in f16, on matrix units, except by weights of experts';
  return say`${given} int8: weights in ${integers.join(', ')} are multiplied by activations rounded to 8 bits${others}${prompts}`;
}
