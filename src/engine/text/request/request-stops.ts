// The stops of a request's choices. Expressions that compile slowly would delay every running stream, so another thread compiles them.

import { stopPattern, type StopAutomata } from '../../../grammar/stops/stop-automaton.ts';
import {
  checkStopLength,
  quickStopTables,
  stopTables,
  type StopTable,
} from '../../../grammar/stops/stop-table.ts';
import { stopText } from '../../../grammar/stops/stop-text.ts';
import { withEngineErrors } from '../calls/grammar-error.ts';
import type { LongTextEncoder } from '../threads/text-threads.ts';
import type { TextRequest } from '../calls/text-request.ts';

/** `away` compiles in another thread; null: there is none. Throws bad_request, and cancelled where `signal` aborts. */
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
