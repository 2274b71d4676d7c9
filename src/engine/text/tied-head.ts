// A head that config.json ties to the embedding may be stored all the same. transformers then compares the two: equal ones are tied,
// and of different ones each is used.

import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import { sameValues } from '../../files/checkpoint/same-values.ts';
import type { TextDeclaration } from '../../models/text/architecture.ts';

/** The declaration, untied where the file holds a head of its own, which `onNote` hears. */
export async function untieStoredHead(
  declaration: TextDeclaration,
  tensors: ReadonlyMap<string, TensorEntry>,
  onNote: (message: string) => void,
): Promise<TextDeclaration> {
  const { tied } = declaration;
  const head = tied && tensors.get(tied.head);
  const name = tied?.embeddings.find((one) => tensors.has(one));
  if (!tied || !head || name === undefined) return declaration;
  if (await sameValues(head, tensors.get(name)!)) return declaration;
  onNote(
    `config.json has tie_word_embeddings true, and ${tied.head} in ${head.source.name} differs from ${name}: both are used as they are stored`,
  );
  return tied.untied;
}
