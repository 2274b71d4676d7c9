// The fields of a text completion: those that all routes for text share, and a prompt that is not rendered by a chat template.

import { z } from 'zod';
import { LIMITS } from '../../index.ts';
import { type FieldTable, type HonouredBody, honoured, neutralOnly, noEffect } from '../body/fields.ts';
import { GENERATION_FIELDS } from '../text/generation-fields.ts';
import { tokenInputs } from '../body/token-input.ts';

const MOST_PROMPTS = 128;

export const COMPLETION_FIELDS = {
  prompt: honoured(
    tokenInputs(MOST_PROMPTS),
    `A text, a list of token ids, or up to ${MOST_PROMPTS} of either, each with its own choices.`,
  ),
  model: honoured(
    z.string().min(1),
    'A served name, its last segment, or "default"; name:adapter applies a LoRA adapter.',
  ),
  max_tokens: honoured(
    z.int().min(0),
    'Most tokens to generate; clamped to what the context leaves. 0 with echo: only the prompt.',
    16,
  ),
  ...GENERATION_FIELDS,
  echo: honoured(z.boolean(), 'The text begins with the prompt.', false),
  suffix: honoured(
    z.string(),
    'What comes after the text: for models whose tokenizer has tokens to fill in the middle.',
    '',
  ),
  logprobs: honoured(
    z.int().min(0).max(LIMITS.logprobs),
    `Log probability of every generated token, with echo of the prompt's too, and of up to ${LIMITS.logprobs} best ones at its place.`,
  ),
  best_of: neutralOnly('Choices to choose from.', 1),
  user: noEffect('Who asks.'),
} satisfies FieldTable;

export type CompletionBody = HonouredBody<typeof COMPLETION_FIELDS>;

/** A body after its check. */
export type KnownCompletion = CompletionBody & Required<Pick<CompletionBody, 'prompt' | 'model'>>;
