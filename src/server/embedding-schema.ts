// The fields of a request for embeddings.

import { z } from 'zod';
import { bodyChecker } from './body.ts';
import { honoured, noEffect } from './fields.ts';

const MOST_INPUTS = 2048;

const id = z.int().min(0);
const entry = z.union([z.string().min(1), id, z.array(id).min(1)]);

/** Of one kind all, and not too many texts; ids of one text may be more. */
const entries = z
  .array(entry)
  .min(1)
  .superRefine((list, context) => {
    const kind = typeof list[0];
    const other = list.findIndex((one) => typeof one !== kind);
    if (other > 0) {
      const message = 'is of another kind than those before it; send texts, token ids, or lists of token ids';
      context.addIssue({ code: 'custom', path: [other], message, params: { code: 'invalid_type' } });
    } else if (kind !== 'number' && list.length > MOST_INPUTS) {
      context.addIssue({ code: 'custom', message: `must have at most ${MOST_INPUTS} entries` });
    }
  });

export const EMBEDDING_FIELDS = {
  input: honoured(
    z.union([z.string().min(1), entries]),
    `A text, a list of token ids, or up to ${MOST_INPUTS} of either. Token ids are taken as they are.`,
  ),
  model: honoured(z.string().min(1), 'A served name, its last segment, or "default".'),
  dimensions: honoured(
    z.int().min(1),
    'Keep the first so many values and bring them to length one again; left out, all.',
  ),
  encoding_format: honoured(z.enum(['float', 'base64']), 'base64: little-endian 32-bit floats.', 'float'),
  user: noEffect('Who asks.'),
};

export const checkEmbeddings = bodyChecker({
  table: EMBEDDING_FIELDS,
  required: ['input', 'model'],
});
