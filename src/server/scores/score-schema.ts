// The fields of the routes that judge texts, as vLLM has them, with those of Cohere's, Jina's and TEI's rerank.

import { z } from 'zod';
import { filled, list, MOST_IDS, tokenInputs } from '../body/bounded.ts';
import { LIMITS } from '../../index.ts';
import { honoured, neutralOnly, noEffect, type FieldTable } from '../body/fields.ts';

const model = honoured(filled, 'A served name, its last segment, or "default".', 'default');
const texts = list(filled, LIMITS.inputs).min(1);
const truncation = {
  truncate_prompt_tokens: honoured(
    z.int().min(-1).max(MOST_IDS),
    'Cut each text, or query with its document, to so many tokens, of two texts the longer one first; -1: to as many as the model takes. Left out, a longer one is refused.',
  ),
  truncation_side: neutralOnly('Texts are cut at their ends.', 'right'),
} satisfies FieldTable;
const activation = {
  use_activation: honoured(
    z.boolean(),
    "Give scores by the model's own function; false: the values of its head. A model of vectors has none.",
    true,
  ),
  activation: honoured(z.boolean(), 'The older name of use_activation.', true),
} satisfies FieldTable;
const common = {
  model,
  ...truncation,
  ...activation,
  user: noEffect('Who asks.'),
} satisfies FieldTable;

const instruction = {
  instruction: honoured(
    filled,
    'What a model that judges by its logits is told to judge by. Left out: its own.',
  ),
  instruct: honoured(filled, "SGLang's name of instruction."),
} satisfies FieldTable;

const document = z.union([filled, z.object({ text: filled })]);

export const RERANK_FIELDS = {
  query: honoured(filled, 'What the documents are judged by.'),
  documents: honoured(
    list(document, LIMITS.inputs).min(1),
    `Up to ${LIMITS.inputs} texts, or objects with a text.`,
  ),
  top_n: honoured(z.int().min(0), 'The best so many; 0, or left out: all.', 0),
  return_documents: honoured(z.boolean(), 'Give the texts with their scores.', true),
  texts: honoured(texts, "In place of documents, as TEI has them; the reply then is TEI's list."),
  return_text: honoured(z.boolean(), 'Of `texts`: give them with their scores.', false),
  raw_scores: honoured(z.boolean(), 'Of `texts`: the values of the head, not scores.', false),
  truncate: honoured(z.boolean(), 'As truncate_prompt_tokens -1.', false),
  max_tokens_per_doc: neutralOnly('Documents are cut together with the query: see truncate_prompt_tokens.'),
  rank_fields: neutralOnly('Documents are judged by their text.'),
  ...instruction,
  ...common,
} satisfies FieldTable;

const oneOrMore = z.union([filled, texts]);

export const SCORE_FIELDS = {
  text_1: honoured(oneOrMore, 'A query, or one for each of text_2.'),
  text_2: honoured(oneOrMore, `A text, or up to ${LIMITS.inputs}, each scored for its query.`),
  queries: honoured(oneOrMore, 'Another name of text_1.'),
  documents: honoured(oneOrMore, 'Another name of text_2.'),
  label_token_ids: neutralOnly("SGLang's scores of next tokens are not built."),
  ...instruction,
  ...common,
} satisfies FieldTable;

const input = honoured(
  tokenInputs(LIMITS.inputs),
  `A text, a list of token ids, or up to ${LIMITS.inputs} of either. Token ids are taken as they are.`,
);

export const CLASSIFY_FIELDS = { input, ...common } satisfies FieldTable;

export const POOLING_FIELDS = {
  input,
  task: honoured(
    z.enum(['embed', 'classify', 'token_classify']),
    'What the model is for; another task of it is refused.',
  ),
  dimensions: honoured(z.int().min(1), 'Of vectors: keep the first so many values, at length one again.'),
  encoding_format: honoured(z.enum(['float', 'base64']), 'base64: little-endian 32-bit floats.', 'float'),
  ...common,
} satisfies FieldTable;
