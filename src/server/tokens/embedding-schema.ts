// The fields of a request for embeddings.

import { z } from 'zod';
import { LIMITS } from '../../index.ts';
import { bodyChecker } from '../body/body.ts';
import { honoured, noEffect } from '../body/fields.ts';
import { tokenInputs } from './token-input.ts';

export const EMBEDDING_FIELDS = {
  input: honoured(
    tokenInputs(LIMITS.inputs),
    `A text, a list of token ids, or up to ${LIMITS.inputs} of either. Token ids are taken as they are.`,
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
