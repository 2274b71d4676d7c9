// Prepares a request before it is scheduled: its stops are compiled, its reply is planned, its prompt is rendered with its media, and the
// grammars that restrict its reply are compiled.

import { stopPattern, type StopAutomata } from '../../../grammar/stops/stop-automaton.ts';
import {
  checkStopLength,
  quickStopTables,
  stopTables,
  type StopTable,
} from '../../../grammar/stops/stop-table.ts';
import { stopText } from '../../../grammar/stops/stop-text.ts';
import { cancelled } from '../../async/abort-listeners.ts';
import { withEngineErrors } from '../calls/grammar-error.ts';
import type { TextRequest } from '../calls/text-model.ts';
import type { Lora } from '../lora/loras.ts';
import { ownLoraFor } from '../lora/own-loras.ts';
import { planReply } from '../output/reply-plan.ts';
import type { LongTextEncoder } from '../threads/text-threads.ts';
import { compileGrammars } from './constrain.ts';
import { checkWgsl, withThinkingBudget } from './processors.ts';
import { encodePart, renderPrompt, type PromptEnd } from './prompt.ts';
import type { PreparedReply, RequestContext } from './request-context.ts';

/**
 * `lora`: the one that the request names, in place of those that the model has for media. Errors: bad_request, context_length_exceeded, timed_out,
 * cancelled where `signal` aborts. `ended` ends the reading of media, with its reason.
 */
export async function prepareReply(
  request: TextRequest,
  lora: Lora | null,
  context: RequestContext,
  { signal, ended }: PromptEnd,
): Promise<PreparedReply> {
  await checkWgsl(request, context.checkProcessor);
  const stops = await stopsOf(request, context.longText?.stops ?? null, signal);
  const plan = planReply(withThinkingBudget(request), context);
  const prompt = await renderPrompt(plan.prompt, context, request, { signal, ended });
  const grammars = await compileGrammars(request, { plan, prompt }, context, signal);
  const { prediction } = request;
  const isUsed = prediction !== undefined && context.looksDraftsUp;
  const predicted = isUsed ? await encodePart(prediction, 'prediction', context) : [];
  if (signal?.aborted) throw cancelled();
  const applied = lora ?? ownLoraFor(context.ownLoras, prompt.media?.tokens ?? {});
  return { plan, prompt, grammars, stops, lora: applied, predicted };
}

/**
 * Compiles the stops of a request. Expressions that compile slowly would delay every running stream, so another thread, `away`, compiles
 * them; null: there is none. Throws bad_request, and cancelled where `signal` aborts.
 */
export async function stopsOf(
  { stop = [], stopRegex = [] }: TextRequest,
  away: LongTextEncoder['stops'] | null,
  signal?: AbortSignal,
): Promise<StopAutomata[]> {
  const quick = withEngineErrors(() => {
    checkStopLength(stopRegex);
    return quickStopTables(stopRegex);
  });
  const slow = async (): Promise<StopTable[]> =>
    away === null ? withEngineErrors(() => stopTables(stopRegex)) : away(stopRegex, signal);
  const tables = quick ?? (await slow());
  return withEngineErrors(() => [
    ...stop.map(stopText),
    ...tables.map((table, i) => stopPattern(table, `stopRegex.${i}`)),
  ]);
}
