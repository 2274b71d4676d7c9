// A checkpoint whose config.json ties the head to the embedding may store a head as well. transformers then compares the two: equal
// ones are tied, and different ones are both used.

import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import { sameValues } from '../../files/checkpoint/same-values.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';

/**
 * Returns the declaration, untied if the file stores a different head; `onNote` is called with a note about that. At most `most` elements
 * of the two are compared.
 */
export async function untieStoredHead(
  declaration: TextDeclaration,
  tensors: ReadonlyMap<string, TensorEntry>,
  onNote: (message: string) => void,
  most = Infinity,
): Promise<TextDeclaration> {
  const { tied } = declaration;
  const head = tied && tensors.get(tied.head);
  const name = tied?.embeddings.find((one) => tensors.has(one));
  if (!tied || !head || name === undefined) return declaration;
  if (await sameValues(head, tensors.get(name)!, most)) return declaration;
  onNote(
    `config.json has tie_word_embeddings true, and ${tied.head} in ${head.source.name} differs from ${name}: both are used as they are stored`,
  );
  return tied.untied;
}
