// The fields of a text completion, with a prompt that is not rendered by a chat template, and their conversion to the engine's requests,
// one per prompt.

import { infillPrompt, type TextModel, type TextRequest, LIMITS } from '../../index.ts';
import { refuseField } from '../http/errors.ts';
import {
  withoutMissing,
  type FieldTable,
  type HonouredBody,
  honoured,
  neutralOnly,
  noEffect,
} from '../body/fields.ts';
import { checkGeneration, checkTokenIds, toGeneration, checkPromptIds } from '../text/generation-request.ts';
import { isOneInput, listInputs, type TokenInput, tokenInputs } from '../body/bounded.ts';
import { z } from 'zod';
import { GENERATION_FIELDS, MODEL_FIELD } from '../text/generation-fields.ts';

const MAX_TOKENS = 16;

export interface CompletionCall {
  request: TextRequest;
  /** Text with which the reply begins when `echo` is set. */
  echo: string;
}

/** Throws RequestError. */
export async function toCompletions(
  body: KnownCompletion,
  model: TextModel,
  adapter: string | undefined,
): Promise<CompletionCall[]> {
  const maxTokens = body.max_tokens ?? MAX_TOKENS;
  checkTokenIds(body, model.info);
  const prompts = listInputs(body.prompt);
  const { logprobs } = body;
  const promptLogprobs = body.echo ? logprobs : undefined;
  const common = { ...toGeneration(body, adapter), maxTokens, logprobs, promptLogprobs };
  return Promise.all(
    prompts.map(async (prompt, at): Promise<CompletionCall> => {
      const path = isOneInput(body.prompt) ? 'prompt' : `prompt.${at}`;
      if (typeof prompt !== 'string') checkPromptIds(prompt, path, model.info);
      // Ids must differ, because each prompt is a separate request.
      const id = common.id === undefined || prompts.length === 1 ? common.id : `${common.id}_${at}`;
      return {
        request: withoutMissing({ ...common, id, ...(await toPrompt(prompt, body, model)) }),
        echo: body.echo ? await textOf(prompt, model) : '',
      };
    }),
  );
}

/** The prompt; with a suffix, also the tokens that end what is filled in. */
async function toPrompt(
  prompt: TokenInput,
  { suffix, stop_token_ids: stops }: KnownCompletion,
  model: TextModel,
): Promise<Pick<TextRequest, 'prompt' | 'stopTokenIds'>> {
  if (typeof prompt !== 'string') return { prompt: { ids: prompt } };
  if (suffix === undefined) return { prompt: { text: prompt } };
  const { text, stopTokenIds } = await infillPrompt(model, prompt, suffix);
  return { prompt: { text }, stopTokenIds: [...new Set([...(stops ?? []), ...stopTokenIds])] };
}

async function textOf(prompt: TokenInput, model: TextModel): Promise<string> {
  return typeof prompt === 'string' ? prompt : model.detokenize(prompt, { skipSpecialTokens: true });
}

/** Checks rules that involve more than one field. */
export function checkTogether(body: KnownCompletion): void {
  const { echo, logprobs, suffix, prompt, max_tokens } = body;
  checkGeneration(body, ['max_tokens', max_tokens ?? MAX_TOKENS]);
  if (max_tokens === 0 && !echo)
    refuseField('max_tokens', 'must be at least 1 without echo, got 0; send echo or ask for more');
  if (suffix === undefined) return;
  if (typeof listInputs(prompt)[0] !== 'string')
    refuseField(
      'suffix',
      'goes with a prompt that is text, and this one is token ids; send text',
      'unsupported',
    );
  if (echo && logprobs !== undefined)
    refuseField('suffix', 'goes with echo or with logprobs, not with both; leave one out', 'unsupported');
}

const MOST_PROMPTS = 128;

export const COMPLETION_FIELDS = {
  prompt: honoured(
    tokenInputs(MOST_PROMPTS),
    `A text, a list of token ids, or up to ${MOST_PROMPTS} of either, each with its own choices.`,
  ),
  model: MODEL_FIELD,
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
