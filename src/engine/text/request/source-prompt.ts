// Prompts of models that read sources: the prompt is the source, and a sequence begins with its pages and the tokens that begin every reply.

import { badRequest, EngineError } from '../../../files/error.ts';
import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { TextRequest } from '../calls/text-model.ts';
import { pagesFor } from '../kv/pages.ts';
import type { SourceText } from '../step/step-part.ts';
import type { RenderedPrompt } from './request-context.ts';
import type { SourceSettings } from './source-settings.ts';

/**
 * The prompt of a sequence whose source is a rendered prompt. `begun`: what the request begins the reply with, behind the first of the tokens that begin all
 * replies and in place of the others, such as a language to write. Throws bad_request and context_length_exceeded.
 */
export function asSource(
  prompt: RenderedPrompt,
  { tokens, written, begin: usual }: Pick<SourceSettings, 'tokens' | 'written' | 'begin'>,
  param: 'messages' | 'prompt',
  begun: readonly number[] = [],
): RenderedPrompt {
  const { ids } = prompt;
  const begin = begun.length > 0 ? [usual[0]!, ...begun] : usual;
  if (begin.length >= written)
    throw new EngineError(
      'context_length_exceeded',
      `the reply begins with ${begin.length} tokens, and the model writes ${written}: begin it with less`,
      { param },
    );
  if (ids.length === 0) throw badRequest('the prompt holds no tokens: send some text', param);
  if (ids.length > tokens)
    throw new EngineError(
      'context_length_exceeded',
      `the prompt is too long: ${ids.length} tokens > ${tokens}, which the model's encoder reads at once: shorten the text, or send it in parts`,
      { param },
    );
  const pages = pagesFor(ids.length);
  const source: SourceText = { ids, tokens: ids.length, pages };
  // Tokens of the source fill its places, as those of a prompt: lookups of drafts search them, and no step computes them.
  const places = Array.from({ length: pages * PAGE_TOKENS }, (_, i) => ids[i] ?? ids.at(-1)!);
  return { ...prompt, ids: [...places, ...begin], source };
}

/** The most places, of so many, that a source can have. */
export const wholePages = (places: number): number => places - (places % PAGE_TOKENS);

/** Tokens of a prompt before the reply that belong to its text. */
export function beginningOf({ ids, source }: Pick<RenderedPrompt, 'ids' | 'source'>): readonly number[] {
  return source ? ids.slice(source.pages * PAGE_TOKENS) : ids;
}

/** The request with the model's own settings where it has none. Throws bad_request for what sources do not have. */
export function sourceRequest(request: TextRequest, settings: SourceSettings | null): TextRequest {
  if (settings === null) return request;
  for (const param of ['promptLogprobs', 'hiddenStates'] as const)
    if (request[param] !== undefined)
      throw badRequest(`${param} is not built for encoder-decoder models: leave it out`, param);
  const { minTokens, processors = [] } = settings.defaults;
  const { processors: own = [], maxTokens = Infinity } = request;
  const added = processors.filter(
    ({ name }) => name === 'disallowed_tokens' || own.every((one) => one.name !== name),
  );
  return {
    ...request,
    ...(added.length > 0 && { processors: [...own, ...added] }),
    ...(minTokens !== undefined && { minTokens: request.minTokens ?? Math.min(minTokens, maxTokens) }),
  };
}
