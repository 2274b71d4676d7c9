// The order of a matrix's inputs. GPTQ's act-order quantizes inputs by falling importance, so that those of one group lie apart, and g_idx has the
// group of each. The device keeps k's group by group, and activations are put into that order before the matrix.

import { broken, type Header } from '../tensors/coded-tensor.ts';

/** Bytes of tensors that describe others, by name. */
export type Statements = ReadonlyMap<string, Uint8Array>;

/**
 * Inputs group by group; null: they are so already, or the tensor's bytes are not known. Throws bad_checkpoint for groups that are not there
 * or of another size.
 */
export function orderOf(
  { name }: Header,
  statements: Statements,
  k: number,
  groupKs: number,
): Uint32Array | null {
  const bytes = statements.get(name);
  if (!bytes) return null;
  const groups = new Int32Array(bytes.slice().buffer);
  const next = Array.from({ length: Math.ceil(k / groupKs) }, (_, group) => group * groupKs);
  const order = new Uint32Array(k);
  groups.forEach((group, input) => {
    const place = next[group];
    if (place === undefined)
      throw broken(
        name,
        `tensor ${name} puts input ${input} into group ${group}, and there are ${next.length} groups`,
      );
    if (place >= Math.min((group + 1) * groupKs, k))
      throw broken(
        name,
        `tensor ${name} puts more inputs into group ${group} than the ${groupKs} of a group`,
      );
    order[place] = input;
    next[group] = place + 1;
  });
  return order.some((input, place) => input !== place) ? order : null;
}
